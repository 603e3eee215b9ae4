/* scan.c - the sets of groups of a report, and the scan that fills them. */
#include "answer/stats/scan.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>

/* Returns true if the report needs the set. */
static bool needs_set(const struct stats_plan *plan, unsigned set)
{
    if (set == SET_TOTAL)
        return plan->total_duration;
    return set == SET_GROUPS ? plan->groups : plan->count[set - SET_COUNTS];
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static int worker_begin(struct group_worker *w)
{
    struct stats_found *found = w->grouping->arg;

    w->own = calloc(1, sizeof(struct stats_times));
    if (!w->own)
        return -ENOMEM;
    times_begin(w->own, &found->times);
    return 0;
}

static int worker_end(struct group_worker *w, bool failed)
{
    (void)failed;
    times_end(w->own, w->all_rows);
    free(w->own);
    return 0;
}

static int chunk_begin(struct group_worker *w, struct scan_chunk *c)
{
    times_chunk(w->own, c);
    return 0;
}

static int batch_add(struct group_worker *w, struct scan_batch *b)
{
    const struct stats_found *found = w->grouping->arg;
    int rc = 0;

    times_batch(w->own, b);
    for (unsigned i = 0; i < STATS_SETS && rc == 0; i++) {
        if (needs_set(found->plan, i))
            rc = groups_add(w, b, i);
    }
    return rc;
}

/* For a report of durations only: ts is not read if the times of the chunk cannot widen the
 * span. */
static int durations_add(struct group_worker *w, const struct scan_values *v)
{
    if (!times_within(w->own, v))
        return -EDOM;
    int64_t group = groups_single_group(w, SET_TOTAL);
    if (group < 0)
        return (int)group;
    *group_count(&w->found->set[SET_TOTAL], (uint32_t)group) += v->count;
    return number_add_all(w, SET_TOTAL, 0, (uint32_t)group, v->values, v->count, v->nano);
}

static void times_encode(void *arg, struct buf *out)
{
    shared_times_put(&((struct stats_found *)arg)->times, out);
}

static int times_decode(void *arg, struct rec *in)
{
    return shared_times_take(&((struct stats_found *)arg)->times, in);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void make_sets(const struct stats_plan *p, struct stats_found *f)
{
    f->duration = (struct acc_spec){.kind = &acc_number, .column = p->dur, .sample = true};
    f->quantities[Q_DURATION] = f->duration;
    f->quantities[Q_SIZE] =
        (struct acc_spec){.kind = &acc_number, .column = p->size, .sample = true};
    f->quantities[Q_BANDWIDTH] =
        (struct acc_spec){.kind = &acc_rate, .column = p->size, .with = p->dur, .sample = true};
    f->quantities[Q_OFFSET] =
        (struct acc_spec){.kind = &acc_number, .column = p->offset, .sample = true};
    f->sets[SET_TOTAL] = (struct group_set){.accs = &f->duration, .acc_count = 1};
    for (unsigned i = 0; i < COUNT_TABLES; i++)
        f->sets[SET_COUNTS + i] =
            (struct group_set){.keys = p->count_keys[i], .width = p->count_width[i]};
    f->sets[SET_GROUPS] = (struct group_set){.keys = p->group_keys,
                                             .width = p->group_width,
                                             .accs = f->quantities,
                                             .acc_count = QUANTITIES};
}

void stats_found_init(const struct stats_plan *plan, struct stats_found *f)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .chunk_begin = chunk_begin,
                                             .batch = batch_add,
                                             .values = durations_add,
                                             .put = times_encode,
                                             .take = times_decode};
    bool only_durations = plan->total_duration && !plan->groups;

    for (unsigned i = 0; i < COUNT_TABLES; i++)
        only_durations = only_durations && !plan->count[i];
    *f = (struct stats_found){.plan = plan};
    shared_times_init(&f->times, plan->ts, plan->dur, plan->total_duration || plan->groups);
    make_sets(plan, f);
    f->grouping = (struct grouping){.query = plan->query,
                                    .budget = plan->budget,
                                    .limit = plan->max_groups,
                                    .exact = plan->exact,
                                    .set_count = STATS_SETS,
                                    .sets = f->sets,
                                    .hooks = &hooks,
                                    .arg = f,
                                    .ends_first = true,
                                    .only = only_durations ? plan->dur : NULL,
                                    .spreads = true};
}

int stats_scan(struct stats_found *f)
{
    return groups_scan(&f->grouping, &f->groups, NULL);
}

void stats_found_done(struct stats_found *f)
{
    groups_free(f->groups);
    shared_times_done(&f->times);
}
