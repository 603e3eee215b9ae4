/* view_metadata.h - the metadata records that stand before an object in an answer, each once.
 *
 * For each hash: the records of the object's own file, else those of all other selected files in
 * (path, line) order; deduplicated by (kind, hash, name). Then the records of its process (host,
 * pid) in all selected files; deduplicated by text. What has been looked for is remembered, so that
 * the usual object costs one flag.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_METADATA_H
#define DFTRACERD_ANSWER_LINES_VIEW_METADATA_H

#include "answer/lines/lines.h"

struct metadata;
int metadata_new(struct query *q, struct metadata **ret);
/* Looks into the files of another query from now on; what has been written stays written. */
void metadata_continue(struct metadata *m, struct query *q);
void metadata_free(struct metadata *m);
/* Appends what an object of this group and file needs and the answer does not have yet. */
int metadata_before(struct metadata *m, const struct index_file *file, const struct lines_group *g,
                    struct buf *out);
/* The answer has this record already. */
int metadata_have(struct metadata *m, const struct index_file *file,
                  const struct index_name *record);

#endif
