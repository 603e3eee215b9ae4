/* rows_fill.c - reads the rows of a place, batch by batch, as vectors; a writer formats these as
 * text, or they become values. */
#include "answer/lines/rows.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CODES_MAX = 4096, /* with larger dictionaries, the value of each row is looked up */
    SPAN_MAX = 256,   /* integers that span at most this have codes: each is formatted once */
};

struct filler {
    const struct rows_plan *plan;
    struct rows_item *rows;
    void *state;               /* of the writer */
    struct vector *columns;    /* of the current batch */
    struct value **values;     /* by column, SCAN_BATCH each; NULL until needed */
    struct charge charge;      /* for `values` */
    struct value *code_values; /* without a writer, by code of a column */
};

int rows_grow(const struct rows_plan *p, struct rows_item *r, uint32_t need)
{
    struct item *item = &r->item;
    uint32_t cap = item->cap ? item->cap : top_rows_at_first(p->order.top, 64);
    size_t each = p->writer ? sizeof(*r->end) : p->width * sizeof(*r->values);

    if (need <= item->cap)
        return 0;
    while (cap < need)
        cap *= 2;
    size_t bytes = (cap - item->cap) * (each + (p->order.by_key ? sizeof(*item->keys) : 0));
    int rc = charge_add(&item->charge, bytes);
    if (rc < 0)
        return rc;
    void *grown = realloc(p->writer ? (void *)r->end : r->values, cap * each);
    if (!grown)
        return -ENOMEM;
    if (p->writer)
        r->end = grown;
    else
        r->values = grown;
    int64_t *keys = p->order.by_key ? realloc(item->keys, cap * sizeof(*keys)) : NULL;
    if (p->order.by_key && !keys)
        return -ENOMEM;
    item->keys = keys;
    item->cap = cap;
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int read_values(struct filler *f, struct scan_batch *b, size_t column, struct vector *ret)
{
    struct value *to = f->values[column];
    int rc = to ? 0 : charge_add(&f->charge, SCAN_BATCH * sizeof(*to));

    if (rc == 0 && !to)
        to = f->values[column] = malloc(SCAN_BATCH * sizeof(*to));
    if (rc == 0 && !to)
        rc = -ENOMEM;
    for (uint32_t k = 0; rc == 0 && k < b->count; k++)
        to[k] = batch_value(b, f->plan->columns[column], batch_row(b, k));
    *ret = (struct vector){.kind = VECTOR_VALUE, .values = to, .stride = 1};
    return rc;
}

static int key_value(void *query, uint64_t key, struct value *ret)
{
    query_key_value(query, key, ret);
    return 0;
}

static bool read_codes(struct scan_batch *b, const struct source *s, struct vector *ret)
{
    *ret = (struct vector){.kind = VECTOR_CODE, .value = key_value, .arg = b->chunk->query};
    if (!scan_codes(b->chunk, s, CODES_MAX, &ret->code_count, &ret->keys))
        return false;
    ret->codes = batch_codes(b, s);
    return true;
}

static bool has_small_span(struct scan_batch *b, const struct source *s)
{
    int64_t min, max;

    return scan_range(b->chunk, s, &min, &max) && (uint64_t)max - (uint64_t)min < SPAN_MAX;
}

static struct vector read_numbers(struct scan_batch *b, const struct source *s)
{
    const struct batch_numbers n = batch_numbers(b, s);

    return (struct vector){.kind = n.d                                     ? VECTOR_DOUBLE
                                   : n.nano                                ? VECTOR_NS
                                   : scan_shape(b->chunk, s) == SHAPE_TIME ? VECTOR_US
                                                                           : VECTOR_INT,
                           .i = n.i,
                           .d = n.d,
                           .valid = n.valid};
}

static int read_column(struct filler *f, struct scan_batch *b, size_t column, struct vector *ret)
{
    const struct source *s = f->plan->columns[column];
    enum scan_shape shape = scan_shape(b->chunk, s);
    bool few = shape == SHAPE_INT && has_small_span(b, s);

    if ((shape == SHAPE_TEXT || few) && read_codes(b, s, ret))
        return 0;
    if (shape == SHAPE_TEXT || shape == SHAPE_MIXED || shape == SHAPE_BOOL)
        return read_values(f, b, column, ret);
    *ret = read_numbers(b, s);
    return 0;
}

/* Stores the values of a column with codes. Each value is looked up once a batch; its text lives as
 * long as the query. */
static int store_codes(struct filler *f, const struct scan_batch *b, const struct vector *v,
                       uint32_t count, struct value *to)
{
    uint64_t known[CODES_MAX / 64 + 1] = {0};

    for (uint32_t k = 0; k < count; k++, to += f->plan->width) {
        uint32_t code = v->codes[batch_row(b, k)];
        if (code >= v->code_count)
            return ERR_CORRUPT;
        if (!(known[code / 64] >> code % 64 & 1))
            query_key_value(f->plan->query, v->keys[code], &f->code_values[code]);
        known[code / 64] |= 1ull << code % 64;
        *to = f->code_values[code];
    }
    return 0;
}

static int store_values(struct filler *f, const struct scan_batch *b, size_t column, uint32_t count)
{
    const struct vector *v = &f->columns[column];
    struct value *to = f->rows->values + f->rows->item.count * f->plan->width + column;
    int rc = 0;

    if (v->kind == VECTOR_CODE)
        return store_codes(f, b, v, count, to);
    for (uint32_t k = 0; k < count && rc == 0; k++, to += f->plan->width) {
        if (v->kind != VECTOR_VALUE) {
            rc = vector_value(v, batch_row(b, k), to);
            continue;
        }
        *to = v->values[k]; /* its text is borrowed from the chunk */
        rc = value_keep_text(&f->rows->texts, to) < 0 ? f->rows->texts.error : 0;
    }
    return rc;
}

static int write_text(struct filler *f, const struct scan_batch *b, uint32_t count)
{
    struct buf *text = &f->rows->text;
    struct budget *budget = query_budget(f->plan->query);
    size_t used = atomic_load(&budget->memory_used), limit = budget->memory_limit;
    size_t free_bytes = !limit ? SIZE_MAX : limit > used ? limit - used : 0;
    struct row_block rows = {
        .vectors = f->columns,
        .select = b->select,
        .count = count,
        .max_text = free_bytes > SIZE_MAX - text->cap ? SIZE_MAX : text->cap + free_bytes};
    int rc = f->plan->writer->write(f->state, &rows, text, f->rows->end + f->rows->item.count);

    rc = rc == 0 ? text->error : rc;
    return rc < 0 ? rc : charge_up_to(&f->rows->text_charge, text->cap);
}

/* ---- a place --------------------------------------------------------------------------------- */

static int fill_batch(void *arg, struct scan_batch *b)
{
    struct filler *f = arg;
    struct item *item = &f->rows->item;
    uint64_t left = f->plan->max_read - item->count;
    uint32_t count = b->count < left ? b->count : (uint32_t)left;
    int rc = rows_grow(f->plan, f->rows, item->count + b->count);

    for (size_t i = 0; i < f->plan->width && rc == 0; i++) {
        rc = read_column(f, b, i, &f->columns[i]);
        if (rc == 0 && !f->plan->writer)
            rc = store_values(f, b, i, count);
    }
    if (rc == 0 && f->plan->writer)
        rc = write_text(f, b, count);
    if (rc == 0 && f->plan->order.by_key)
        item_add_keys(item, b, &f->plan->order);
    item->count += count;
    return rc == 0 && item->count == f->plan->max_read ? ERR_END : rc;
}

int rows_fill(const struct rows_plan *p, struct scan_worker *w, struct rows_item *r)
{
    const struct rows_writer *writer = p->writer;
    struct filler f = {.plan = p,
                       .rows = r,
                       .charge.budget = query_budget(p->query),
                       .columns = malloc((p->width + 1) * sizeof(*f.columns)),
                       .values = calloc(p->width + 1, sizeof(struct value *)),
                       .code_values = writer ? NULL : malloc(CODES_MAX * sizeof(struct value))};
    int rc = f.columns && f.values && (writer || f.code_values) ? 0 : -ENOMEM;

    if (rc == 0 && writer)
        rc = writer->begin(writer->arg, query_budget(p->query), &f.state);
    if (rc == 0) {
        rc = top_scan(p->order.top, w, r->item.position, fill_batch, &f);
        if (writer)
            writer->done(f.state);
    }
    for (size_t i = 0; f.values && i < p->width; i++)
        free(f.values[i]);
    charge_done(&f.charge);
    free(f.columns);
    free(f.values);
    free(f.code_values);
    return rc;
}
