/* batch.h - rows of a batch: which are selected, which have a value, and batches made for other
 * rows.
 *
 * Used by:   engine/ and answers.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_BATCH_H
#define DFTRACERD_ENGINE_DERIVED_BATCH_H

#include "engine/query.h"

/* What a batch has of a column without values, and once its worker has an error: nothing, which
 * is 0, null, and the first code of any column. */
extern const union no_values {
    _Alignas(64) uint64_t keys[SCAN_BATCH]; /* and bitmaps of rows */
    int64_t integers[SCAN_BATCH];
    double doubles[SCAN_BATCH];
    uint32_t codes[SCAN_BATCH];
} no_values;

/* Row of the chunk. */
static inline uint32_t batch_place(const struct scan_batch *b, uint32_t row)
{
    return b->places ? b->places[row] : b->first + row;
}

/* Rows of the chunk, ascending, as a batch of their own, of which no row is left out: for what is
 * asked of them alone. What other batches gave of the same sources is lost. */
struct scan_batch batch_of_places(struct scan_chunk *c, const uint32_t *places, uint32_t n);

/* The j-th selected row; and whether a row has a value, `valid` being what batch_i64 and its like
 * gave. */
static inline uint32_t batch_row(const struct scan_batch *b, uint32_t j)
{
    return b->select ? b->select[j] : j;
}
static inline bool batch_is_valid(const uint64_t *valid, uint32_t row)
{
    return !valid || (valid[row / 64] >> (row % 64) & 1);
}

/* Of the selected rows. */
static inline bool batch_all_valid(const struct scan_batch *b, const uint64_t *valid)
{
    uint64_t missing = 0;

    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        missing |= b->mask[i] & ~valid[i];
    return missing == 0;
}

/* The selected rows as a bitmap: b->mask, or made in `room` of SCAN_WORDS words. */
const uint64_t *batch_mask(const struct scan_batch *b, uint64_t *room);

/* Marks selected row numbers of a bitmap: fills out (SCAN_BATCH long), returns how many. */
uint32_t mask_to_select(const uint64_t *mask, uint32_t rows, uint16_t *out);

/* Bitmaps of a batch: all its rows; the other rows; whether all are in it. */
void mask_fill(const struct scan_batch *b, uint64_t *mask);
void mask_invert(const struct scan_batch *b, uint64_t *mask);
bool mask_is_full(const struct scan_batch *b, const uint64_t *mask);

/* Where one row in this many or fewer is wanted, picking is faster than decoding all. */
enum { BATCH_FEW = 12 };
/* The rows of the chunk that anybody can see where they are so few that only these should be read;
 * borrowed until the next call. NULL: read all. */
const uint32_t *batch_few(const struct scan_batch *b, uint32_t *ret_count);
/* Sets up batch number `first / SCAN_BATCH` without any selection (all rows): for whole-chunk work
 * while binding. */
void batch_at(struct scan_worker *w, uint32_t first, struct scan_batch *ret);

#endif
