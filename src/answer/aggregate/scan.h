/* scan.h - one pass over the selected rows of a plan.
 *
 * Used by:   aggregate.c, prefixes.c.
 * Path:      plan_grouping names the sets of groups -> groups_scan (engine/group/groups.h), which
 *            calls scan.c for the rows of a batch; counters of the system go to counters.c, rows
 *            of shared buckets to split.c.
 * Threads:   those of query_env.pool, one worker each. Memory: as groups.h says.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_SCAN_H
#define DFTRACERD_ANSWER_AGGREGATE_SCAN_H

#include "answer/aggregate/plan.h"
#include "engine/group/worker.h"

/* Rows of the batch by set, and one more list. */
struct class_rows {
    struct pass_filter *filter; /* with plan->pass */
    bool only_events;           /* the file has no counters */
    uint16_t of[SETS + 1][SCAN_BATCH];
};
static inline const struct aggregate_plan *worker_plan(const struct group_worker *w)
{
    return w->grouping->arg;
}

/* Fills plan->grouping; to be called again when the plan was changed. -ENOMEM. */
int plan_grouping(struct aggregate_plan *plan);

/* counters.c: sorts the rows of a batch that are no events by their class: numbers into
 * of[set], how many into ret. */
void counters_sort(const struct aggregate_plan *p, struct class_rows *of, struct scan_batch *b,
                   const uint16_t *rows, uint32_t count, uint32_t ret[SETS]);
/* dur, size and fields of counters. As group_set.add. */
int counters_add(struct group_worker *w, struct scan_batch *b, unsigned set);
/* split.c: rows that meet several buckets are shared out. As group_set.add. */
int split_add(struct group_worker *w, struct scan_batch *b, unsigned set);

#endif
