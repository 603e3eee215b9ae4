/* passes.h - the rows of one pass, if memory does not suffice for all groups at once.
 *
 * Used by:   scan.c, prefixes.c, aggregate.c.
 * Path:      prefixes.h -> aggregate.c sets plan.pass to a run of prefixes -> scan.c skips chunks
 *            without rows of the pass (pass.chunks), and adds the rows of other chunks that
 *            pass_filter_batch returns.
 * Threads:   a filter belongs to one worker; the range of a chunk is written by the worker that
 *            scans it. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PASSES_H
#define DFTRACERD_ANSWER_AGGREGATE_PASSES_H

#include "answer/aggregate/plan.h"
#include "engine/group/order.h"
#include "engine/scan/scan.h"

/* The prefixes of all keys, and the number of rows of each (see prefixes.h). */
struct prefixes {
    struct aggregate_plan plan; /* that of the query, with fewer keys; it only counts rows */
    struct groups *found;       /* a group is a prefix */
    struct group_order order;
    size_t charged;
    uint32_t *rank[SETS]; /* by group: position in `order` */
};

/* The prefixes of a chunk are within [min, max], positions in prefixes.order. */
struct rank_range {
    uint32_t min, max;
};
/* One scan: the prefixes [from, to), positions in prefixes.order. */
struct pass {
    const struct prefixes *prefixes;
    struct rank_range *chunks; /* by position in scan_places; [0, UINT32_MAX]: not scanned yet */
    size_t from, to;
};
/* Sets *pass, with *new* chunks, which are charged to `x`. Returns 0, ERR_MEMORY_LIMIT or
 * -ENOMEM. */
int pass_begin(struct pass *pass, struct prefixes *x);
/* The state of a worker that selects the rows of a pass. */
struct pass_filter;
int pass_filter_new(const struct aggregate_plan *p, struct pass_filter **ret);
void pass_filter_free(struct pass_filter *f);
void pass_filter_chunk_begin(struct pass_filter *f);
/* To be called after the last batch of the chunk: its range of prefixes is then known. */
void pass_filter_chunk_end(struct pass_filter *f, size_t position);
/* Sets *ret to the rows of `b` that belong to the pass (count 0: none), borrowed until the next
 * call. */
int pass_filter_batch(struct pass_filter *f, struct scan_batch *b, unsigned set,
                      struct scan_batch *ret);

#endif
