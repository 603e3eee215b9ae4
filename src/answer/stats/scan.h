/* scan.h - one pass over the selected rows for /stats, and the order of its groups.
 *
 * Used by:   stats.c; answer/compare.
 * Path:      stats_scan (scan.c, times.c) -> struct stats_found and struct doubles -> stats_order
 *            (order.c) sorts and cuts -> stats.c, or answer/compare/side.c.
 * Exactness: integers are exact in any order; doubles are merged in (file, chunk) order.
 * Threads:   those of query_env.pool inside. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_STATS_SCAN_H
#define DFTRACERD_ANSWER_STATS_SCAN_H

#include "answer/stats/found.h"

/* The scan: `found` and `doubles` are initialised by it and are the caller's, on failure too. */
int stats_scan(const struct stats_plan *plan, struct stats_found *found, struct doubles *doubles,
               struct err *err);
/* Several at once; -ENOMEM: none has begun. */
struct stats_scan {
    const struct stats_plan *plan;
    struct stats_found *found;
    struct doubles *doubles;
    int error; /* out: 0, or what the scan failed with */
};
int stats_scan_all(struct stats_scan *all, size_t count);

/* Numbers of the first `top` (0: all) groups by count descending, then keys by value. *new* array.
 */
int stats_order(struct query *q, const struct group_table *t, const uint64_t *counts, uint64_t top,
                struct budget *budget, uint32_t **ret, size_t *ret_count);

#endif
