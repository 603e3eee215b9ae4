/* scan.h - one pass over the selected rows for /stats.
 *
 * Used by:   stats.c.
 * Path:      stats_scan (scan.c, times.c) -> groups_scan -> struct stats_found -> stats.c.
 * Threads:   those of query_env.pool inside. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_STATS_SCAN_H
#define DFTRACERD_ANSWER_STATS_SCAN_H

#include "answer/stats/plan.h"
#include "answer/stats/times.h"

struct stats_found {
    const struct stats_plan *plan;
    struct shared_times times; /* of all selected events */
    struct acc_spec duration, quantities[QUANTITIES];
    struct group_set sets[STATS_SETS];
    struct grouping grouping;
    struct groups *groups; /* *new*; NULL: the scan has not begun */
};
/* Prepares the sets of the plan, which is borrowed until stats_found_done. */
void stats_found_init(const struct stats_plan *plan, struct stats_found *found);
int stats_scan(struct stats_found *found);
void stats_found_done(struct stats_found *found);

#endif
