/* covered.h - calls whose bytes a call inside of them counts.
 *
 * `bytes` of an event fread or fwrite of STDIO does not count where a transfer call of POSIX or sys
 * lies inside: an event of the same trace file with equal pid, tid, hhash and args.hostname that
 * begins not before it and ends not after it (ts + dur; without a dur at ts), in ns. It may be in
 * any chunk, so this is found for a file as a whole: when a query first binds `bytes` in a chunk
 * with such calls (chunk_counts_items).
 *
 * Used by:   bytes.c, the schema answer; plan/covered_find.c fills it.
 * Memory:    a bit for each row of the chunks that have outer calls: charged to each query that
 *            uses it, and kept for the next ones as long as the cache has space.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_COVERED_H
#define DFTRACERD_ENGINE_DERIVED_COVERED_H

#include <stdatomic.h>

#include "engine/query.h"

/* Outer calls that are collected at a time. */
#define COVERED_MOST (1u << 18)

/* Of one file as it was when it was found. Counts its owners. */
#define COVERED_NO_ROWS SIZE_MAX
struct covered {
    atomic_uint owners;
    uint32_t chunks;
    size_t bytes;
    size_t *first; /* by chunk: in `bits`, COVERED_NO_ROWS: it has none */
    uint64_t *bits;
};

/* *new*, one owner, without rows; charged to the query's budget. ERR_MEMORY_LIMIT, -ENOMEM. */
int covered_new(struct query *q, uint32_t chunks, struct covered **ret);
size_t covered_bytes(const struct covered *c);
/* A bit for each row of a chunk; NULL: no call of it is covered. */
const uint64_t *covered_bits(const struct covered *c, uint32_t chunk);
void covered_drop(struct covered *c);

/* ---- of a query ------------------------------------------------------------------------------ */

/* On another rank than 0: whether calls of this place may be covered by some of chunks that this
 * rank does not have. */
bool covered_by_others(const struct query *q, size_t position);
/* Of the chunk that the worker is at; borrowed from the query. NULL: all calls count. */
int covered_rows(struct scan_worker *w, const uint64_t **ret);
void covered_files_free(struct covered_files *f, struct budget *budget);

#endif
