/* rows.c - flat rows of chosen columns, from the index alone. */
#include "answer/lines/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_BATCH = 2048, ROWS_BYTES = 256 << 10 }; /* maximum of rows and text of one call */

struct rows {
    struct rows_plan plan;
    struct top *top; /* NULL: not ordered by a column */
    struct cursor *cursor;
    uint32_t returned; /* rows of the current item, by the last call */
};

/* ---- items ----------------------------------------------------------------------------------- */

/* Sorts the values by their keys, because they are returned as one array. */
static int sort_values(const struct rows_plan *p, struct rows_item *it)
{
    struct item *item = &it->item;
    struct value *values = malloc(item->count * p->width * sizeof(*values) + 1);
    int64_t *keys = malloc(item->count * sizeof(*keys));
    if (!values || !keys) {
        free(values);
        free(keys);
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < item->count; k++) {
        memcpy(values + k * p->width, it->values + item->order[k] * p->width,
               p->width * sizeof(*values));
        keys[k] = item->keys[item->order[k]];
    }
    free(it->values);
    free(item->keys);
    free(item->order);
    it->values = values;
    item->keys = keys;
    item->order = NULL;
    return 0;
}

static void item_drop(void *arg, void *item)
{
    struct rows_item *it = item;

    (void)arg;
    charge_done(&it->item.charge);
    charge_done(&it->text_charge);
    free(it->item.keys);
    free(it->item.order);
    free(it->values);
    arena_done(&it->texts);
    buf_done(&it->text);
    free(it->end);
    free(it);
}

static struct rows_item *item_new(const struct rows_plan *p, size_t position)
{
    struct rows_item *it = calloc(1, sizeof(*it));

    if (!it)
        return NULL;
    it->item.position = position;
    it->item.charge.budget = it->text_charge.budget = it->texts.budget = query_budget(p->query);
    return it;
}

static int item_make(void *arg, struct item_tools *tools, size_t position, void **ret)
{
    struct rows_plan *p = arg;
    struct rows_item *it = item_new(p, position);

    if (!it)
        return -ENOMEM;
    scan_worker_gather(tools->scan);
    int rc = rows_fill(p, tools->scan, it);
    if (rc == 0 && p->order.by_key && it->item.count)
        rc = item_sort(&it->item);
    if (rc == 0 && it->item.order && !p->writer)
        rc = sort_values(p, it);
    if (rc == 0 && it->item.count)
        *ret = it;
    else
        item_drop(p, it);
    return rc;
}

static int item_decode(void *arg, size_t position, struct rec *facts, struct text text,
                       struct buf *whole, void **ret)
{
    struct rows_item *it = item_new(arg, position);
    int rc = it ? rows_decode(arg, facts, text, whole, it) : -ENOMEM;

    if (rc == 0)
        *ret = it;
    else if (it)
        item_drop(arg, it);
    return rc;
}

/* ---- the cursor ------------------------------------------------------------------------------ */

static int plan_columns(struct rows_plan *p, struct query *q, const struct rows_options *o)
{
    int rc = 0;

    *p = (struct rows_plan){.query = q,
                            .order.by_key = o->order_ts || o->order_by,
                            .width = o->column_count,
                            .writer = o->writer};
    p->max_returned = o->limit > UINT64_MAX - o->offset ? UINT64_MAX : o->limit + o->offset;
    p->max_read = p->order.by_key ? UINT64_MAX : p->max_returned;
    p->columns = calloc(o->column_count + 1, sizeof(struct source *));
    if (!p->columns)
        return -ENOMEM;
    for (size_t i = 0; i < o->column_count && rc == 0; i++)
        rc = query_source(q, text_of(o->columns[i]), &p->columns[i]);
    return rc < 0 ? rc : query_source(q, TEXT("ts"), &p->order.ts);
}

static int open_cursor(struct rows *r, const struct cursor_options *o, struct err *err)
{
    const struct item_maker maker = {.query = r->plan.query,
                                     .arg = &r->plan,
                                     .make = item_make,
                                     .drop = item_drop,
                                     .encode = r->plan.writer ? rows_encode : NULL,
                                     .decode = item_decode};

    /* Limits the text of an item to about 64 MiB, at 32 bytes a value. */
    size_t rows = ((size_t)64 << 20) / (32 * (r->plan.width + 1));
    int rc = r->plan.writer && !o->top ? scan_split_places(r->plan.query, (uint32_t)rows) : 0;

    return rc < 0 ? rc : cursor_new(&maker, o, err, &r->cursor);
}

