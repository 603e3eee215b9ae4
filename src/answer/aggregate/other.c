/* other.c - many groups as one row, "(other)": summed up in the order of their keys, so
 * that doubles are the same to the last bit however many parts the groups were found in. */
#include "answer/aggregate/rows.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <stdlib.h>

struct others {
    struct aggregate_found *found; /* of one group */
    struct aggregate_fine fine;
    bool *joined;  /* by group at hand */
    size_t united; /* intervals of which none meets another, at the beginning of the list */
};

static const uint64_t *other_keys(const struct others *o)
{
    return group_table_keys(&o->found->set[0].map.table, 0);
}

int others_new(const struct aggregate_plan *p, struct others **ret)
{
    uint64_t keys[GROUP_KEYS_MAX] = {key_make((enum key_tag)KEY_OTHER, 0)};
    struct others *o = calloc(1, sizeof(*o));

    if (!o)
        return -ENOMEM;
    int rc = found_new(p, &o->found);
    group_table_init(&o->fine.table[0], p->width, 0, p->budget);
    if (rc == 0) {
        int64_t group = group_table_add(&o->found->set[0].map.table, keys);
        rc = group < 0 ? (int)group : set_grow(o->found, 0);
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
    if (o->found)
        fine_done(&o->fine);
    else
        group_table_done(&o->fine.table[0]);
    found_free(o->found);
    free(o->joined);
    free(o);
}

static int join_fine(struct others *o, const struct teller_state *t, const uint64_t *keys)
{
    const struct aggregate_plan *p = t->plan;
    const struct aggregate_fine *from = t->fine;
    int64_t group = from->fine[0].count ? group_table_find(&from->table[0], keys) : -ENOENT;

    if (group < 0)
        return 0;
    int64_t to = group_table_add(&o->fine.table[0], other_keys(o));
    int rc = to < 0 ? (int)to : fine_grow(p, &o->fine, 0, o->fine.table[0].count);
    for (unsigned m = 0; m < p->measure_count && rc == 0; m++)
        fine_merge(fine_at(p, &o->fine, 0, to, m), fine_at(p, from, 0, group, m));
    return rc;
}

static int compare_intervals(const void *a, const void *b, void *arg)
{
    const struct interval *x = a, *y = b;

    (void)arg;
    return (x->from > y->from) - (x->from < y->from);
}

/* Only their union is asked for. What does not meet stays, so a list must have become twice as long
 * before it is worth it. */
static int unite_intervals(struct others *o)
{
    enum { SOME = 1 << 16 };
    struct aggregate_found *f = o->found;
    size_t kept = 0,
           bytes = f->intervals.count * sizeof(*f->intervals.at); /* a copy of sort_items's */

    if (f->intervals.count < 2 * o->united + SOME)
        return 0;
    int rc = budget_charge(f->plan->budget, bytes);
    if (rc < 0)
        return rc;
    rc = sort_items(f->intervals.at, f->intervals.count, sizeof(*f->intervals.at),
                    compare_intervals, NULL, f->plan->budget);
    budget_release(f->plan->budget, bytes);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < f->intervals.count; i++) {
        struct interval *v = &f->intervals.at[i], *last = kept ? &f->intervals.at[kept - 1] : NULL;
        if (last && v->from <= last->to)
            last->to = v->to > last->to ? v->to : last->to;
        else
            f->intervals.at[kept++] = *v;
    }
    f->intervals.count = o->united = kept;
    return 0;
}

static int join_intervals(struct others *o, const struct aggregate_found *from)
{
    int rc = 0;

    for (size_t i = 0; i < from->intervals.count && rc == 0; i++) {
        const struct interval *v = &from->intervals.at[i];
        rc = i % 0x1000 ? 0 : budget_check(from->plan->budget);
        rc = rc < 0 || i % 0x1000 ? rc : unite_intervals(o);
        if (rc == 0 && o->joined[v->group])
            rc = interval_add(o->found, 0, v->from, v->to);
    }
    return rc;
}

static int join_distinct(struct others *o, const struct aggregate_found *from, unsigned keep)
{
    const struct group_table *t = &from->distinct[keep];
    int64_t rc = 0;

    for (uint32_t i = 0; i < t->count && rc >= 0; i++) {
        const uint64_t *pair = group_table_keys(t, i);
        uint64_t copy[2] = {0, pair[1]};
        rc = i % 0x1000 ? 0 : budget_check(from->plan->budget);
        if (rc == 0 && o->joined[pair[0]])
            rc = group_table_add(&o->found->distinct[keep], copy);
    }
    return rc < 0 ? (int)rc : 0;
}

static int join_lists(struct others *o, const struct aggregate_found *from)
{
    int rc = 0;

    for (unsigned k = 0; k < from->plan->keep_count && rc == 0; k++)
        rc = join_distinct(o, from, k);
    return rc < 0 ? rc : join_intervals(o, from);
}

int others_add(struct others *o, const struct teller_state *t, const struct best_rows *best,
               const struct row_id *rows, size_t count)
{
    const struct group_map *groups = &t->found->set[0].map;
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = 0;

    free(o->joined);
    o->joined = calloc(groups->table.count + 1, sizeof(*o->joined));
    if (!o->joined)
        return -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        group_map_keys(groups, rows[i].group, keys);
        if (best_has(best, keys))
            continue;
        o->joined[rows[i].group] = true;
        rc = i % 0x1000 ? 0 : budget_check(t->plan->budget);
        rc = rc < 0 ? rc : merge_group(o->found, t->found, 0, 0, rows[i].group, NULL);
        rc = rc < 0 ? rc : join_fine(o, t, keys);
    }
    return rc < 0 ? rc : join_lists(o, t->found);
}

int others_tell(struct others *o, struct value *values)
{
    struct teller_state t = {.plan = o->found->plan, .found = o->found, .fine = &o->fine};
    int rc = teller_begin(&t);

    rc = rc < 0 ? rc : aggregate_tell(&t, (struct row_id){0}, NULL, values);
    teller_done(&t);
    return rc;
}
