/* lanes.c - the values of a bound source for one batch, kept in its lanes until the next. */
#include "engine/derived/bind.h"

#include <errno.h>
#include <string.h>

const union no_values no_values;

/* A lane with few rows cannot be used for batches of a whole chunk, which have no mask. */
bool lane_has(const struct lane *l, const struct scan_batch *batch)
{
    return l->batch == batch->number && (!l->few || batch->mask);
}

void *lane_begin(struct lane *l, const struct scan_batch *batch)
{
    struct scan_worker *w = batch->chunk->worker;
    void *out = scratch_reserve(&l->memory, (SCAN_BATCH + SCAN_WORDS) * sizeof(uint64_t));

    l->batch = UINT32_MAX;
    l->few = false;
    l->valid = NULL;
    return worker_set_error(w, out ? 0 : -ENOMEM) ? w->spare : out;
}

bool lane_end(struct lane *l, const struct scan_batch *batch, const void *values)
{
    if (batch->chunk->worker->error)
        return false;
    l->values = values;
    l->batch = batch->number;
    return true;
}

void set_null_codes(const struct scan_batch *batch, const uint64_t *valid, uint32_t null,
                    uint32_t *codes)
{
    for (uint32_t at = 0; valid && at < batch->rows; at += 64) {
        uint64_t missing = ~valid[at / 64];
        if (batch->rows - at < 64)
            missing &= ((uint64_t)1 << (batch->rows - at)) - 1;
        for (; missing; missing &= missing - 1)
            codes[at + (uint32_t)__builtin_ctzll(missing)] = null;
    }
}

const uint64_t *lane_valid(const struct scan_batch *batch, uint64_t *mask)
{
    uint32_t words = batch->rows / 64;
    uint64_t last = ((uint64_t)1 << batch->rows % 64) - 1, missing = 0;

    for (uint32_t i = 0; i < words && !missing; i++)
        missing = ~mask[i];
    if (last) {
        mask[words] &= last;
        missing |= mask[words] ^ last;
    }
    return missing ? mask : NULL;
}

/* ---- values of the batch --------------------------------------------------------------------- */

static void valid_of_codes(struct scan_batch *batch, struct binding *b, uint64_t *mask)
{
    const uint32_t *codes = binding_codes(batch, b);

    b->valid.few = b->codes.few;
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++)
        mask[i / 64] |= (uint64_t)(codes[i] != b->entries) << i % 64;
}

const uint64_t *binding_valid(struct scan_batch *batch, struct binding *b)
{
    const uint64_t *valid;

    if (!b->nulls)
        return NULL;
    if (b->same_nulls)
        return binding_valid(batch, b->same_nulls);
    if (!b->kind->valid && !binding_has_dictionary(b)) {
        (void)binding_i64(batch, b, &valid);
        return valid;
    }
    if (!lane_has(&b->valid, batch)) {
        uint64_t *mask = lane_begin(&b->valid, batch);
        if (b->kind->valid)
            b->kind->valid(batch, b, mask);
        else
            valid_of_codes(batch, b, mask);
        if (!lane_end(&b->valid, batch, mask))
            return no_values.keys;
        b->valid.valid = lane_valid(batch, mask);
    }
    return b->valid.valid;
}

const uint32_t *binding_codes(struct scan_batch *batch, struct binding *b)
{
    if (!binding_has_dictionary(b))
        return no_values.codes;
    if (!lane_has(&b->codes, batch)) {
        uint32_t *out = lane_begin(&b->codes, batch);
        bool only = batch->places && b->only_serial == batch->chunk->worker->serial;
        for (uint32_t i = 0; only && i < batch->rows; i++)
            out[i] = b->only_code;
        if (!lane_end(&b->codes, batch, only ? out : b->kind->codes(batch, b, out)))
            return no_values.codes;
    }
    return b->codes.values;
}

const int64_t *binding_i64(struct scan_batch *batch, struct binding *b, const uint64_t **ret_valid)
{
    const uint64_t *ignored, **valid = ret_valid ? ret_valid : &ignored;

    *valid = no_values.keys;
    if (!binding_is_integer(b))
        return no_values.integers;
    if (!lane_has(&b->i64, batch)) {
        int64_t *out = lane_begin(&b->i64, batch);
        if (!lane_end(&b->i64, batch, b->kind->i64(batch, b, out)))
            return no_values.integers;
    }
    *valid = b->i64.valid;
    return b->i64.values;
}

struct column_entry binding_entry(struct scan_worker *w, struct binding *b, uint32_t code)
{
    struct column_entry e;

    if (b->entry)
        return b->entry[code];
    if (w->error || worker_set_error(w, column_entry(w->chunk.view, b->stored, code, &e)))
        e = (struct column_entry){0};
    return e;
}

/* ---- doubles --------------------------------------------------------------------------------- */

static bool entry_number(const struct column_entry *e, double *ret)
{
    if (e->type == TRACE_INT)
        *ret = (double)e->i;
    else if (e->type == TRACE_DOUBLE)
        *ret = e->d;
    else if (e->type == TRACE_BIG)
        return num_parse_double(e->text, ret) == 0;
    else
        return false;
    return true;
}

/* Returns the numbers of a mixed column. The bitmap differs from that of the source, where texts
 * are not null. */
static const double *mixed_numbers(struct scan_batch *batch, struct binding *b, double *out)
{
    const uint32_t *codes = binding_codes(batch, b);
    uint64_t *mask = lane_mask(out);

    for (uint32_t i = 0; i < batch->rows; i++) {
        struct column_entry e = {0};
        out[i] = 0;
        mask[i / 64] = i % 64 ? mask[i / 64] : 0;
        if (codes[i] != b->entries)
            e = binding_entry(batch->chunk->worker, b, codes[i]);
        mask[i / 64] |= (uint64_t)entry_number(&e, &out[i]) << i % 64;
    }
    b->f64.few = b->codes.few;
    b->f64.valid = lane_valid(batch, mask);
    return out;
}

/* Times are converted to us. */
static const double *integers_as_doubles(struct scan_batch *batch, struct binding *b, double *out)
{
    const int64_t *values = binding_i64(batch, b, &b->f64.valid);

    b->f64.few = b->i64.few;
    if (b->shape == SHAPE_TIME && b->nano) {
        for (uint32_t i = 0; i < batch->rows; i++)
            out[i] = (double)values[i] / 1000.0;
    } else {
        for (uint32_t i = 0; i < batch->rows; i++)
            out[i] = (double)values[i];
    }
    return out;
}

const double *binding_f64(struct scan_batch *batch, struct binding *b, const uint64_t **ret_valid)
{
    *ret_valid = no_values.keys;
    if (b->shape == SHAPE_NULL || b->shape == SHAPE_BOOL || b->shape == SHAPE_TEXT)
        return no_values.doubles;
    if (!lane_has(&b->f64, batch)) {
        double *out = lane_begin(&b->f64, batch);
        const double *values = b->shape == SHAPE_DOUBLE  ? b->kind->f64(batch, b, out)
                               : b->shape == SHAPE_MIXED ? mixed_numbers(batch, b, out)
                                                         : integers_as_doubles(batch, b, out);
        if (!lane_end(&b->f64, batch, values))
            return no_values.doubles;
    }
    *ret_valid = b->f64.valid;
    return b->f64.values;
}
