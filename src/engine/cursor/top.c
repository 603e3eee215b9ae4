/* top.c - the rows that come first by a column, in parts. */
#include "engine/cursor/top.h"
#include "engine/cursor/top_find.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A part uses a quarter of the memory left, at PART_BYTES for each row. */
enum { PART_MIN = 1 << 10, PART_MAX = 1 << 18, PART_BYTES = 1 << 10 };

struct part_row {
    uint32_t position, row;
    uint64_t rank;
};
struct top {
    struct query *query;
    struct top_rows rows;      /* in order */
    size_t next;               /* index in rows: start of the next part */
    VEC(struct part_row) part; /* by (position, row) */
};

int top_new(struct query *q, const struct top_options *o, struct err *err, struct top **ret)
{
    struct top_order order = {.query = q, .descending = o->descending};
    uint64_t rows = o->limit > UINT64_MAX - o->offset ? UINT64_MAX : o->limit + o->offset;
    struct top *t = calloc(1, sizeof(*t));
    int rc = t ? query_source(q, text_of(o->column), &order.by) : -ENOMEM;

    rc = rc < 0 ? rc : query_check_argument(q, order.by, "order", err);
    if (rc == 0) {
        t->query = q;
        t->rows.list.budget = t->part.budget = query_budget(q);
        rc = top_find(&order, o->limit ? rows : 0, &t->rows);
    }
    if (rc < 0) {
        top_free(t);
        if (rc == ERR_MEMORY_LIMIT)
            return err_set_param(err, rc, "order",
                                 "`order` by a column needs more memory than allowed for these "
                                 "events; use `limit` or select fewer");
        return scan_error(err, rc);
    }
    t->next = o->offset < t->rows.list.count ? o->offset : t->rows.list.count;
    *ret = t;
    return 0;
}

void top_free(struct top *t)
{
    if (!t)
        return;
    vec_done(&t->rows.list);
    vec_done(&t->part);
    free(t);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int compare_part_rows(const void *a, const void *b, void *arg)
{
    const struct part_row *x = a, *y = b;
    (void)arg;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t rows_of_part(const struct top *t)
{
    const struct budget *b = query_budget(t->query);
    size_t used = atomic_load(&b->memory_used), max = PART_MAX;

    if (b->memory_limit)
        max = b->memory_limit > used ? (b->memory_limit - used) / 4 / PART_BYTES : 0;
    max = max < PART_MIN ? PART_MIN : max > PART_MAX ? PART_MAX : max;
    size_t left = t->rows.list.count - t->next;
    return left < max ? left : max;
}

int top_part(struct top *t, uint64_t *counts, __int128 *first)
{
    size_t n = rows_of_part(t);

    if (n == 0)
        return ERR_END;
    t->part.count = 0;
    int rc = vec_reserve(&t->part, n);
    if (rc < 0)
        return rc;
    for (size_t i = t->next; i < t->next + n; i++) {
        const struct top_row *r = &t->rows.list.at[i];
        if (counts[r->position]++ == 0)
            first[r->position] = i;
        t->part.at[t->part.count++] = (struct part_row){r->position, r->row, i};
    }
    t->next += n;
    return sort_items(t->part.at, n, sizeof(*t->part.at), compare_part_rows, NULL,
                      query_budget(t->query));
}

/* The index in the part of this row, or of the first one after it. */
static size_t part_find(const struct top *t, struct part_row row)
{
    size_t low = 0, high = t->part.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_part_rows(&t->part.at[middle], &row, NULL) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void top_ranks(const struct top *t, const struct scan_batch *b, int64_t *ret)
{
    size_t at = part_find(t, (struct part_row){.position = (uint32_t)b->chunk->position,
                                               .row = batch_place(b, batch_row(b, 0))});

    for (uint32_t j = 0; j < b->count; j++)
        ret[j] = (int64_t)t->part.at[at + j].rank;
}

int top_scan(const struct top *t, struct scan_worker *w, size_t position,
             int (*batch)(void *arg, struct scan_batch *b), void *arg)
{
    if (!t)
        return scan_chunk(w, position, batch, arg);
    const struct scan_place *place = &t->query->places[position];
    const struct index_file *file = snapshot_file(query_snapshot(t->query), place->file);
    size_t batches = file->chunks[place->chunk].rows / SCAN_BATCH + 1ul;
    size_t at = part_find(t, (struct part_row){.position = (uint32_t)position});
    uint64_t *rows = calloc(batches * SCAN_WORDS, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    for (; at < t->part.count && t->part.at[at].position == position; at++)
        rows[t->part.at[at].row / 64] |= (uint64_t)1 << t->part.at[at].row % 64;
    int rc = scan_chunk_rows(w, position, rows, batch, arg);
    free(rows);
    return rc;
}
