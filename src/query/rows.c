/* rows.c - flat rows of chosen columns, from the index alone. */
#include "view_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_BATCH = 2048, /* rows told at once                                             */
    CODES_MOST = 4096, /* texts of larger dictionaries are copied, not kept in the query */
};

struct rows_plan {
    struct query *query;
    bool order_ts;
    const struct source *ts;
    const struct source **columns;
    size_t width;
};
struct rows {
    struct rows_plan plan;
    struct stream *stream;
    uint32_t told; /* rows of the item at hand that were given out last time */
};

/* Rows of one place. */
struct block {
    struct item item;
    struct value *values; /* width a row */
    struct arena texts;
    size_t texts_charged;
};

/* ---- filling a block ------------------------------------------------------------------------------ */

struct filler {
    const struct rows_plan *plan;
    struct block *block;
    struct value *code_values; /* of the column at hand */
};

static int grow_block(struct filler *f, uint32_t need)
{
    struct item *item = &f->block->item;
    uint32_t cap = item->cap ? item->cap : 64;
    size_t each = f->plan->width * sizeof(struct value) + (f->plan->order_ts ? sizeof(int64_t) : 0);

    if (need <= item->cap)
        return 0;
    while (cap < need)
        cap *= 2;
    int rc = budget_charge(query_budget(f->plan->query), (cap - item->cap) * each);
    if (rc < 0)
        return rc;
    item->charged += (cap - item->cap) * each;
    struct value *values = realloc(f->block->values, cap * f->plan->width * sizeof(*values));
    f->block->values = values ? values : f->block->values;
    int64_t *ts = f->plan->order_ts ? realloc(item->ts, cap * sizeof(*ts)) : NULL;
    item->ts = ts ? ts : item->ts;
    if (!values || (f->plan->order_ts && !ts))
        return -ENOMEM;
    item->cap = cap;
    return 0;
}

static int fill_integers(struct filler *f, struct scan_batch *b, const struct source *s,
                         enum scan_shape shape, struct value *to)
{
    enum value_type type = shape == SHAPE_TIME   ? VALUE_TIME
                           : shape == SHAPE_BOOL ? VALUE_BOOL
                                                 : VALUE_INT;
    const int64_t *v;
    const uint64_t *valid;
    bool nano;
    int rc = batch_i64(b, s, &v, &valid, &nano);

    for (uint32_t j = 0; rc == 0 && j < b->count; j++, to += f->plan->width) {
        uint32_t row = batch_row(b, j);
        to->type = batch_is_valid(valid, row) ? type : VALUE_NULL;
        to->i = v[row];
        if (type == VALUE_TIME)
            to->wide = nano ? v[row] : (__int128)v[row] * 1000;
    }
    return rc;
}

static int fill_doubles(struct filler *f, struct scan_batch *b, const struct source *s,
                        struct value *to)
{
    const double *v;
    const uint64_t *valid;
    int rc = batch_f64(b, s, &v, &valid);

    for (uint32_t j = 0; rc == 0 && j < b->count; j++, to += f->plan->width) {
        uint32_t row = batch_row(b, j);
        to->type = batch_is_valid(valid, row) ? VALUE_DOUBLE : VALUE_NULL;
        to->d = v[row];
    }
    return rc;
}

/* Few distinct values: each is looked up once a batch that has it, and its text lives as long as the query. */
static int fill_codes(struct filler *f, struct scan_batch *b, const struct source *s,
                      uint32_t codes, const uint64_t *keys, struct value *to)
{
    struct query *q = f->plan->query;
    uint64_t known[CODES_MOST / 64 + 1] = {0};
    const uint32_t *code;
    int rc = batch_codes(b, s, &code);

    if (rc < 0)
        return rc;
    for (uint32_t j = 0; j < b->count; j++, to += f->plan->width) {
        uint32_t at = code[batch_row(b, j)];
        if (at >= codes)
            return ERR_CORRUPT;
        if (!(known[at / 64] >> (at % 64) & 1)) {
            query_key_value(q, keys[at], &f->code_values[at]);
            known[at / 64] |= 1ull << (at % 64);
        }
        *to = f->code_values[at];
    }
    return 0;
}

