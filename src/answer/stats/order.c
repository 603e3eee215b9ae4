/* order.c - groups by count descending, then by the values of their keys. */
#include "answer/stats/scan.h"

#include <errno.h>
#include <stdlib.h>

/* Values are compared once a distinct key: after that a key is a small rank, and comparing groups
 * is comparing integers. */
struct ranking {
    const struct group_table *table;
    const uint64_t *counts;
    uint32_t *ranks; /* width a group */
};

static int rank_column(struct query *q, struct ranking *r, unsigned column, struct budget *budget)
{
    const struct group_table *t = r->table;
    struct group_table distinct;
    uint32_t *rank = NULL;
    int rc = 0;

    group_table_init(&distinct, 1, UINT32_MAX, budget);
    for (uint32_t g = 0; g < t->count && rc == 0; g++) {
        int64_t id = group_table_add(&distinct, group_table_keys(t, g) + column);
        rc = id < 0 ? (int)id : g % STATS_LOOKED ? 0 : budget_check(budget);
        r->ranks[(size_t)g * t->width + column] = (uint32_t)id;
    }
    if (rc == 0) {
        rank = malloc((distinct.count + 1) * sizeof(*rank));
        rc = rank ? rank_keys(q, &distinct, rank, NULL) : -ENOMEM;
    }
    for (uint32_t g = 0; g < t->count && rc == 0; g++) {
        uint32_t *at = &r->ranks[(size_t)g * t->width + column];
        *at = rank[*at];
        rc = g % STATS_LOOKED ? 0 : budget_check(budget);
    }
    free(rank);
    group_table_done(&distinct);
    return rc;
}

static int compare_groups(const void *a, const void *b, void *arg)
{
    const struct ranking *r = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    unsigned width = r->table->width;

    if (r->counts[x] != r->counts[y])
        return r->counts[x] > r->counts[y] ? -1 : 1;
    for (unsigned i = 0; i < width; i++) {
        uint32_t m = r->ranks[(size_t)x * width + i], n = r->ranks[(size_t)y * width + i];
        if (m != n)
            return m < n ? -1 : 1;
    }
    return 0;
}

static void sift_down(uint32_t *heap, size_t n, size_t at, struct ranking *r)
{
    for (;;) {
        size_t last = at;
        for (size_t child = at * 2 + 1; child <= at * 2 + 2 && child < n; child++) {
            if (compare_groups(&heap[child], &heap[last], r) > 0)
                last = child;
        }
        if (last == at)
            return;
        uint32_t swap = heap[at];
        heap[at] = heap[last];
        heap[last] = swap;
        at = last;
    }
}

/* The first `top` of n, in no order: a heap whose root is the last of them. */
static int keep_first(uint32_t *groups, size_t n, size_t top, struct ranking *r,
                      struct budget *budget)
{
    int rc = 0;

    for (size_t i = top; i-- > 0 && rc == 0;) {
        sift_down(groups, top, i, r);
        rc = i % STATS_LOOKED ? 0 : budget_check(budget);
    }
    for (size_t i = top; i < n && rc == 0; i++) {
        rc = i % STATS_LOOKED ? 0 : budget_check(budget);
        if (compare_groups(&groups[i], &groups[0], r) < 0) {
            groups[0] = groups[i];
            sift_down(groups, top, 0, r);
        }
    }
    return rc;
}

static int order_ranked(struct ranking *r, uint64_t top, struct budget *budget, uint32_t **ret,
                        size_t *ret_count)
{
    size_t n = r->table->count;
    uint32_t *groups = malloc((n + 1) * sizeof(*groups));
    int rc = 0;

    if (!groups)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        groups[i] = (uint32_t)i;
    if (top && top < n) {
        rc = keep_first(groups, n, top, r, budget);
        n = top;
    }
    rc = rc < 0 ? rc : sort_items(groups, n, sizeof(*groups), compare_groups, r, budget);
    if (rc < 0)
        free(groups);
    *ret = rc < 0 ? NULL : groups;
    *ret_count = n;
    return rc;
}

int stats_order(struct query *q, const struct group_table *t, const uint64_t *counts, uint64_t top,
                struct budget *budget, uint32_t **ret, size_t *ret_count)
{
    struct ranking r = {.table = t, .counts = counts};
    size_t bytes = (size_t)t->count * (t->width + 1) * sizeof(uint32_t);
    int rc = budget_charge(budget, bytes);

    if (rc < 0)
        return rc;
    r.ranks = malloc(bytes + 1);
    rc = r.ranks ? 0 : -ENOMEM;
    for (unsigned i = 0; i < t->width && rc == 0; i++)
        rc = rank_column(q, &r, i, budget);
    if (rc == 0)
        rc = order_ranked(&r, top, budget, ret, ret_count);
    free(r.ranks);
    budget_release(budget, bytes);
    return rc;
}
