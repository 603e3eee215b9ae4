/* ahead.h - inflates the text of a reader ahead of it, in idle workers.
 *
 * Used by:   readers and workers of ingest.
 */
#ifndef DFTRACERD_INDEX_INGEST_AHEAD_H
#define DFTRACERD_INDEX_INGEST_AHEAD_H

#include "index/ingest/flow.h"
#include "index/ingest/run.h"

/* Returns NULL if inflating ahead does not pay. `fd` must stay open until ahead_end, which is
 * called after the reader is closed. */
struct trace_ahead *ahead_begin(struct ingest *in, const struct run *run, int fd,
                                const struct trace_reader_info *at);
/* Reports the position of the reader. */
void ahead_at(struct trace_ahead *a, const struct trace_reader_info *at);
void ahead_end(struct trace_ahead *a);
/* Called by an idle thread under ingest.lock, which is released meanwhile. Returns false if there
 * is nothing to do. */
bool ahead_help(struct ingest *in);

#endif
