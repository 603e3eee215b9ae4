/* ahead.h - a reader's text, inflated ahead by workers that have nothing to scan.
 *
 * Used by:   readers and workers of ingest.
 */
#ifndef DFTRACERD_INDEX_INGEST_AHEAD_H
#define DFTRACERD_INDEX_INGEST_AHEAD_H

#include "index/ingest/flow.h"
#include "index/ingest/run.h"

/* NULL where that does not pay; `fd` stays open until the end, which comes after the reader is
 * closed. */
struct trace_ahead *ahead_begin(struct ingest *in, const struct run *run, int fd,
                                const struct trace_reader_info *at);
void ahead_at(struct trace_ahead *a, const struct trace_reader_info *at); /* where it is now */
void ahead_end(struct trace_ahead *a);
/* By a thread that has nothing else to do, under ingest.lock, which is given up meanwhile. False:
 * nothing was to be done. */
bool ahead_help(struct ingest *in);

#endif
