/* mirror.h - copies of the snapshots of rank 0 on another rank: a request there sees the same files
 * as on rank 0, but only the chunks of that rank.
 *
 *   rank 0: index_request_rank       the rank
 *     request with a snapshot -> is it known? --no--> which of its files are?
 *     the other files          -> ...                  then the request again
 *
 * Threads:   any.
 */
#ifndef DFTRACERD_INDEX_MIRROR_H
#define DFTRACERD_INDEX_MIRROR_H

#include "index/catalog/index.h"
#include "base/recbuf.h"

struct mirror *mirror_new(void);    /* *new* or NULL */
void mirror_free(struct mirror *m); /* NULL-safe */
/* Returns the result of the handler (index_on_request), which receives NULL for an unknown
 * snapshot; -ESRCH if there is no handler. */
int mirror_answer(struct index *ix, struct rec *request, struct buf *answer);
/* Writes a byte for each file of a snapshot: 1 if this rank has it. */
int mirror_known_files(struct index *ix, struct rec *request, struct buf *answer);
/* Adds a snapshot, with the files that this rank lacks. Returns 0, -ESRCH if another file is
 * unknown, ERR_CORRUPT or -ENOMEM. */
int mirror_add_snapshot(struct index *ix, struct rec *request);

#endif
