/* other.c - many groups as one row, "(other)". They are merged in the order of their keys, so that
 * doubles are the same to the last bit for any number of passes. */
#include "answer/aggregate/rows.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <stdlib.h>

struct others {
    struct groups *found; /* with one group */
    const struct aggregate_plan *plan;
    bool *merged; /* by group of the current pass: it belongs to this row */
};

int others_new(const struct aggregate_plan *p, struct others **ret)
{
    uint64_t keys[GROUP_KEYS_MAX] = {key_make((enum key_tag)KEY_OTHER, 0)};
    struct others *o = calloc(1, sizeof(*o));

    if (!o)
        return -ENOMEM;
    o->plan = p;
    int rc = groups_new(&p->grouping, &o->found);
    rc = rc < 0 ? rc : doubles_init(&o->found->doubles, &p->grouping);
    if (rc == 0) {
        int64_t group = group_table_add(&o->found->set[0].map.table, keys);
        rc = group < 0 ? (int)group : groups_grow(o->found, 0);
    }
    if (rc < 0)
        others_free(o);
    else
        *ret = o;
    return rc;
}

void others_free(struct others *o)
{
    if (!o)
        return;
    groups_free(o->found);
    free(o->merged);
    free(o);
}

static int merge_float_moments(struct others *o, const struct row_reader *t, const uint64_t *keys)
{
    const struct set_doubles *from = &t->found->doubles.set[0];
    struct set_doubles *to = &o->found->doubles.set[0];

    if (!doubles_find(from, keys, 0))
        return 0;
    int64_t group = doubles_add(to, group_table_keys(&o->found->set[0].map.table, 0));
    for (unsigned m = 0; m < t->plan->requested_measures && group >= 0; m++) {
        const struct float_moments *f = doubles_find(from, keys, m);
        float_moments_merge(doubles_at(to, group, m), f);
    }
    return group < 0 ? (int)group : 0;
}

static int merge_intervals(struct others *o, const struct acc *from)
{
    int rc = 0;

    for (size_t i = 0; i < from->intervals.count && rc == 0; i++) {
        const struct span *s = &from->intervals.at[i];
        rc = i % 0x1000 ? 0 : budget_check(from->intervals.budget);
        if (rc == 0 && o->merged[s->scope])
            rc = interval_add(plan_intervals(o->plan, o->found), 0, s->lo, s->hi);
    }
    return rc;
}

static int merge_distinct(struct others *o, const struct acc *from, struct acc *to)
{
    const struct group_table *t = &from->pairs;
    int64_t rc = 0;

    for (uint32_t i = 0; i < t->count && rc >= 0; i++) {
        const uint64_t *pair = group_table_keys(t, i);
        uint64_t copy[2] = {0, pair[1]};
        rc = i % 0x1000 ? 0 : budget_check(t->budget);
        if (rc == 0 && o->merged[pair[0]])
            rc = group_table_add(&to->pairs, copy);
    }
    return rc < 0 ? (int)rc : 0;
}

int others_add(struct others *o, const struct row_reader *t, const struct best_rows *best,
               const struct row_id *rows, size_t count)
{
    const struct group_map *groups = &t->found->set[0].map;
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = 0;

    free(o->merged);
    o->merged = calloc(groups->table.count + 1, sizeof(*o->merged));
    if (!o->merged)
        return -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        group_map_keys(groups, rows[i].group, keys);
        if (best_has(best, keys))
            continue;
        o->merged[rows[i].group] = true;
        rc = i % 0x1000 ? 0 : budget_check(t->plan->budget);
        rc = rc < 0 ? rc : group_merge(o->found, t->found, 0, 0, rows[i].group, NULL);
        rc = rc < 0 ? rc : merge_float_moments(o, t, keys);
    }
    for (unsigned k = 0; k < o->plan->keep_count && rc == 0; k++)
        rc = merge_distinct(o, plan_kept(o->plan, t->found, k), plan_kept(o->plan, o->found, k));
    if (rc == 0 && o->plan->intervals)
        rc = merge_intervals(o, plan_intervals(o->plan, t->found));
    return rc;
}

int others_values(struct others *o, struct value *values)
{
    struct row_reader t = {.plan = o->plan, .found = o->found};
    int rc = row_reader_begin(&t);

    rc = rc < 0 ? rc : aggregate_values(&t, (struct row_id){0}, NULL, values);
    row_reader_done(&t);
    return rc;
}