static int copy_text(struct filler *f, struct value *v)
{
    struct block *block = f->block;
    const char *copy = arena_strdup(&block->texts, v->text);

    if (!copy)
        return -ENOMEM;
    v->text.ptr = copy;
    if (block->texts.used <= block->texts_charged)
        return 0;
    size_t more = block->texts.used - block->texts_charged + (64 << 10);
    int rc = budget_charge(query_budget(f->plan->query), more);
    if (rc == 0) {
        block->texts_charged += more;
        block->item.charged += more;
    }
    return rc;
}

static int fill_values(struct filler *f, struct scan_batch *b, const struct source *s,
                       struct value *to)
{
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++, to += f->plan->width) {
        rc = batch_value(b, s, batch_row(b, j), to);
        if (rc == 0 && (to->type == VALUE_TEXT || to->type == VALUE_JSON))
            rc = copy_text(f, to);
    }
    return rc;
}

static int fill_column(struct filler *f, struct scan_batch *b, const struct source *s,
                       struct value *to)
{
    enum scan_shape shape = scan_shape(b->chunk, s);
    const uint64_t *keys;
    uint32_t codes;

    if (shape == SHAPE_NULL) {
        for (uint32_t j = 0; j < b->count; j++)
            to[j * f->plan->width].type = VALUE_NULL;
        return 0;
    }
    if (shape == SHAPE_INT || shape == SHAPE_TIME || shape == SHAPE_BOOL)
        return fill_integers(f, b, s, shape, to);
    if (shape == SHAPE_DOUBLE)
        return fill_doubles(f, b, s, to);
    int rc = shape == SHAPE_TEXT ? scan_codes(b->chunk, s, CODES_MOST, &codes, &keys) : -EDOM;
    if (rc == 0)
        return fill_codes(f, b, s, codes, keys, to);
    return rc == -EDOM ? fill_values(f, b, s, to) : rc;
}

static int fill_batch(void *arg, struct scan_batch *b)
{
    struct filler *f = arg;
    struct item *item = &f->block->item;
    int rc = grow_block(f, item->count + b->count);

    for (size_t i = 0; i < f->plan->width && rc == 0; i++)
        rc = fill_column(f, b, f->plan->columns[i],
                         f->block->values + item->count * f->plan->width + i);
    if (rc == 0 && f->plan->order_ts)
        rc = item_add_ts(item, b, f->plan->ts);
    item->count += b->count;
    return rc;
}

/* Puts the rows themselves in order of time, so that they can be given out as they lie. */
static int order_block(const struct rows_plan *p, struct block *b)
{
    struct item *item = &b->item;
    int rc = item_sort(item);

    if (rc < 0 || !item->order)
        return rc;
    struct value *values = malloc(item->count * p->width * sizeof(*values) + 1);
    int64_t *ts = malloc(item->count * sizeof(*ts));
    if (!values || !ts) {
        free(values);
        free(ts);
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < item->count; k++) {
        memcpy(values + k * p->width, b->values + item->order[k] * p->width,
               p->width * sizeof(*values));
        ts[k] = item->ts[item->order[k]];
    }
    free(b->values);
    free(item->ts);
    free(item->order);
    b->values = values;
    item->ts = ts;
    item->order = NULL;
    return 0;
}

static void block_drop(void *arg, void *item)
{
    struct rows_plan *p = arg;
    struct block *b = item;

    budget_release(query_budget(p->query), b->item.charged);
    free(b->item.ts);
    free(b->item.order);
    free(b->values);
    arena_done(&b->texts);
    free(b);
}

