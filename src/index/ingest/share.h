/* share.h - limits that the indexes with one index_options.share have in common.
 *
 * Used by:   ingest only. Threads: any.
 */
#ifndef DFTRACERD_INDEX_INGEST_SHARE_H
#define DFTRACERD_INDEX_INGEST_SHARE_H

#include "index/ingest/flow.h"

/* A scanner waits for its turn, which it never keeps during I/O. */
void share_enter(struct ingest *in);
bool share_leave(struct ingest *in); /* returns whether others are waiting */
/* Bytes of text in flight: those of credits and those that are read ahead. */
void share_charge(struct ingest *in, size_t bytes);
void share_release(struct ingest *in, size_t bytes);
bool share_has_space(const struct ingest *in, size_t bytes);

#endif
