/* top_boundary.c - the boundary in a chunk as a range of numbers or a set of codes. */
#include "engine/cursor/top_boundary.h"
#include "dftracerd/kernel.h"
#include "engine/derived/derived.h"

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

/* Rows with equal values are in file order, so later ones do not pass. */
bool top_passes(const struct top_order *o, const struct top_boundary *boundary,
                const struct value *v, size_t position)
{
    if (!boundary->set)
        return true;
    int cmp = top_compare(o, v, &boundary->value);
    return cmp < 0 || (cmp == 0 && position < boundary->position);
}

static bool passes(const struct top_filter *f, const struct value *v)
{
    return top_passes(f->order, &f->boundary, v, f->chunk->position);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Maps doubles to integers in the same order: all bits but the sign of negative ones are
 * inverted. */
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

static bool is_number(enum scan_shape shape)
{
    return shape == SHAPE_INT || shape == SHAPE_TIME || shape == SHAPE_BOOL ||
           shape == SHAPE_DOUBLE;
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

/* Whether no number lies between them. */
static bool is_next(int64_t a, int64_t b)
{
    return (a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a) <= 1;
}

static int64_t middle_of(int64_t a, int64_t b)
{
    return (int64_t)(((__int128)a + b) / 2);
}

/* The numbers from f->low to f->high that pass are at one end of the range. Finds the last one by
 * bisection. */
static void find_range(struct top_filter *f)
{
    bool down = f->order->descending;
    int64_t in = down ? f->high : f->low, out = down ? f->low : f->high;

    f->others = number_passes(f, in);
    if (!f->others || number_passes(f, out))
        return;
    while (!is_next(in, out)) {
        int64_t middle = middle_of(in, out);
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

int top_no_rows(struct scratch *memory, struct scan_chunk *c)
{
    size_t words = (c->rows + SCAN_BATCH - 1ul) / SCAN_BATCH * SCAN_WORDS;

    uint64_t *mask = scratch_reserve(memory, words * sizeof(*mask));

    if (mask)
        memset(mask, 0, words * sizeof(*mask));
    c->wanted = mask;
    return mask ? 0 : -ENOMEM;
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

void top_filter_set_boundary(struct top_filter *f, const struct top_boundary *boundary)
{
    const struct value none = {.type = VALUE_NULL};

    f->boundary = *boundary;
    f->nulls = passes(f, &none);
    f->others = f->shape != SHAPE_NULL;
    if (f->coded)
        find_codes(f);
    else if (is_number(f->shape))
        find_range(f);
}

void top_filter_chunk(struct top_filter *f, struct scan_chunk *c)
{
    f->chunk = c;
    f->shape = scan_shape(c, f->order->by);
    f->nano = scan_is_nano(c, f->order->by);
    f->coded = (f->shape == SHAPE_TEXT || f->shape == SHAPE_MIXED) &&
               scan_codes(c, f->order->by, TOP_CODES, &f->code_count, &f->keys);
    if (is_number(f->shape))
        bounds_of_chunk(f);
    top_filter_set_boundary(f, &f->boundary);
}

/* Rows of a stored column are selected before any is decoded. scan_chunk.wanted also contains the
 * result of time_range, so there must be none. */
int top_filter_plan(struct top_filter *f, struct scratch *memory)
{
    const struct binding *b = source_bind(f->chunk->worker, f->order->by);
    bool integers = f->shape == SHAPE_INT || f->shape == SHAPE_TIME || f->shape == SHAPE_BOOL;
    bool timeless = f->order->query->root == f->order->query->timeless;

    if (top_filter_is_empty(f))
        return top_no_rows(memory, f->chunk);
    if (!f->boundary.set || f->nulls || !integers || !b->stored || !timeless)
        return 0;
    int rc = top_no_rows(memory, f->chunk);
    if (rc < 0)
        return rc;
    return column_select_i64(f->chunk->view, b->stored, f->low, f->high, memory->data);
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* The numbers of a batch. */
struct numbers {
    const int64_t *i;
    const double *d; /* SHAPE_DOUBLE */
    uint64_t valid[SCAN_WORDS];
};

/* Sets the bits of numbers from low to high; bits of rows without a number are undefined. */
static void mask_range(const struct numbers *v, uint32_t rows, int64_t low, int64_t high,
                       uint64_t *mask)
{
    if (v->d)
        kernels()->range_f64(v->d, rows, double_of_order(low), double_of_order(high), mask);
    else
        kernels()->range_i64(v->i, rows, low, high, mask);
}

static uint32_t count_range(const struct numbers *v, uint32_t rows, int64_t low, int64_t high)
{
    uint64_t mask[SCAN_WORDS] = {0};

    mask_range(v, rows, low, high, mask);
    for (uint32_t i = 0; i < SCAN_WORDS; i++)
        mask[i] &= v->valid[i];
    return kernels()->count(mask, SCAN_WORDS);
}

/* If more than twice the wanted rows of the batch pass, a narrower range contains enough of
 * them. It applies to the rest of the chunk. */
static void narrow_range(struct top_filter *f, const struct numbers *v, uint32_t rows)
{
    bool down = f->order->descending;
    int64_t *end = down ? &f->low : &f->high, best = down ? f->high : f->low, few = best;
    uint64_t n = f->limit < SCAN_BATCH / 2 ? count_range(v, rows, f->low, f->high) : 0;

    while (n > 2 * f->limit && !is_next(*end, few)) {
        int64_t middle = middle_of(*end, few);
        uint32_t count =
            down ? count_range(v, rows, middle, best) : count_range(v, rows, best, middle);
        if (count < f->limit) {
            few = middle;
            continue;
        }
        *end = middle;
        n = count;
    }
}

/* Sets the bits of all rows that pass, selected or not. Doubles that are not finite are null in
 * answers. */
static void mask_numbers(struct top_filter *f, struct scan_batch *b, uint64_t *mask)
{
    struct numbers v = {.i = NULL};
    const uint64_t *valid;

    if (f->shape == SHAPE_DOUBLE)
        v.d = batch_f64(b, f->order->by, &valid);
    else
        v.i = batch_i64(b, f->order->by, &valid, NULL);
    if (v.d)
        kernels()->range_f64(v.d, b->rows, -DBL_MAX, DBL_MAX, v.valid);
    else
        memset(v.valid, 0xFF, sizeof(v.valid));
    for (uint32_t i = 0; i < SCAN_WORDS; i++)
        v.valid[i] &= b->mask[i] & (valid ? valid[i] : UINT64_MAX);
    if (f->others) {
        narrow_range(f, &v, b->rows);
        mask_range(&v, b->rows, f->low, f->high, mask);
    }
    for (uint32_t i = 0; i < SCAN_WORDS; i++)
        mask[i] = (mask[i] & v.valid[i]) | (f->nulls ? ~v.valid[i] : 0);
}

static void mask_values(struct top_filter *f, struct scan_batch *b, uint64_t *mask)
{
    if (f->coded) {
        kernels()->table_u32(batch_codes(b, f->order->by), b->rows, f->passes, f->code_count, mask);
        return;
    }
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        const struct value v = batch_value(b, f->order->by, row);
        mask[row / 64] |= (uint64_t)passes(f, &v) << row % 64;
    }
}

uint32_t top_filter_batch(struct top_filter *f, struct scan_batch *b, uint16_t *ret)
{
    uint64_t mask[SCAN_WORDS] = {0};

    if (top_filter_is_empty(f))
        return 0;
    if (f->shape == SHAPE_NULL)
        memset(mask, 0xFF, sizeof(mask));
    else if (is_number(f->shape))
        mask_numbers(f, b, mask);
    else
        mask_values(f, b, mask);
    for (uint32_t i = 0; i < SCAN_WORDS; i++)
        mask[i] &= b->mask[i];
    return mask_to_select(mask, b->rows, ret);
}
