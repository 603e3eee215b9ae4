/* rows_values.c - flat rows as values, row by row. */
#include "answer/lines/rows.h"

#include <errno.h>
#include <stdlib.h>

enum { CODES_MAX = 4096 }; /* texts of larger dictionaries are copied, not kept in the query */

struct filler {
    const struct rows_plan *plan;
    struct block *block;
    struct value *code_values; /* of the current column */
};

static void fill_integers(struct filler *f, struct scan_batch *b, const struct source *s,
                          enum scan_shape shape, struct value *to)
{
    enum value_type type = shape == SHAPE_TIME   ? VALUE_TIME
                           : shape == SHAPE_BOOL ? VALUE_BOOL
                                                 : VALUE_INT;
    const uint64_t *valid;
    bool nano;
    const int64_t *v = batch_i64(b, s, &valid, &nano);

    for (uint32_t j = 0; j < b->count; j++, to += f->plan->width) {
        uint32_t row = batch_row(b, j);
        to->type = batch_is_valid(valid, row) ? type : VALUE_NULL;
        to->i = v[row];
        if (type == VALUE_TIME)
            to->wide = nano ? v[row] : (__int128)v[row] * 1000;
    }
}

static void fill_doubles(struct filler *f, struct scan_batch *b, const struct source *s,
                         struct value *to)
{
    const uint64_t *valid;
    const double *v = batch_f64(b, s, &valid);

    for (uint32_t j = 0; j < b->count; j++, to += f->plan->width) {
        uint32_t row = batch_row(b, j);
        to->type = batch_is_valid(valid, row) ? VALUE_DOUBLE : VALUE_NULL;
        to->d = v[row];
    }
}

/* Fills a column with few distinct values: each is looked up once per batch, and its text lives as
 * long as the query. */
static int fill_codes(struct filler *f, struct scan_batch *b, const struct source *s,
                      uint32_t codes, const uint64_t *keys, struct value *to)
{
    struct query *q = f->plan->query;
    uint64_t known[CODES_MAX / 64 + 1] = {0};
    const uint32_t *code = batch_codes(b, s);

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
    v->text.ptr = arena_strdup(&f->block->texts, v->text);
    return f->block->texts.error;
}

static int fill_values(struct filler *f, struct scan_batch *b, const struct source *s,
                       struct value *to)
{
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++, to += f->plan->width) {
        *to = batch_value(b, s, batch_row(b, j));
        if (to->type == VALUE_TEXT || to->type == VALUE_JSON)
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
    if (shape == SHAPE_TEXT && scan_codes(b->chunk, s, CODES_MAX, &codes, &keys))
        return fill_codes(f, b, s, codes, keys, to);
    if (shape == SHAPE_TEXT || shape == SHAPE_MIXED)
        return fill_values(f, b, s, to);
    if (shape == SHAPE_DOUBLE)
        fill_doubles(f, b, s, to);
    else
        fill_integers(f, b, s, shape, to);
    return 0;
}

static int fill_batch(void *arg, struct scan_batch *b)
{
    struct filler *f = arg;
    struct item *item = &f->block->item;
    int rc = rows_grow(f->plan, item, item->count + b->count, (void **)&f->block->values,
                       f->plan->width * sizeof(struct value));

    for (size_t i = 0; i < f->plan->width && rc == 0; i++)
        rc = fill_column(f, b, f->plan->columns[i],
                         f->block->values + item->count * f->plan->width + i);
    if (rc == 0 && f->plan->order.by_key)
        item_add_keys(item, b, &f->plan->order);
    item->count += b->count;
    return rc;
}

int rows_fill_values(const struct rows_plan *p, struct scan_worker *w, size_t position,
                     struct block *b)
{
    struct filler f = {
        .plan = p, .block = b, .code_values = malloc(CODES_MAX * sizeof(struct value))};
    int rc = f.code_values ? top_scan(p->order.top, w, position, fill_batch, &f) : -ENOMEM;

    free(f.code_values);
    return rc;
}
