/* aggregate_order.c - groups by the values of their keys.
 *
 * Values are compared once a distinct key; after that a key is its rank, and the ranks of a group are packed into as few
 * 64-bit words as they need, so that sorting is a radix sort of integers.
 */
#include "aggregate.h"

#include <errno.h>
#include <stdlib.h>

struct keyed {
    struct value value;
    uint32_t id;
};

/* One key column: which rank each group has. */
struct column_rank {
    struct query *query;
    struct budget *budget;
    const struct group_table *table;
    unsigned column;
    uint32_t *rank; /* by group */
    uint32_t count; /* distinct ones */
    int rc;
};

static int compare_keyed(const void *a, const void *b)
{
    return value_cmp(&((const struct keyed *)a)->value, &((const struct keyed *)b)->value);
}

static int rank_distinct(struct query *q, const struct group_table *distinct, uint32_t *rank)
{
    struct keyed *keyed = malloc((distinct->count + 1) * sizeof(*keyed));

    if (!keyed)
        return -ENOMEM;
    for (uint32_t i = 0; i < distinct->count; i++) {
        query_key_value(q, *group_table_keys(distinct, i), &keyed[i].value);
        keyed[i].id = i;
    }
    qsort(keyed, distinct->count, sizeof(*keyed), compare_keyed);
    for (uint32_t i = 0; i < distinct->count; i++)
        rank[keyed[i].id] = i;
    free(keyed);
    return 0;
}

static int rank_column(struct column_rank *c)
{
    const struct group_table *t = c->table;
    struct group_table distinct;
    uint64_t last_key = 0;
    int64_t last = -1;
    int rc = 0;

    group_table_init(&distinct, 1, UINT32_MAX - 1, c->budget);
    for (uint32_t g = 0; g < t->count && rc == 0; g++) {
        uint64_t key = group_table_keys(t, g)[c->column];
        if (last < 0 || key != last_key)
            last = group_table_add(&distinct, &key);
        last_key = key;
        rc = last < 0 ? (int)last : 0;
        c->rank[g] = (uint32_t)last;
    }
    uint32_t *rank = malloc((distinct.count + 1) * sizeof(*rank));
    if (rc == 0)
        rc = rank ? rank_distinct(c->query, &distinct, rank) : -ENOMEM;
    for (uint32_t g = 0; g < t->count && rc == 0; g++)
        c->rank[g] = rank[c->rank[g]];
    c->count = distinct.count;
    free(rank);
    group_table_done(&distinct);
    return rc;
}

static void rank_job(void *arg, unsigned i)
{
    struct column_rank *c = (struct column_rank *)arg + i;

    c->rc = rank_column(c);
}

/* ---- sorting ------------------------------------------------------------------------------------------- */

struct sort_item {
    uint64_t key;
    uint32_t group;
};

static bool radix_pass(const struct sort_item *from, struct sort_item *to, size_t n, unsigned shift)
{
    enum { BUCKETS = 2048 };
    size_t at[BUCKETS] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[from[i].key >> shift & (BUCKETS - 1)]++;
    if (at[from[0].key >> shift & (BUCKETS - 1)] == n)
        return false;
    for (unsigned b = 0; b < BUCKETS; b++) {
        size_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
    return true;
}

/* Stable. */
static void sort_items(struct sort_item **items, struct sort_item **room, size_t n, unsigned bits)
{
    for (unsigned shift = 0; n > 1 && shift < bits; shift += 11) {
        if (radix_pass(*items, *room, n, shift)) {
            struct sort_item *swap = *items;
            *items = *room;
            *room = swap;
        }
    }
}

static unsigned bits_of(uint32_t count)
{
    return count > 1 ? 32 - (unsigned)__builtin_clz(count - 1) : 0;
}

/* Sorts by the columns from the last to the first, as many at a time as fit into a word. */
static void sort_columns(const struct column_rank *columns, unsigned width,
                         struct sort_item **items, struct sort_item **room, size_t n)
{
    unsigned end = width;

    while (end > 0) {
        unsigned begin = end, bits = 0;
        while (begin > 0 && bits + bits_of(columns[begin - 1].count) <= 64)
            bits += bits_of(columns[--begin].count);
        for (size_t i = 0; i < n; i++) {
            uint64_t key = 0;
            for (unsigned c = begin; c < end; c++) {
                unsigned b = bits_of(columns[c].count);
                key = (b < 64 ? key << b : 0) | columns[c].rank[(*items)[i].group];
            }
            (*items)[i].key = key;
        }
        sort_items(items, room, n, bits);
        end = begin;
    }
}

static int order_set(struct query *q, const struct group_table *t, struct budget *budget,
                     uint32_t set, struct row_id *ret)
{
    struct column_rank columns[GROUP_KEYS_MAX];
    struct pool *pool = query_environment(q)->pool;
    size_t n = t->count;
    uint32_t *ranks = malloc((n * t->width + 1) * sizeof(*ranks));
    struct sort_item *items = malloc((n + 1) * sizeof(*items)),
                     *room = malloc((n + 1) * sizeof(*room));
    int rc = ranks && items && room ? 0 : -ENOMEM;

    for (unsigned i = 0; i < t->width; i++)
        columns[i] = (struct column_rank){q, budget, t, i, ranks + i * n, 0, 0};
    if (rc == 0 && (!pool || n < 4096 || pool_run(pool, t->width, rank_job, columns) < 0)) {
        for (unsigned i = 0; i < t->width; i++)
            rank_job(columns, i);
    }
    for (unsigned i = 0; rc == 0 && i < t->width; i++)
        rc = columns[i].rc;
    for (uint32_t g = 0; g < n && rc == 0; g++)
        items[g].group = g;
    if (rc == 0)
        sort_columns(columns, t->width, &items, &room, n);
    for (size_t i = 0; i < n && rc == 0; i++)
        ret[i] = (struct row_id){set, items[i].group};
    free(ranks);
    free(items);
    free(room);
    return rc;
}

int aggregate_order(struct query *q, const struct aggregate_found *f, struct row_id **ret,
                    size_t *ret_count)
{
    struct budget *budget = f->plan->budget;
    size_t n = 0, most = 0, at = 0;

    for (unsigned i = 0; i < SETS; i++) {
        size_t bytes = f->set[i].map.table.count *
                       (f->plan->width * sizeof(uint32_t) + 2 * sizeof(struct sort_item));
        n += f->set[i].map.table.count;
        most = bytes > most ? bytes : most;
    }
    int rc = budget_charge(budget, most);
    if (rc < 0)
        return rc;
    struct row_id *rows = malloc((n + 1) * sizeof(*rows));
    rc = rows ? 0 : -ENOMEM;
    for (unsigned i = 0; i < SETS && rc == 0; i++) {
        rc = order_set(q, &f->set[i].map.table, budget, i, rows + at);
        at += f->set[i].map.table.count;
    }
    budget_release(budget, most);
    if (rc < 0) {
        free(rows);
        return rc;
    }
    *ret = rows;
    *ret_count = n;
    return 0;
}
