/* passes.h - the rows of one pass, where memory does not suffice for all groups at once.
 *
 * Used by:   scan.c, prefixes.c, aggregate.c.
 * Path:      prefixes.h -> aggregate.c sets plan.pass to a run of prefixes -> scan.c skips chunks
 *            without rows of it (pass.chunks), and of the others scans the rows that
 *            pass_filter_batch returns.
 * Threads:   a filter belongs to one worker; the spans of chunks are written by the worker that
 *            scans them. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PASSES_H
#define DFTRACERD_ANSWER_AGGREGATE_PASSES_H

#include "answer/aggregate/plan.h"
#include "engine/group/order.h"
#include "engine/scan/scan.h"

/* What the first scans found: prefixes of all sets in the order of the answer, with their rows. */
struct prefixes {
    /* the query's, but for the number of keys and all that is not counted */
    struct aggregate_plan plan;
    struct measure *measures;
    struct groups *found;
    struct group_order order;
    size_t charged;
    uint32_t *rank[SETS]; /* place in `order` by group */
};

/* What a chunk has rows of: places in `order`. */
struct chunk_span {
    uint32_t least, most;
};
/* One scan: the prefixes [from, to). */
struct pass {
    const struct prefixes *prefixes;
    /* by position in scan_places; of those that were not scanned yet, everything */
    struct chunk_span *chunks;
    size_t from, to;
};
/* Allocates *new* chunks. ERR_MEMORY_LIMIT, -ENOMEM. */
int pass_begin(struct pass *pass, struct prefixes *x);
/* A worker's: which rows of a batch are of the pass. */
struct pass_filter;
int pass_filter_new(const struct aggregate_plan *p, struct pass_filter **ret);
void pass_filter_free(struct pass_filter *f);
void pass_filter_chunk(struct pass_filter *f);
/* All of its rows were seen. */
void pass_filter_chunk_end(struct pass_filter *f, size_t position);
/* 1: all; 0: none; 2: *some are, borrowed until the next call. Negative: error. */
int pass_filter_batch(struct pass_filter *f, struct scan_batch *b, unsigned set,
                      struct scan_batch *some);

#endif
