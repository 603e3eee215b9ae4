/* modes.c - tests of the rows of a batch, and, if the column is stored, of the whole chunk without
 * decoding it. */
#include "engine/filter/modes.h"

#include "dftracerd/kernel.h"
#include "engine/derived/batch.h"

#include <string.h>

static void or_rows(uint64_t *restrict rows, const uint64_t *restrict one, uint32_t words)
{
    for (uint32_t k = 0; k < words; k++)
        rows[k] |= one[k];
}

/* Null rows never pass. valid: rows with a value; NULL: no row is null. */
static void end_mask(const struct scan_batch *b, const struct test_state *s, const uint64_t *valid,
                     uint64_t *mask)
{
    if (s->inverted)
        mask_invert(b->rows, mask);
    for (uint32_t k = 0; valid && k < mask_words(b->rows); k++)
        mask[k] &= valid[k];
}

/* ---- rows with a value ----------------------------------------------------------------------- */

static void eval_valid(struct scan_batch *b, const struct test_state *s, struct binding *bound,
                       uint64_t *mask)
{
    const uint64_t *valid = binding_valid(b, bound);

    mask_fill(b, mask);
    for (uint32_t k = 0; valid && k < mask_words(b->rows); k++)
        mask[k] &= valid[k];
    if (s->inverted)
        mask_invert(b->rows, mask);
}

static int select_valid(struct chunk_view *view, const struct column *c, const struct test_state *s,
                        uint64_t *rows)
{
    int rc = column_read_valid(view, c, 0, c->rows, rows);

    if (rc == 0 && s->inverted)
        mask_invert(c->rows, rows);
    return rc;
}

const struct test_mode mode_valid = {eval_valid, select_valid};

/* ---- integers -------------------------------------------------------------------------------- */

static bool has_value(const struct range *set, size_t count, int64_t value)
{
    size_t from = 0;

    while (count > 1) {
        size_t half = count / 2;
        from += set[from + half].lo <= value ? half : 0;
        count -= half;
    }
    return set[from].lo == value;
}

/* More than RANGES_FEW ranges are single values (lo == hi). */
static void eval_i64(struct scan_batch *b, const struct test_state *s, struct binding *bound,
                     uint64_t *mask)
{
    const uint64_t *valid;
    const int64_t *values = binding_i64(b, bound, &valid);
    const struct range *r = s->ranges.data;
    uint64_t one[SCAN_WORDS];

    if (s->count <= RANGES_FEW)
        kernels()->range_i64(values, b->rows, r->lo, r->hi, mask);
    else
        memset(mask, 0, mask_words(b->rows) * 8);
    for (size_t i = 1; i < s->count && s->count <= RANGES_FEW; i++) {
        kernels()->range_i64(values, b->rows, r[i].lo, r[i].hi, one);
        or_rows(mask, one, mask_words(b->rows));
    }
    for (uint32_t i = 0; i < b->rows && s->count > RANGES_FEW; i++)
        mask[i / 64] |= (uint64_t)has_value(r, s->count, values[i]) << i % 64;
    end_mask(b, s, valid, mask);
}

/* Null rows never pass. */
static int invert_rows(struct chunk_view *view, const struct column *c, uint64_t *rows)
{
    uint64_t valid[SCAN_WORDS];
    int rc = 0;

    for (uint32_t first = 0; rc == 0 && first < c->rows; first += SCAN_BATCH) {
        uint32_t n = c->rows - first < SCAN_BATCH ? c->rows - first : SCAN_BATCH;
        rc = column_read_valid(view, c, first, n, valid);
        for (uint32_t k = 0; rc == 0 && k < mask_words(n); k++)
            rows[first / 64 + k] = ~rows[first / 64 + k] & valid[k];
    }
    return rc;
}

static int select_i64(struct chunk_view *view, const struct column *c, const struct test_state *s,
                      uint64_t *rows)
{
    const struct range *r = s->ranges.data;
    uint32_t words = mask_words(c->rows);
    int rc = column_select_i64(view, c, r->lo, r->hi, rows);

    for (size_t i = 1; rc == 0 && i < s->count; i++) {
        rc = column_select_i64(view, c, r[i].lo, r[i].hi, rows + words);
        or_rows(rows, rows + words, words);
    }
    return rc == 0 && s->inverted ? invert_rows(view, c, rows) : rc;
}

const struct test_mode mode_i64 = {eval_i64, select_i64};

/* ---- doubles --------------------------------------------------------------------------------- */

static void eval_f64(struct scan_batch *b, const struct test_state *s, struct binding *bound,
                     uint64_t *mask)
{
    const uint64_t *valid;
    const double *values = binding_f64(b, bound, &valid);
    const struct range_f64 *r = s->ranges.data;
    uint64_t one[SCAN_WORDS];

    kernels()->range_f64(values, b->rows, r->lo, r->hi, mask);
    for (size_t i = 1; i < s->count; i++) {
        kernels()->range_f64(values, b->rows, r[i].lo, r[i].hi, one);
        or_rows(mask, one, mask_words(b->rows));
    }
    end_mask(b, s, valid, mask);
}

const struct test_mode mode_f64 = {.eval = eval_f64};

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* The table already contains inversion. Code `entries` is null, and its bit is clear. */
static void eval_codes(struct scan_batch *b, const struct test_state *s, struct binding *bound,
                       uint64_t *mask)
{
    const uint32_t *codes = binding_codes(b, bound);

    if (s->only_code != UINT32_MAX)
        kernels()->equal_u32(codes, b->rows, s->only_code, mask);
    else
        kernels()->table_u32(codes, b->rows, s->table.data, bound->entries + 1, mask);
}

static int select_codes(struct chunk_view *view, const struct column *c, const struct test_state *s,
                        uint64_t *rows)
{
    return column_select_codes(view, c, s->table.data, rows);
}

const struct test_mode mode_codes = {eval_codes, select_codes};

/* ---- columns --------------------------------------------------------------------------------- */

const struct column *mode_column(const struct test_state *s, const struct binding *b)
{
    if (s->mode == &mode_valid)
        return b->same_nulls ? b->same_nulls->stored : b->stored;
    return s->mode->select && s->count <= RANGES_FEW ? b->stored : NULL;
}