static int block_make(void *arg, struct ahead_tools *tools, size_t position, void **ret)
{
    struct rows_plan *p = arg;
    struct block *b = calloc(1, sizeof(*b));
    struct filler f = {
        .plan = p, .block = b, .code_values = malloc(CODES_MOST * sizeof(struct value))};
    int rc = b && f.code_values ? 0 : -ENOMEM;

    if (rc == 0) {
        b->item.position = position;
        scan_worker_gathers(tools->scan);
        rc = scan_chunk(tools->scan, position, fill_batch, &f);
    }
    if (rc == 0 && p->order_ts && b->item.count)
        rc = order_block(p, b);
    free(f.code_values);
    if (rc == 0 && b->item.count)
        *ret = b;
    else if (b)
        block_drop(p, b);
    return rc;
}

/* ---- the cursor ---------------------------------------------------------------------------------------- */

static int plan_columns(struct rows_plan *p, struct query *q, const struct rows_options *o)
{
    int rc = 0;

    *p = (struct rows_plan){.query = q, .order_ts = o->order_ts, .width = o->column_count};
    p->columns = calloc(o->column_count + 1, sizeof(struct source *));
    if (!p->columns)
        return -ENOMEM;
    for (size_t i = 0; i < o->column_count && rc == 0; i++)
        rc = query_source(q, text_of(o->columns[i]), &p->columns[i]);
    return rc < 0 ? rc : query_source(q, TEXT("ts"), &p->ts);
}

static int open_stream(struct rows *r, const struct stream_options *o, struct err *err)
{
    struct ahead_maker maker = {
        .query = r->plan.query, .arg = &r->plan, .make = block_make, .drop = block_drop};

    return stream_new(&maker, o, err, &r->stream);
}

int rows_open(struct query *q, const struct rows_options *o, struct err *err, struct rows **ret)
{
    struct stream_options options = {
        .order_ts = o->order_ts, .limit = o->limit, .offset = o->offset};
    struct rows *r = calloc(1, sizeof(*r));

    if (!r)
        return err_set(err, -ENOMEM, "%s", err_text(-ENOMEM));
    int rc = plan_columns(&r->plan, q, o);
    if (rc == 0)
        rc = open_stream(r, &options, err);
    if (rc < 0) {
        rows_close(r);
        return err_set(err, rc, "%s", err_text(rc));
    }
    *ret = r;
    return 0;
}

int rows_next(struct rows *r, struct err *err, const struct value **ret_values, size_t *ret_count)
{
    struct item *item;
    uint32_t run;

    if (r->told)
        stream_take(r->stream, r->told);
    r->told = 0;
    int rc = stream_next(r->stream, err, &item, &run);
    if (rc < 0)
        return rc == ERR_END ? rc : err_set(err, rc, "%s", err_text(rc));
    r->told = run < ROWS_BATCH ? run : ROWS_BATCH;
    *ret_values = ((struct block *)item)->values + (size_t)item->at * r->plan.width;
    *ret_count = r->told;
    return 0;
}

int rows_go_on(struct rows *r, struct query *q, struct err *err)
{
    struct stream_options options = {0};

    stream_left(r->stream, &options.limit, &options.offset);
    stream_free(r->stream);
    r->stream = NULL;
    r->plan.query = q;
    int rc = query_source(q, TEXT("ts"), &r->plan.ts);
    for (size_t i = 0; i < r->plan.width && rc == 0; i++)
        rc = query_source(q, source_path(r->plan.columns[i]), &r->plan.columns[i]);
    rc = rc < 0 ? rc : open_stream(r, &options, err);
    return rc < 0 ? err_set(err, rc, "%s", err_text(rc)) : 0;
}

bool rows_may_go_on(const struct rows *r)
{
    uint64_t limit, offset;

    stream_left(r->stream, &limit, &offset);
    return limit > 0;
}

void rows_rest(struct rows *r)
{
    if (!r->stream)
        return;
    if (r->told)
        stream_take(r->stream, r->told);
    r->told = 0;
    stream_rest(r->stream, false);
}

void rows_close(struct rows *r)
{
    if (!r)
        return;
    stream_free(r->stream);
    free(r->plan.columns);
    free(r);
}
