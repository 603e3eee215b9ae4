/* share.h - what all indexes of index_options.share may have together.
 *
 * Used by:   ingest only. Threads: any.
 */
#ifndef DFTRACERD_INDEX_INGEST_SHARE_H
#define DFTRACERD_INDEX_INGEST_SHARE_H

#include "index/ingest/flow.h"

/* A scanner waits for its turn, which is never held during I/O. */
void share_enter(struct ingest *in);
bool share_leave(struct ingest *in); /* whether others wait for theirs */
/* Bytes of text in flight: of credits and of what is read ahead. */
void share_charge(struct ingest *in, size_t bytes);
void share_release(struct ingest *in, size_t bytes);
bool share_has_space(const struct ingest *in, size_t bytes);

#endif
