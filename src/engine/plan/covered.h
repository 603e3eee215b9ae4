/* covered.h - calls whose bytes a call inside of them counts. Private to the module.
 *
 * `bytes` of an event fread or fwrite of STDIO does not count where a transfer call of POSIX or sys
 * lies inside: an event of the same trace file with equal pid, tid, hhash and args.hostname that
 * begins not before it and ends not after it (ts + dur; without a dur at ts), in ns. It may be in
 * any chunk, so this is found for a file as a whole: when a query first binds `bytes` in a chunk
 * with such calls (chunk_counts_items).
 *
 * Used by:   source_bytes.c, schema_chunk.c.
 * Way:       an inner query of the file collects up to `most` of the outer calls, sorts them by
 *            thread and ts, and passes over all transfers within their times: each marks the calls
 *            around it, and a marked call is not met again. Then the next calls are collected. So
 *            time is linear in the rows but for the sorting, as long as the file is about in the
 *            order of time or has at most `most` outer calls; memory is bounded.
 * Memory:    40 bytes a collected call, while it is found. A bit for each row of the chunks that
 *            have outer calls: charged to each query that uses it, and kept for the next ones as
 *            long as the cache has room.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_PLAN_COVERED_H
#define DFTRACERD_ENGINE_PLAN_COVERED_H

#include "engine/plan/plan.h"

#define COVERED_MOST (1u << 18)

/* Of one file as it was when it was found. Counts its owners. */
struct covered;
/* *new*. ERR_MEMORY_LIMIT, -ENOMEM, what a scan may return. What it holds is charged to the query's
 * budget. */
int covered_find(struct query *q, uint32_t file, size_t most, struct covered **ret);
size_t covered_bytes(const struct covered *c);
/* A bit for each row of a chunk; NULL: no call of it is covered. */
const uint64_t *covered_bits(const struct covered *c, uint32_t chunk);
void covered_keep(struct covered *c); /* one more owner */
void covered_drop(struct covered *c);

/* ---- of a query (covered_files.c) ------------------------------------------------------------ */

/* Of the chunk that the worker is at; borrowed from the query. NULL: all calls count. */
int covered_rows(struct scan_worker *w, const uint64_t **ret);

#endif
