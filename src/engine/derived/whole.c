/* whole.c - columns whose codes and entries, or integers, are computed for the whole chunk. */
#include "engine/derived/bind.h"

#include <errno.h>
#include <string.h>

enum { CODES, ENTRIES }; /* in binding.own */
enum { VALUES, VALID };
enum { ROWS_MORE = 64 }; /* padding: kernels read 64 values at a time */

/* ---- codes ----------------------------------------------------------------------------------- */

uint32_t *coded_alloc(struct scan_worker *w, struct binding *b)
{
    return scratch_reserve(&b->own[CODES], (w->chunk.rows + ROWS_MORE) * sizeof(uint32_t));
}

static const uint32_t *coded_codes(struct scan_batch *batch, struct binding *b, uint32_t *out)
{
    const uint32_t *codes = b->own[CODES].data;

    if (!batch->places)
        return codes + batch->first;
    for (uint32_t i = 0; i < batch->rows; i++)
        out[i] = codes[batch->places[i]];
    return out;
}

int bind_coded(struct scan_worker *w, struct binding *b, const struct column_entry *entry,
               size_t entries)
{
    static const struct column_kind derived_coded = {.codes = coded_codes};
    struct column_entry *own = scratch_reserve(&b->own[ENTRIES], (entries + 1) * sizeof(*own));
    uint32_t *codes = b->own[CODES].data, rows = w->chunk.rows, nulls = 0;

    if (!own)
        return -ENOMEM;
    if (entries)
        memcpy(own, entry, entries * sizeof(*own));
    for (uint32_t row = 0; row < rows; row++) {
        nulls += codes[row] == CODED_NULL;
        codes[row] = codes[row] == CODED_NULL ? (uint32_t)entries : codes[row];
    }
    memset(codes + rows, 0, ROWS_MORE * sizeof(*codes));
    (void)bind_dictionary(b, &derived_coded, shape_of_entries(own, (uint32_t)entries), own,
                          (uint32_t)entries);
    b->nulls = nulls > 0;
    return 0;
}

/* ---- integers -------------------------------------------------------------------------------- */

int64_t *whole_alloc(struct scan_worker *w, struct binding *b, uint64_t **ret_valid)
{
    size_t rows = w->chunk.rows, words = (rows + 63) / 64;
    int64_t *values = scratch_reserve(&b->own[VALUES], (rows + ROWS_MORE) * sizeof(*values));

    *ret_valid = scratch_reserve(&b->own[VALID], words * sizeof(**ret_valid));
    if (!values || !*ret_valid)
        return NULL;
    memset(values + rows, 0, ROWS_MORE * sizeof(*values));
    return values;
}

static const int64_t *whole_i64(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    const int64_t *values = b->own[VALUES].data;
    const uint64_t *valid = b->own[VALID].data;
    uint64_t *mask = lane_mask(out);

    if (!batch->places) {
        memcpy(mask, valid + batch->first / 64, (batch->rows + 63) / 64 * 8);
        b->i64.valid = lane_valid(batch, mask);
        return values + batch->first;
    }
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t place = batch->places[i];
        out[i] = values[place];
        mask[i / 64] |= (uint64_t)batch_is_valid(valid, place) << i % 64;
    }
    b->i64.valid = lane_valid(batch, mask);
    return out;
}

int bind_whole(struct binding *b, int64_t min, int64_t max)
{
    static const struct column_kind derived_whole = {.i64 = whole_i64};

    return bind_integers(b, &derived_whole, SHAPE_INT, min, max);
}
