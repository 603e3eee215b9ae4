/* view_top_bar.c - a bar in a chunk: as a range of numbers, or as a set of codes. */
#include "answer/lines/view_top_bar.h"
#include "dftracerd/kernel.h"

#include <float.h>
#include <string.h>

static bool is_null(const struct value *v)
{
    return value_rank(v) == 0;
}

int top_compare(const struct top_order *o, const struct value *a, const struct value *b)
{
    bool no_a = is_null(a), no_b = is_null(b);

    if (no_a || no_b)
        return no_a - no_b;
    int cmp = value_cmp(a, b);
    return o->descending ? -cmp : cmp;
}

/* Rows of equal values are in the order of the files: later places are behind the bar. */
bool top_passes(const struct top_order *o, const struct top_bar *bar, const struct value *v,
                size_t position)
{
    if (!bar->set)
        return true;
    int cmp = top_compare(o, v, &bar->value);
    return cmp < 0 || (cmp == 0 && position <= bar->position);
}

static bool passes(const struct top_filter *f, const struct value *v)
{
    return top_passes(f->order, &f->bar, v, f->chunk->position);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Doubles as integers in the same order: of negative ones all bits but the sign are inverted. */
static int64_t order_of_double(double d)
{
    int64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static double double_of_order(int64_t at)
{
    int64_t bits = at < 0 ? at ^ INT64_MAX : at;
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

static struct value number_of(enum scan_shape shape, bool nano, int64_t at)
{
    if (shape == SHAPE_TIME)
        return (struct value){.type = VALUE_TIME, .wide = nano ? at : (__int128)at * 1000};
    if (shape == SHAPE_DOUBLE)
        return (struct value){.type = VALUE_DOUBLE, .d = double_of_order(at)};
    return (struct value){.type = shape == SHAPE_BOOL ? VALUE_BOOL : VALUE_INT, .i = at};
}

static bool number_passes(const struct top_filter *f, int64_t at)
{
    const struct value v = number_of(f->shape, f->nano, at);

    return passes(f, &v);
}

/* The numbers from f->low to f->high that pass are at one end of them: bisects to the last one. */
static void find_range(struct top_filter *f)
{
    bool down = f->order->descending;
    int64_t in = down ? f->high : f->low, out = down ? f->low : f->high;

    f->others = number_passes(f, in);
    if (!f->others || number_passes(f, out))
        return;
    while (in > out ? (uint64_t)in - (uint64_t)out > 1 : (uint64_t)out - (uint64_t)in > 1) {
        int64_t middle = (int64_t)(((__int128)in + out) / 2);
        if (number_passes(f, middle))
            in = middle;
        else
            out = middle;
    }
    *(down ? &f->low : &f->high) = in;
}

static void bounds_of_chunk(struct top_filter *f)
{
    if (f->shape == SHAPE_DOUBLE) {
        f->low = order_of_double(-DBL_MAX);
        f->high = order_of_double(DBL_MAX);
    } else if (!scan_range(f->chunk, f->order->by, &f->low, &f->high)) {
        f->low = INT64_MIN;
        f->high = INT64_MAX;
    }
}

/* ---- a chunk --------------------------------------------------------------------------------- */

bool top_best_of_chunk(const struct top_order *o, struct scan_chunk *c, struct value *ret)
{
    enum scan_shape shape = scan_shape(c, o->by);
    int64_t min, max;

    *ret = (struct value){.type = VALUE_NULL};
    if (shape == SHAPE_NULL)
        return true;
    if (!scan_range(c, o->by, &min, &max))
        return false;
    *ret = number_of(shape, scan_is_nano(c, o->by), o->descending ? max : min);
    return true;
}

int top_no_rows(struct vec *zeros, struct scan_chunk *c)
{
    size_t words = (c->rows + SCAN_BATCH - 1ul) / SCAN_BATCH * SCAN_WORDS;
    int rc = vec_extend_items(zeros, sizeof(uint64_t), words);

    c->wanted = zeros->at;
    return rc;
}

static void find_codes(struct top_filter *f)
{
    struct value v;

    f->others = false;
    memset(f->passes, 0, sizeof(f->passes));
    for (uint32_t i = 0; i < f->code_count; i++) {
        query_key_value(f->order->query, f->keys[i], &v);
        bool in = passes(f, &v);
        f->passes[i / 32] |= (uint32_t)in << i % 32;
        f->others |= in;
    }
}

void top_filter_bar(struct top_filter *f, const struct top_bar *bar)
{
    const struct value none = {.type = VALUE_NULL};

    f->bar = *bar;
    f->nulls = passes(f, &none);
    f->others = f->shape != SHAPE_NULL;
    if (f->coded)
        find_codes(f);
    else if (f->shape != SHAPE_NULL && f->shape != SHAPE_TEXT && f->shape != SHAPE_MIXED)
        find_range(f);
}

void top_filter_chunk(struct top_filter *f, struct scan_chunk *c)
{
    f->chunk = c;
    f->shape = scan_shape(c, f->order->by);
    f->nano = scan_is_nano(c, f->order->by);
    f->coded = (f->shape == SHAPE_TEXT || f->shape == SHAPE_MIXED) &&
               scan_codes(c, f->order->by, TOP_CODES, &f->code_count, &f->keys);
    if (!f->coded && f->shape != SHAPE_NULL)
        bounds_of_chunk(f);
    top_filter_bar(f, &f->bar);
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* All rows of the batch that pass, selected or not; `valid`: those that have a value, NULL: all. */
static const uint64_t *mask_integers(struct top_filter *f, struct scan_batch *b, uint64_t *mask)
{
    const uint64_t *valid;
    const int64_t *v = batch_i64(b, f->order->by, &valid, NULL);

    if (f->others)
        kernels()->range_i64(v, b->rows, f->low, f->high, mask);
    return valid;
}

/* What is not finite is null in answers. */
static const uint64_t *mask_doubles(struct top_filter *f, struct scan_batch *b, uint64_t *mask)
{
    const uint64_t *valid;
    const double *v = batch_f64(b, f->order->by, &valid);

    if (f->others)
        kernels()->range_f64(v, b->rows, double_of_order(f->low), double_of_order(f->high), mask);
    kernels()->range_f64(v, b->rows, -DBL_MAX, DBL_MAX, f->valid);
    for (uint32_t i = 0; valid && i < SCAN_WORDS; i++)
        f->valid[i] &= valid[i];
    return f->valid;
}

static const uint64_t *mask_values(struct top_filter *f, struct scan_batch *b, uint64_t *mask)
{
    if (f->coded) {
        kernels()->table_u32(batch_codes(b, f->order->by), b->rows, f->passes, f->code_count, mask);
        return NULL;
    }
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        const struct value v = batch_value(b, f->order->by, row);
        mask[row / 64] |= (uint64_t)passes(f, &v) << row % 64;
    }
    return NULL;
}

static const uint64_t *mask_rows(struct top_filter *f, struct scan_batch *b, uint64_t *mask)
{
    switch (f->shape) {
    case SHAPE_NULL:
        return no_values.keys;
    case SHAPE_INT:
    case SHAPE_TIME:
    case SHAPE_BOOL:
        return mask_integers(f, b, mask);
    case SHAPE_DOUBLE:
        return mask_doubles(f, b, mask);
    case SHAPE_TEXT:
    case SHAPE_MIXED:
        break;
    }
    return mask_values(f, b, mask);
}

uint32_t top_filter_batch(struct top_filter *f, struct scan_batch *b, uint32_t first, uint16_t *ret)
{
    uint64_t mask[SCAN_WORDS] = {0};

    if (top_filter_is_empty(f))
        return 0;
    const uint64_t *valid = mask_rows(f, b, mask);
    for (uint32_t i = 0; i < SCAN_WORDS; i++) {
        uint64_t null = valid ? ~valid[i] : 0;
        mask[i] = b->mask[i] & ((mask[i] & ~null) | (f->nulls ? null : 0));
        mask[i] &= first <= i * 64       ? UINT64_MAX
                   : first < i * 64 + 64 ? UINT64_MAX << first % 64
                                         : 0;
    }
    return mask_to_select(mask, b->rows, ret);
}
