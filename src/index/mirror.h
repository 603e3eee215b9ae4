/* mirror.h - the snapshots of rank 0, on another rank: so that a request finds there what it finds
 * on rank 0, but for the chunks that are elsewhere.
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
void mirror_free(struct mirror *m); /* NULL is fine */
/* Answers of the rank: -ESRCH where the snapshot is not known; else those of index_on_request. */
int mirror_answer(struct index *ix, struct rec *request, struct buf *answer);
int mirror_known(struct index *ix, struct rec *request, struct buf *answer);
int mirror_take(struct index *ix, struct rec *request);

#endif
