/* dur.c - the column dur: the stored one; 0 for X events without dur. */
#include "dftracerd/kernel.h"
#include "engine/derived/bind.h"

#include <errno.h>
#include <string.h>

enum { DUR, PH, BAD }; /* parts; BAD: the dur of the line is too large to be stored */
enum {
    X_ROWS,
    X_CODES
}; /* in binding.own: an enum x_rows; a bit for each code of ph that means X */
enum x_rows { X_SOME, X_ALL, X_NONE };

/* ---- rows without dur ------------------------------------------------------------------------ */

/* Marks the rows whose dur is 0 if it is missing: X events, except for those whose dur was too
 * large to be stored (because a clock was set back). */
static void mark_x(struct scan_batch *batch, struct binding *b, uint64_t *mask)
{
    struct binding *ph = b->part[PH], *bad = b->part[BAD];
    uint64_t is_bad[SCAN_WORDS];

    if (*(const enum x_rows *)b->own[X_ROWS].data == X_ALL)
        memset(mask, 0xFF, SCAN_WORDS * 8);
    else if (ph->shape == SHAPE_INT) /* a null row is 0 */
        kernels()->range_i64(binding_i64(batch, ph, NULL), batch->rows, 1, 1, mask);
    else
        kernels()->table_u32(binding_codes(batch, ph), batch->rows, b->own[X_CODES].data,
                             ph->entries + 1, mask);
    if (bad->shape != SHAPE_BOOL)
        return;
    kernels()->range_i64(binding_i64(batch, bad, NULL), batch->rows, 1, 1, is_bad);
    for (uint32_t i = 0; i < (batch->rows + 63) / 64; i++)
        mask[i] &= ~is_bad[i];
}

/* Returns true if a row that may be selected is not in `valid`, so that its ph is needed. */
static bool lacks_dur(const struct scan_batch *batch, const uint64_t *valid)
{
    const uint64_t *interest = batch->chunk->worker->interest;
    const uint32_t last = (batch->rows - 1) / 64;
    uint64_t missing = ~valid[last] & (interest ? interest[last] : UINT64_MAX);

    missing &= UINT64_MAX >> (63 - (batch->rows - 1) % 64);
    for (uint32_t i = 0; i < last; i++)
        missing |= ~valid[i] & (interest ? interest[i] : UINT64_MAX);
    return missing != 0;
}

static void dur_zeros(struct scan_batch *batch, struct binding *b, uint64_t *mask)
{
    struct binding *dur = b->part[DUR];
    uint64_t valid[SCAN_WORDS], x[SCAN_WORDS];

    memset(valid, 0xFF, sizeof(valid));
    if (dur->nulls)
        stored_valid(batch, dur->stored, valid);
    if (!lacks_dur(batch, valid))
        return;
    mark_x(batch, b, x);
    for (uint32_t i = 0; i < (batch->rows + 63) / 64; i++)
        mask[i] |= x[i] & ~valid[i];
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The stored column is read into the lane of dur directly: its own lane is rarely needed. */
static const int64_t *dur_i64(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    const struct column *stored = b->stored_except_zeros;
    uint64_t *mask = lane_mask(out), x[SCAN_WORDS];

    memset(mask, stored ? 0xFF : 0, SCAN_WORDS * 8);
    if (stored)
        (void)stored_integers(batch, stored, out);
    else
        memset(out, 0, batch->rows * sizeof(*out));
    if (stored && stored->nulls > 0)
        stored_valid(batch, stored, mask);
    b->i64.few = batch->mask && batch->chunk->worker->interest;
    if (lacks_dur(batch, mask)) {
        mark_x(batch, b, x);
        for (uint32_t i = 0; i < (batch->rows + 63) / 64; i++)
            mask[i] |= x[i];
    }
    b->i64.valid = lane_valid(batch, mask);
    return out;
}

/* ---- binding --------------------------------------------------------------------------------- */

/* Finds the entries of ph that mean an X event. */
static int find_x(struct scan_worker *w, struct binding *b, struct binding *ph, enum x_rows *ret)
{
    uint32_t hits = 0, words = ph->entries / 32 + 1,
             *table = scratch_reserve(&b->own[X_CODES], words * sizeof(*table));

    if (!table)
        return -ENOMEM;
    memset(table, 0, words * sizeof(*table));
    for (uint32_t i = 0; i < ph->entries; i++) {
        struct column_entry e = binding_entry(w, ph, i);
        bool x = (e.type == TRACE_TEXT && text_eq(e.text, TEXT("X"))) ||
                 (e.type == TRACE_INT && e.i == 1);
        table[i / 32] |= (uint32_t)x << i % 32;
        hits += x;
    }
    *ret = hits == 0 ? X_NONE : hits == ph->entries && !ph->nulls ? X_ALL : X_SOME;
    return 0;
}

static int bind_dur(struct scan_worker *w, struct binding *b)
{
    struct binding *dur = bind_part(w, b, DUR);
    enum x_rows *x = scratch_reserve(&b->own[X_ROWS], sizeof(*x));
    int rc = x ? 0 : -ENOMEM;

    if (dur->shape != SHAPE_NULL && !dur->nulls)
        return bind_stored(w, b, dur->stored);
    struct binding *ph = bind_part(w, b, PH), *bad = bind_part(w, b, BAD);
    if (rc == 0)
        *x = X_NONE;
    if (rc == 0 && binding_has_dictionary(ph))
        rc = find_x(w, b, ph, x);
    else if (rc == 0 && ph->shape == SHAPE_INT && ph->min <= 1 && ph->max >= 1)
        *x = ph->min == 1 && ph->max == 1 && !ph->nulls ? X_ALL : X_SOME;
    if (rc < 0)
        return rc;
    bool stored = dur->shape == SHAPE_TIME;
    if (*x == X_NONE)
        return stored ? bind_stored(w, b, dur->stored) : 0;
    b->nulls = *x != X_ALL || bad->shape != SHAPE_NULL;
    b->nano = stored && dur->nano;
    b->stored_except_zeros = stored ? dur->stored : NULL;
    return bind_integers(b, &derived_dur, SHAPE_TIME, stored && dur->min < 0 ? dur->min : 0,
                         stored && dur->max > 0 ? dur->max : 0);
}

const struct column_kind derived_dur = {
    .parts = {"=dur", "ph", "@bad_dur"}, .bind = bind_dur, .i64 = dur_i64, .zeros = dur_zeros};
