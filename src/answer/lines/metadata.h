/* metadata.h - writes the metadata records that an object refers to before it, each once an answer.
 *
 * For each hash: the records of the object's own file, else those of all other selected files in
 * (path, line) order; deduplicated by (kind, hash, name). Then the records of its process (host,
 * pid) in all selected files; deduplicated by text. Each lookup is done once, and
 * lines_group.written marks groups that need no more.
 */
#ifndef DFTRACERD_ANSWER_LINES_METADATA_H
#define DFTRACERD_ANSWER_LINES_METADATA_H

#include "answer/lines/lines.h"

struct metadata;
int metadata_new(struct query *q, struct metadata **ret);
/* Continues with the files of another query; records are still written once. */
void metadata_continue(struct metadata *m, struct query *q);
void metadata_free(struct metadata *m);
/* Appends the records that objects of this group and file need and that were not written yet. */
int metadata_before(struct metadata *m, const struct index_file *file, const struct lines_group *g,
                    struct buf *out);
/* Notes that the answer has this record already. Returns 0, or an error. */
int metadata_have(struct metadata *m, const struct index_file *file,
                  const struct index_name *record);

#endif
