/* batch.h - rows of a batch: which are selected, which have a value; and batches of chosen rows.
 *
 * Used by:   engine/ and answers.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_BATCH_H
#define DFTRACERD_ENGINE_DERIVED_BATCH_H

#include "engine/query.h"

/* The values of a column that is null in all rows, and of all columns once the worker has an error:
 * zeros, which are also null keys, empty bitmaps and the first code. */
extern const union no_values {
    _Alignas(64) uint64_t keys[SCAN_BATCH]; /* and bitmaps of rows */
    int64_t integers[SCAN_BATCH];
    double doubles[SCAN_BATCH];
    uint32_t codes[SCAN_BATCH];
} no_values;

/* Returns the row of the chunk that a row of the batch is. */
static inline uint32_t batch_place(const struct scan_batch *b, uint32_t row)
{
    return b->places ? b->places[row] : b->first + row;
}

/* Returns a batch of n rows of the chunk, ascending, all of which are selected. Values that were
 * read for other batches are no longer valid. */
struct scan_batch batch_of_places(struct scan_chunk *c, const uint32_t *places, uint32_t n);

/* batch_row returns the j-th selected row. batch_is_valid returns true if a row has a value;
 * `valid` is from batch_i64 or a similar function. */
static inline uint32_t batch_row(const struct scan_batch *b, uint32_t j)
{
    return b->select ? b->select[j] : j;
}
static inline bool batch_is_valid(const uint64_t *valid, uint32_t row)
{
    return !valid || (valid[row / 64] >> (row % 64) & 1);
}

/* Returns true if all selected rows have a value. */
static inline bool batch_all_valid(const struct scan_batch *b, const uint64_t *valid)
{
    uint64_t missing = 0;

    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        missing |= b->mask[i] & ~valid[i];
    return missing == 0;
}

/* Returns the selected rows as a bitmap: b->mask, or `mask` (SCAN_WORDS words), which it sets. */
const uint64_t *batch_mask(const struct scan_batch *b, uint64_t *mask);

/* Writes the numbers of the set bits to `out`, which has SCAN_BATCH elements, or 64 more than bits
 * are set. Returns their number. */
uint32_t mask_to_select(const uint64_t *mask, uint32_t rows, uint16_t *out);

/* Bitmaps of a batch (mask_invert: of `rows` rows): set all; invert; test whether all are set. */
void mask_fill(const struct scan_batch *b, uint64_t *mask);
void mask_invert(uint32_t rows, uint64_t *mask);
bool mask_is_full(const struct scan_batch *b, const uint64_t *mask);

/* If at most one row in BATCH_FEW is needed, reading single rows is faster than decoding all. */
enum { BATCH_FEW = 12 };
/* Returns the rows of the chunk that may be selected, if they are so few that only these should be
 * read; borrowed until the next call. NULL: read all. */
const uint32_t *batch_few(const struct scan_batch *b, uint32_t *ret_count);
/* Sets *ret to the batch that begins at row `first`, with all its rows selected: for binding, which
 * may read the whole chunk. */
void batch_at(struct scan_worker *w, uint32_t first, struct scan_batch *ret);

#endif
