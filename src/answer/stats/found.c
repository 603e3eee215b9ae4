/* found.c - what workers found, and how it is put together. */
#include "answer/stats/found.h"

#include <errno.h>
#include <stdlib.h>

int found_init(struct stats_found *f, const struct stats_plan *plan)
{
    memset(f, 0, sizeof(*f));
    f->plan = plan;
    sample_memory_init(&f->memory, plan->budget, plan->exact);
    tally_init(&f->total);
    for (unsigned i = 0; i < COUNT_TABLES; i++) {
        group_map_init(&f->count[i].map, plan->count_keys[i], plan->count_width[i],
                       plan->max_groups, plan->budget);
        f->count[i].counts.budget = plan->budget;
    }
    group_map_init(&f->groups.map, plan->group_keys, plan->group_width, plan->max_groups,
                   plan->budget);
    f->groups.counts.budget = f->groups.moved.budget = plan->budget;
    return 0;
}

void found_done(struct stats_found *f)
{
    if (!f->plan)
        return;
    for (unsigned i = 0; i < COUNT_TABLES; i++) {
        group_map_done(&f->count[i].map);
        vec_done(&f->count[i].counts);
    }
    group_map_done(&f->groups.map);
    vec_done(&f->groups.counts);
    vec_done(&f->groups.moved);
    for (unsigned i = 0; i < QUANTITIES; i++)
        free(f->groups.tally[i]);
    budget_release(f->plan->budget, f->groups.charged);
    sample_memory_done(&f->memory);
    memset(f, 0, sizeof(*f));
}

/* What there was, and empty ones behind it. */
static int fill_tallies(struct stats_found *f, struct tally *to, uint32_t cap,
                        const struct tally *from, uint32_t count)
{
    int rc = 0;

    for (uint32_t i = 0; i < cap && rc == 0; i++) {
        rc = i % STATS_LOOKED ? 0 : budget_check(f->plan->budget);
        if (i < count)
            to[i] = from[i];
        else
            tally_init(&to[i]);
    }
    return rc;
}

int tallies_need(struct stats_found *f, unsigned quantity, uint32_t count)
{
    struct group_tallies *g = &f->groups;
    uint32_t before = g->tally_cap[quantity], cap = before;

    if (count <= cap)
        return 0;
    while (cap < count)
        cap = cap ? cap * 2 : 64;
    size_t more = (size_t)(cap - before) * sizeof(struct tally);
    int rc = budget_charge(f->plan->budget, more);
    if (rc < 0)
        return rc;
    g->charged += more;
    struct tally *grown = aligned_alloc(64, (size_t)cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    rc = fill_tallies(f, grown, cap, g->tally[quantity], before);
    if (rc < 0) {
        free(grown);
        return rc;
    }
    free(g->tally[quantity]);
    g->tally[quantity] = grown;
    g->tally_cap[quantity] = cap;
    return 0;
}

void moved_add(struct moved *to, const struct moved *m)
{
    to->bytes += m->bytes;
    to->ns += m->ns;
    to->any |= m->any;
}

static int merge_counts(struct stats_found *into, struct count_table *t,
                        const struct count_table *from)
{
    for (uint32_t g = 0; g < from->map.table.count; g++) {
        int64_t group = group_table_add(&t->map.table, group_table_keys(&from->map.table, g));
        int rc = group < 0 ? (int)group : vec_extend(&t->counts, t->map.table.count);
        if (rc == 0 && g % STATS_LOOKED == 0)
            rc = budget_check(into->plan->budget);
        if (rc < 0)
            return rc;
        t->counts.at[group] += from->counts.at[g];
    }
    return 0;
}

static int merge_groups(struct stats_found *into, const struct group_tallies *from)
{
    struct group_tallies *t = &into->groups;

    for (uint32_t g = 0; g < from->map.table.count; g++) {
        int64_t group = group_table_add(&t->map.table, group_table_keys(&from->map.table, g));
        int rc = group < 0 ? (int)group : vec_extend(&t->counts, t->map.table.count);
        if (rc == 0 && g % STATS_LOOKED == 0)
            rc = budget_check(into->plan->budget);
        for (unsigned q = 0; rc == 0 && q < QUANTITIES; q++) {
            if (g >= from->tally_cap[q])
                continue;
            rc = tallies_need(into, q, (uint32_t)group + 1);
            rc = rc < 0 ? rc : tally_merge(&into->memory, &t->tally[q][group], &from->tally[q][g]);
        }
        if (rc == 0 && g < from->moved.count) {
            rc = vec_extend(&t->moved, (size_t)group + 1);
            if (rc == 0)
                moved_add(&t->moved.at[group], &from->moved.at[g]);
        }
        if (rc < 0)
            return rc;
        t->counts.at[group] += from->counts.at[g];
    }
    return 0;
}

int found_merge(struct stats_found *into, const struct stats_found *from)
{
    int rc = tally_merge(&into->memory, &into->total, &from->total);

    into->events += from->events;
    if (from->span.any) {
        struct time_span *s = &into->span;
        s->min_ts = !s->any || from->span.min_ts < s->min_ts ? from->span.min_ts : s->min_ts;
        s->max_te = !s->any || from->span.max_te > s->max_te ? from->span.max_te : s->max_te;
        s->any = true;
    }
    for (unsigned i = 0; i < COUNT_TABLES && rc == 0; i++)
        rc = merge_counts(into, &into->count[i], &from->count[i]);
    return rc < 0 ? rc : merge_groups(into, &from->groups);
}

struct moments_f64 *doubles_find(const struct doubles *d, const uint64_t *keys, unsigned quantity)
{
    int64_t group = group_table_find(&d->table, keys);

    return group < 0 || (uint64_t)group >= d->moments.count ? NULL
                                                            : &d->moments.at[group].of[quantity];
}

void doubles_done(struct doubles *d)
{
    vec_done(&d->moments);
    if (d->table.budget)
        group_table_done(&d->table);
    memset(d, 0, sizeof(*d));
}
