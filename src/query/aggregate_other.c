/* aggregate_other.c - many groups as one row, "(other)". */
#include "aggregate_rows.h"
#include "plan.h"

#include <errno.h>
#include <stdlib.h>

static int join_fine(struct teller_state *t, const struct row_id *rows, size_t count,
                     const uint64_t *keys)
{
    const struct aggregate_plan *p = t->plan;
    struct aggregate_fine *d = t->fine;
    const struct group_table *groups = &t->found->set[0].map.table;

    if (!d->fine[0])
        return 0;
    int64_t to = group_table_add(&d->table[0], keys);
    int rc = to < 0 ? (int)to : fine_grow(p, d, 0, d->table[0].count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        int64_t from = group_table_find(&d->table[0], group_table_keys(groups, rows[i].group));
        for (unsigned m = 0; from >= 0 && m < p->measure_count; m++)
            fine_merge(&d->fine[0][m][to], &d->fine[0][m][from]);
    }
    return rc;
}

static int join_lists(struct aggregate_found *f, const bool *joined, uint32_t to)
{
    for (unsigned k = 0; k < f->plan->keep_count; k++) {
        struct group_table *t = &f->distinct[k];
        for (uint32_t i = 0, n = t->count; i < n; i++) {
            const uint64_t *pair = group_table_keys(t, i);
            uint64_t copy[2] = {to, pair[1]};
            int64_t rc = joined[pair[0]] ? group_table_add(t, copy) : 0;
            if (rc < 0)
                return (int)rc;
        }
    }
    for (size_t i = 0; i < f->interval_count; i++) {
        if (joined[f->intervals[i].group])
            f->intervals[i].group = to;
    }
    return 0;
}

int others_join(struct teller_state *t, const struct row_id *rows, size_t count, struct row_id *ret)
{
    struct aggregate_found *f = t->found;
    uint64_t keys[GROUP_KEYS_MAX] = {key_make((enum key_tag)KEY_OTHER, 0)};
    int64_t to = group_table_add(&f->set[0].map.table, keys);
    int rc = to < 0 ? (int)to : set_grow(f, 0);
    bool *joined = calloc(f->set[0].map.table.count + 1, sizeof(*joined));

    rc = rc == 0 && !joined ? -ENOMEM : rc;
    for (size_t i = 0; i < count && rc == 0; i++) {
        joined[rows[i].group] = true;
        rc = merge_group(f, f, 0, (uint32_t)to, rows[i].group, NULL);
    }
    rc = rc < 0 ? rc : join_fine(t, rows, count, keys);
    rc = rc < 0 ? rc : join_lists(f, joined, (uint32_t)to);
    free(joined);
    if (rc < 0)
        return rc;
    *ret = (struct row_id){.group = (uint32_t)to};
    teller_done(t); /* what was made of the groups as they were */
    return teller_begin(t);
}
