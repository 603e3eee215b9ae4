/* scan.h - one pass over the selected rows of a plan.
 *
 * Used by:   aggregate.c, prefixes.c.
 * Path:      plan_grouping names the sets of groups -> groups_scan (engine/group/groups.h), which
 *            calls scan.c for the rows of a batch; counters.c adds counters, split.c events that
 *            are divided among buckets.
 * Threads:   those of query_env.pool, one worker each. Memory: as groups.h says.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_SCAN_H
#define DFTRACERD_ANSWER_AGGREGATE_SCAN_H

#include "answer/aggregate/plan.h"
#include "engine/group/worker.h"

/* State of a worker: selected rows of the current batch, by set. */
struct class_rows {
    struct pass_filter *filter; /* NULL unless plan->pass is set */
    bool only_events;           /* the file has no other objects */
    uint16_t rows[SETS][SCAN_BATCH];
    uint16_t other_rows[SCAN_BATCH]; /* those of counters and aggregated records */
};
static inline const struct aggregate_plan *worker_plan(const struct group_worker *w)
{
    return w->grouping->arg;
}

/* Sets plan->grouping; to be called again when the plan was changed. Returns 0 or -ENOMEM. */
int plan_grouping(struct aggregate_plan *plan);

/* counters.c: divides to->other_rows (`count`) into the sets of profiles and of system rows. Sets
 * ret[set] to their numbers. The batch must have no mask. */
void counters_sort(const struct aggregate_plan *p, struct class_rows *to, struct scan_batch *b,
                   uint32_t count, uint32_t ret[SETS]);
/* group_set.add for rows of counters and aggregated records. */
int counters_add(struct group_worker *w, struct scan_batch *b, unsigned set);
/* split.c: group_set.add for events that are divided among buckets. */
int split_add(struct group_worker *w, struct scan_batch *b, unsigned set);

#endif