static int find_top(struct rows *r, const struct rows_options *o, struct err *err)
{
    const struct top_options options = {
        .column = o->order_by, .descending = o->descending, .limit = o->limit, .offset = o->offset};
    int rc = top_new(r->plan.query, &options, err, &r->top);

    r->plan.order.top = r->top;
    return rc;
}

int rows_open(struct query *q, const struct rows_options *o, struct err *err, struct rows **ret)
{
    struct cursor_options options = {
        .order_ts = o->order_ts, .limit = o->limit, .offset = o->offset};
    struct rows *r = calloc(1, sizeof(*r));

    if (!r)
        return err_set_code(err, -ENOMEM);
    int rc = plan_columns(&r->plan, q, o);
    if (rc == 0 && o->order_by)
        rc = find_top(r, o, err);
    options.top = r->top;
    if (rc == 0)
        rc = open_cursor(r, &options, err);
    if (rc < 0) {
        rows_close(r);
        return err_set_code(err, rc);
    }
    *ret = r;
    return 0;
}

/* Consumes the rows that the last call returned, and finds the next run of rows. */
static int next_run(struct rows *r, struct err *err, struct item **ret)
{
    uint32_t run;

    if (r->returned)
        cursor_consume(r->cursor, r->returned);
    r->returned = 0;
    int rc = cursor_next(r->cursor, err, ret, &run);
    if (rc < 0)
        return rc == ERR_END ? rc : err_set_code(err, rc);
    r->returned = run < ROWS_BATCH ? run : ROWS_BATCH;
    return 0;
}

/* Returns the number of the next rows, at most n, whose text is not much longer than ROWS_BYTES. */
static uint32_t rows_of_bytes(const struct rows_item *it, uint32_t n)
{
    uint32_t k = 0;

    for (size_t bytes = 0; k < n && bytes < ROWS_BYTES; k++) {
        uint32_t row = item_index(&it->item, it->item.at + k);
        bytes += it->end[row] - (row ? it->end[row - 1] : 0);
    }
    return k;
}

int rows_next(struct rows *r, struct err *err, const struct value **ret_values, size_t *ret_count)
{
    struct item *item;
    int rc = next_run(r, err, &item);

    if (rc < 0)
        return rc;
    *ret_values = ((struct rows_item *)item)->values + (size_t)item->at * r->plan.width;
    *ret_count = r->returned;
    return 0;
}

int rows_next_text(struct rows *r, struct err *err, struct buf *out, size_t *ret_count)
{
    struct item *item;
    int rc = next_run(r, err, &item);

    if (rc < 0)
        return rc;
    const struct rows_item *it = (struct rows_item *)item;
    r->returned = rows_of_bytes(it, r->returned);
    for (uint32_t k = item->at, to = k + r->returned; k < to;) {
        uint32_t row = item_index(item, k), last = item->order ? row : to - 1;
        size_t start = row ? it->end[row - 1] : 0;
        buf_append(out, it->text.data + start, it->end[last] - start);
        k += last - row + 1;
    }
    *ret_count = r->returned;
    return out->error;
}

int rows_continue(struct rows *r, struct query *q, struct err *err)
{
    struct cursor_options options = {0};

    cursor_remaining(r->cursor, &options.limit, &options.offset);
    cursor_free(r->cursor);
    r->cursor = NULL;
    r->plan.query = q;
    int rc = query_source(q, TEXT("ts"), &r->plan.order.ts);
    for (size_t i = 0; i < r->plan.width && rc == 0; i++)
        rc = query_source(q, source_path(r->plan.columns[i]), &r->plan.columns[i]);
    rc = rc < 0 ? rc : open_cursor(r, &options, err);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

bool rows_may_continue(const struct rows *r)
{
    uint64_t limit, offset;

    cursor_remaining(r->cursor, &limit, &offset);
    return limit > 0;
}

void rows_pause(struct rows *r)
{
    if (!r->cursor)
        return;
    if (r->returned)
        cursor_consume(r->cursor, r->returned);
    r->returned = 0;
    cursor_pause(r->cursor, false);
}

void rows_close(struct rows *r)
{
    if (!r)
        return;
    cursor_free(r->cursor);
    top_free(r->top);
    free(r->plan.columns);
    free(r);
}
