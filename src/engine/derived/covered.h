/* covered.h - excludes calls from `bytes` if a call inside of them transfers the same bytes.
 *
 * `bytes` of an event fread or fwrite of STDIO is not counted if a transfer call of POSIX or sys is
 * inside of it: an event of the same trace file with equal pid, tid, hhash and args.hostname that
 * does not begin before it and does not end after it (ts + dur; without a dur at ts), in ns. The
 * inner call may be in any chunk, so covered calls are found for a whole file: when a query first
 * binds `bytes` in a chunk with such calls (chunk_counts_items).
 *
 * Used by:   bytes.c, the schema answer; plan/covered_find.c fills it.
 * Memory:    a bit for each row of the chunks that have outer calls: charged to each query that
 *            uses it, and kept for later queries in a cache of limited size.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_COVERED_H
#define DFTRACERD_ENGINE_DERIVED_COVERED_H

#include <stdatomic.h>

#include "engine/query.h"

/* Maximum number of outer calls that are collected at a time. */
#define COVERED_MAX (1u << 18)

/* The covered calls of one version of a file; reference-counted. */
#define COVERED_NO_ROWS SIZE_MAX
struct covered {
    atomic_uint owners;
    uint32_t chunks;
    size_t bytes;  /* of memory */
    size_t *first; /* by chunk: position in `bits`, COVERED_NO_ROWS: no call is covered */
    uint64_t *bits;
};

/* Makes a *new* one with one owner and no covered calls; charged to the query's budget. Returns 0,
 * ERR_MEMORY_LIMIT or -ENOMEM. */
int covered_new(struct query *q, uint32_t chunks, struct covered **ret);
/* Returns a bit for each row of a chunk, or NULL if no call of it is covered. */
const uint64_t *covered_bits(const struct covered *c, uint32_t chunk);
void covered_drop(struct covered *c);

/* ---- queries --------------------------------------------------------------------------------- */

/* Returns true if calls of this place may be covered by calls in chunks of other ranks. For ranks
 * other than 0. */
bool covered_by_others(const struct query *q, size_t position);
/* Sets *ret to the covered calls of the current chunk, borrowed from the query; NULL: all calls
 * count. Returns 0 or a negative error. */
int covered_rows(struct scan_worker *w, const uint64_t **ret);
void covered_files_free(struct covered_files *f, struct budget *budget);

#endif
