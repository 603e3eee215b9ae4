/* prefixes.c - counts the rows of prefixes, to divide the groups into passes. */
#include "answer/aggregate/prefixes.h"
#include "answer/aggregate/scan.h"

#include <errno.h>
#include <stdlib.h>

/* Returns the largest width of a prefix: if events are divided among buckets, it ends before the
 * bucket. */
static unsigned max_width(const struct aggregate_plan *p)
{
    return p->split && p->bucket_key >= 0 ? (unsigned)p->bucket_key : p->width;
}

/* Makes the plan that counts the rows of prefixes of `width` keys. time: replaces the last of
 * these; NULL: none. */
static int plan_prefix(struct prefixes *x, const struct aggregate_plan *p, unsigned width,
                       const struct source *time)
{
    int rc = 0;

    x->plan = *p;
    x->plan.measures.vec = (struct vec){0};
    for (size_t i = 0; i < p->measures.count && rc == 0; i++) {
        rc = vec_push(&x->plan.measures, p->measures.at[i]);
        if (rc == 0)
            x->plan.measures.at[i].sample = false;
    }
    x->plan.width = width;
    if (time)
        x->plan.key_sources[width - 1] = time;
    x->plan.keep_count = 0;
    x->plan.exact = x->plan.shape = x->plan.split = x->plan.intervals = false;
    x->plan.tally = true;
    return rc < 0 ? rc : plan_grouping(&x->plan);
}

static int rank_prefixes(struct prefixes *x)
{
    size_t bytes = x->order.count * sizeof(uint32_t);
    int rc = budget_charge(x->plan.budget, bytes);

    if (rc < 0)
        return rc;
    x->charged = bytes;
    for (unsigned i = 0; i < SETS; i++) {
        rc = group_table_place(&x->found->set[i].map.table); /* find_rank searches it */
        if (rc < 0)
            return rc;
        x->rank[i] = malloc((x->found->set[i].map.table.count + 1) * sizeof(**x->rank));
        if (!x->rank[i])
            return -ENOMEM;
    }
    for (size_t i = 0; i < x->order.count; i++)
        x->rank[x->order.rows[i].set][x->order.rows[i].group] = (uint32_t)i;
    return 0;
}

static uint64_t prefix_rows(const struct prefixes *x, size_t i)
{
    const struct row_id *row = &x->order.rows[i];

    return *group_count(&x->found->set[row->set], row->group);
}

static int count_prefixes(const struct aggregate_plan *p, unsigned width, const struct source *time,
                          struct err *err, struct prefixes **ret)
{
    struct prefixes *x = calloc(1, sizeof(*x));

    if (!x)
        return -ENOMEM;
    int rc = plan_prefix(x, p, width, time);
    if (rc == 0)
        rc = groups_scan(&x->plan.grouping, &x->found, err);
    if (rc == 0)
        rc = groups_order(x->found, 0, SETS, &x->order);
    if (rc == 0)
        rc = rank_prefixes(x);
    if (rc < 0) {
        prefixes_free(x);
        return rc;
    }
    *ret = x;
    return 0;
}

/* Returns true if no prefix has more rows. */
static bool prefixes_are_small(const struct prefixes *x, uint64_t rows)
{
    for (size_t i = 0; i < x->order.count; i++) {
        if (prefix_rows(x, i) > rows)
            return false;
    }
    return true;
}

/* Replaces *x by longer prefixes. Returns ERR_END if *x is to be used: its prefixes are small, or
 * longer ones would need too much memory. */
static int prefixes_refine(const struct aggregate_plan *p, unsigned width,
                           const struct source *time, uint64_t rows, struct err *err,
                           struct prefixes **x)
{
    struct prefixes *longer;
    int rc = count_prefixes(p, width, time, err, &longer);

    if (*x && (rc == ERR_MEMORY_LIMIT || rc == ERR_ROW_LIMIT)) {
        err_done(err);
        return ERR_END;
    }
    if (rc < 0)
        return rc;
    prefixes_free(*x);
    *x = longer;
    return prefixes_are_small(longer, rows) || longer->order.count > rows / 16 ? ERR_END : 0;
}

/* Replaces key `key`, a time, by intervals that become shorter until their prefixes are small. An
 * interval consists of whole buckets. */
static int refine_by_time(const struct aggregate_plan *p, unsigned key, uint64_t rows,
                          struct err *err, struct prefixes **x)
{
    enum { INTERVALS = 1024, SHORTER = 32 }; /* at first; each next interval is so much shorter */
    const __int128 unit = (int)key == p->bucket_key ? p->interval_ns : 1;
    const struct source *time;
    __int128 first, last;
    int rc = plan_span(p, false, &first, &last, err);

    for (__int128 units = (last - first) / unit / INTERVALS + 1; rc == 0; units /= SHORTER) {
        rc = query_source_bucket(p->query, (units ? units : 1) * unit, p->origin_ns, &time);
        rc = rc < 0 ? rc : prefixes_refine(p, key + 1, time, rows, err, x);
        if (rc == 0 && units <= 1)
            rc = ERR_END;
    }
    return rc;
}

/* Returns true for the bucket, if there are several, and for ts. */
static bool is_time(const struct aggregate_plan *p, unsigned key)
{
    return ((int)key == p->bucket_key && p->interval_ns > 0) || p->key_sources[key] == p->ts;
}

int prefixes_find(const struct aggregate_plan *p, uint64_t rows, struct err *err,
                  struct prefixes **ret)
{
    struct prefixes *x = NULL;
    int rc = 0;

    for (unsigned width = 1; width <= max_width(p) && rc == 0; width++)
        rc = prefixes_refine(p, width, NULL, rows, err, &x);
    unsigned key = x ? x->plan.width : 0; /* the first key that is not part of prefixes */
    bool coarse = x ? !prefixes_are_small(x, rows) : rc == ERR_MEMORY_LIMIT || rc == ERR_ROW_LIMIT;
    if (coarse && key < max_width(p) && is_time(p, key)) {
        err_done(err);
        rc = refine_by_time(p, key, rows, err, &x);
    }
    if (rc < 0 && rc != ERR_END) {
        prefixes_free(x);
        return rc;
    }
    *ret = x;
    return x ? 0 : ERR_MEMORY_LIMIT;
}

void prefixes_free(struct prefixes *x)
{
    if (!x)
        return;
    groups_free(x->found);
    budget_release(x->plan.budget, x->charged);
    for (unsigned i = 0; i < SETS; i++)
        free(x->rank[i]);
    group_order_done(&x->order, x->plan.budget);
    vec_done(&x->plan.measures);
    free(x);
}

size_t prefixes_take(const struct prefixes *x, size_t from, uint64_t rows, uint64_t *ret_rows)
{
    size_t to = from;

    for (*ret_rows = 0; to < x->order.count; to++) {
        uint64_t more = prefix_rows(x, to);
        if (to > from && *ret_rows + more > rows)
            break;
        *ret_rows += more;
    }
    return to;
}
