/* best.c - keeps the best rows by their values, over all passes (passes.h): a heap whose root is
 * the worst of them. */
#include "answer/aggregate/rows.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>

/* A row is kept at a place, a number below `count`. */
struct best_rows {
    const struct aggregate_plan *plan;
    const struct sort_key *sort;
    size_t width; /* of `sort` */
    uint64_t max;
    VEC(uint32_t) heap;        /* places, the worst of them first */
    VEC(struct value) values;  /* by place: of all columns */
    VEC(uint64_t) keys;        /* by place: of the group */
    VEC(uint64_t) rows_before; /* by place: rows that were added before it */
    size_t count;
    uint64_t added;
    struct value *row; /* values of the current row */
    struct group_table key_index;
};

/* Allocates memory for the next row, and for one more, which best_finish needs. */
static int best_reserve(struct best_rows *b)
{
    size_t n = b->count + 2;
    int rc = n < UINT32_MAX ? vec_extend(&b->heap, n) : ERR_MEMORY_LIMIT;

    rc = rc < 0 ? rc : vec_extend(&b->values, n * b->plan->columns.count);
    rc = rc < 0 ? rc : vec_extend(&b->keys, n * b->plan->width);
    return rc < 0 ? rc : vec_extend(&b->rows_before, n);
}

int best_new(const struct aggregate_plan *p, const struct sort_key *sort, size_t width,
             uint64_t max, struct best_rows **ret)
{
    struct best_rows *b = calloc(1, sizeof(*b));

    if (!b)
        return -ENOMEM;
    *b = (struct best_rows){.plan = p,
                            .sort = sort,
                            .width = width,
                            .max = max,
                            .heap.budget = p->budget,
                            .values.budget = p->budget,
                            .keys.budget = p->budget,
                            .rows_before.budget = p->budget};
    group_table_init(&b->key_index, p->width, UINT32_MAX - 1, p->budget);
    b->row = malloc((p->columns.count + 1) * sizeof(*b->row));
    int rc = b->row ? best_reserve(b) : -ENOMEM;
    if (rc < 0)
        best_free(b);
    else
        *ret = b;
    return rc;
}

void best_free(struct best_rows *b)
{
    if (!b)
        return;
    group_table_done(&b->key_index);
    vec_done(&b->heap);
    vec_done(&b->values);
    vec_done(&b->keys);
    vec_done(&b->rows_before);
    free(b->row);
    free(b);
}

/* ---- the heap -------------------------------------------------------------------------------- */

static const struct value *row_at(const struct best_rows *b, uint32_t place)
{
    return b->values.at + place * b->plan->columns.count;
}

/* Equal rows are ordered by their keys: those that were added first come first. */
static int compare_places(const struct best_rows *b, uint32_t x, uint32_t y)
{
    int cmp = rows_compare(b->sort, b->width, row_at(b, x), row_at(b, y));
    uint64_t x_before = b->rows_before.at[x], y_before = b->rows_before.at[y];

    return cmp ? cmp : (x_before > y_before) - (x_before < y_before);
}

static void sift_down(struct best_rows *b)
{
    uint32_t place = b->heap.at[0];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < b->count; at = child) {
        if (child + 1 < b->count && compare_places(b, b->heap.at[child + 1], b->heap.at[child]) > 0)
            child++;
        if (compare_places(b, b->heap.at[child], place) <= 0)
            break;
        b->heap.at[at] = b->heap.at[child];
    }
    b->heap.at[at] = place;
}

/* Stores the current row at the place. */
static void put_row(struct best_rows *b, size_t place, const uint64_t *keys)
{
    size_t columns = b->plan->columns.count, width = b->plan->width;

    memcpy(b->values.at + place * columns, b->row, columns * sizeof(*b->row));
    if (width)
        memcpy(b->keys.at + place * width, keys, width * sizeof(*keys));
    b->rows_before.at[place] = b->added;
}

static int add_row(struct best_rows *b, const uint64_t *keys)
{
    if (b->count < b->max) {
        int rc = best_reserve(b);
        if (rc < 0)
            return rc;
        uint32_t place = (uint32_t)b->count++;
        size_t at = place;
        put_row(b, place, keys);
        for (; at > 0 && compare_places(b, place, b->heap.at[(at - 1) / 2]) > 0; at = (at - 1) / 2)
            b->heap.at[at] = b->heap.at[(at - 1) / 2];
        b->heap.at[at] = place;
    } else if (b->max && rows_compare(b->sort, b->width, b->row, row_at(b, b->heap.at[0])) < 0) {
        put_row(b, b->heap.at[0], keys);
        sift_down(b);
    }
    b->added++;
    return 0;
}

int best_add(struct best_rows *b, struct row_reader *t, const struct row_id *rows, size_t count)
{
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = i % 1024 ? 0 : budget_check(b->plan->budget);
        rc = rc < 0 ? rc : aggregate_values(t, rows[i], NULL, b->row);
        group_map_keys(&t->found->set[0].map, rows[i].group, keys);
        rc = rc < 0 ? rc : add_row(b, keys);
    }
    return rc;
}

/* ---- the result ------------------------------------------------------------------------------ */

int best_index_keys(struct best_rows *b)
{
    for (size_t i = 0; i < b->count; i++) {
        int64_t rc = group_table_add(&b->key_index, b->keys.at + i * b->plan->width);
        if (rc < 0)
            return (int)rc;
    }
    return 0;
}

bool best_has(const struct best_rows *b, const uint64_t *keys)
{
    return b->count && group_table_find(&b->key_index, keys) >= 0;
}

bool best_has_all(const struct best_rows *b)
{
    return b->added <= b->count;
}

int best_finish(struct best_rows *b, struct value **ret_values, uint32_t **ret_order,
                size_t *ret_count)
{
    const size_t count = b->count;
    int rc = 0;

    /* Heap sort: the worst row is swapped to the end of the heap, which is shortened by one. */
    while (b->count > 1 && rc == 0) {
        uint32_t worst = b->heap.at[0];
        rc = b->count % 1024 ? 0 : budget_check(b->plan->budget);
        b->heap.at[0] = b->heap.at[--b->count];
        sift_down(b);
        b->heap.at[b->count] = worst;
    }
    b->count = count;
    *ret_values = b->values.at;
    *ret_order = b->heap.at;
    *ret_count = count;
    return rc;
}
