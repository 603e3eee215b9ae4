/* best.c - the best rows by their values, whatever part of the groups they are of: a heap
 * whose root is the worst. */
#include "answer/aggregate/rows.h"

#include <errno.h>
#include <stdlib.h>

struct best_rows {
    const struct aggregate_plan *plan;
    const struct sort_key *sort;
    size_t width;
    uint64_t most;
    uint32_t *heap;       /* places of rows, the worst of them first */
    struct value *values; /* by place: of all columns */
    uint64_t *keys;       /* by place */
    uint64_t *number;     /* by place: how many rows were seen before */
    size_t count, cap, charged;
    uint64_t seen;
    struct value *row; /* the present one */
    struct group_table chosen;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t row_bytes(const struct best_rows *b)
{
    return b->plan->column_count * sizeof(*b->values) + b->plan->width * sizeof(*b->keys) +
           sizeof(*b->number) + sizeof(*b->heap);
}

static int grow_one(void *array, size_t bytes)
{
    void *grown = realloc(*(void **)array, bytes + 1);

    if (!grown)
        return -ENOMEM;
    *(void **)array = grown;
    return 0;
}

/* One row is for best_take. */
static int grow(struct best_rows *b)
{
    size_t cap = b->cap ? b->cap * 2 : 64;
    int rc = cap < UINT32_MAX ? budget_charge(b->plan->budget, (cap - b->cap) * row_bytes(b))
                              : ERR_MEMORY_LIMIT;

    if (rc < 0)
        return rc;
    b->charged += (cap - b->cap) * row_bytes(b);
    rc = grow_one(&b->heap, cap * sizeof(*b->heap));
    rc = rc < 0 ? rc : grow_one(&b->values, cap * b->plan->column_count * sizeof(*b->values));
    rc = rc < 0 ? rc : grow_one(&b->keys, cap * b->plan->width * sizeof(*b->keys));
    rc = rc < 0 ? rc : grow_one(&b->number, cap * sizeof(*b->number));
    b->cap = rc < 0 ? b->cap : cap;
    return rc;
}

int best_new(const struct aggregate_plan *p, const struct sort_key *sort, size_t width,
             uint64_t most, struct best_rows **ret)
{
    struct best_rows *b = calloc(1, sizeof(*b));

    if (!b)
        return -ENOMEM;
    b->plan = p;
    b->sort = sort;
    b->width = width;
    b->most = most;
    group_table_init(&b->chosen, p->width, UINT32_MAX - 1, p->budget);
    b->row = malloc((p->column_count + 1) * sizeof(*b->row));
    int rc = b->row ? grow(b) : -ENOMEM;
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
    group_table_done(&b->chosen);
    budget_release(b->plan->budget, b->charged);
    free(b->heap);
    free(b->values);
    free(b->keys);
    free(b->number);
    free(b->row);
    free(b);
}

/* ---- the heap -------------------------------------------------------------------------------- */

static int compare_values(const struct best_rows *b, const struct value *x, const struct value *y)
{
    for (size_t i = 0; i < b->width; i++) {
        int cmp = value_cmp(&x[b->sort[i].column], &y[b->sort[i].column]);
        if (cmp)
            return b->sort[i].descending ? -cmp : cmp;
    }
    return 0;
}

/* Equal rows are in the order in which they were added, which is that of their keys. */
static int compare_places(const struct best_rows *b, uint32_t x, uint32_t y)
{
    size_t columns = b->plan->column_count;
    int cmp = compare_values(b, b->values + x * columns, b->values + y * columns);

    return cmp ? cmp : (b->number[x] > b->number[y]) - (b->number[x] < b->number[y]);
}

static void sift_down(struct best_rows *b)
{
    uint32_t place = b->heap[0];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < b->count; at = child) {
        if (child + 1 < b->count && compare_places(b, b->heap[child + 1], b->heap[child]) > 0)
            child++;
        if (compare_places(b, b->heap[child], place) <= 0)
            break;
        b->heap[at] = b->heap[child];
    }
    b->heap[at] = place;
}

/* Stores the current row at the place. */
static void put_row(struct best_rows *b, size_t place, const uint64_t *keys)
{
    size_t columns = b->plan->column_count, width = b->plan->width;

    memcpy(b->values + place * columns, b->row, columns * sizeof(*b->values));
    if (width)
        memcpy(b->keys + place * width, keys, width * sizeof(*b->keys));
    b->number[place] = b->seen;
}

static int add_row(struct best_rows *b, const uint64_t *keys)
{
    int rc = b->count < b->most && b->count + 1 == b->cap ? grow(b) : 0;

    if (rc < 0)
        return rc;
    if (b->count < b->most) {
        put_row(b, b->count, keys);
        b->heap[b->count] = (uint32_t)b->count;
        b->count++;
        size_t at = b->count - 1;
        uint32_t place = b->heap[at];
        for (; at > 0 && compare_places(b, place, b->heap[(at - 1) / 2]) > 0; at = (at - 1) / 2)
            b->heap[at] = b->heap[(at - 1) / 2];
        b->heap[at] = place;
    } else if (b->most &&
               compare_values(b, b->row, b->values + b->heap[0] * b->plan->column_count) < 0) {
        put_row(b, b->heap[0], keys);
        sift_down(b);
    }
    b->seen++;
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

/* ---- what was chosen ------------------------------------------------------------------------- */

int best_choose(struct best_rows *b)
{
    for (size_t i = 0; i < b->count; i++) {
        int64_t rc = group_table_add(&b->chosen, b->keys + i * b->plan->width);
        if (rc < 0)
            return (int)rc;
    }
    return 0;
}

bool best_has(const struct best_rows *b, const uint64_t *keys)
{
    return b->count && group_table_find(&b->chosen, keys) >= 0;
}

bool best_has_all(const struct best_rows *b)
{
    return b->seen <= b->count;
}

int best_take(struct best_rows *b, struct value **ret, size_t *ret_count)
{
    /* The worst goes to the end, again and again. */
    const size_t count = b->count;
    int rc = 0;

    while (b->count > 1 && rc == 0) {
        uint32_t worst = b->heap[0];
        rc = b->count % 1024 ? 0 : budget_check(b->plan->budget);
        b->heap[0] = b->heap[--b->count];
        sift_down(b);
        b->heap[b->count] = worst;
    }
    b->count = count;

    if (rc < 0)
        return rc;
    rows_permute(b->values, b->plan->column_count, b->heap, b->count, b->row);
    *ret = b->values;
    *ret_count = b->count;
    return 0;
}
