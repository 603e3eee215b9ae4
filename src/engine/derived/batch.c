/* batch.c - batches of chosen rows, and bitmaps of the rows of a batch. */
#include "engine/derived/batch.h"

#include "dftracerd/kernel.h"

#include <string.h>

void batch_at(struct scan_worker *w, uint32_t first, struct scan_batch *ret)
{
    uint32_t left = w->chunk.rows - first;

    *ret = (struct scan_batch){.chunk = &w->chunk,
                               .number = first / SCAN_BATCH,
                               .first = first,
                               .rows = left < SCAN_BATCH ? left : SCAN_BATCH};
    ret->count = ret->rows;
}

const uint32_t *batch_few(const struct scan_batch *b, uint32_t *ret_count)
{
    struct scan_worker *w = b->chunk->worker;
    uint16_t rows[SCAN_BATCH / BATCH_FEW + 64];

    if (!w->interest || !b->mask) /* batches for a whole chunk have no mask */
        return NULL;
    *ret_count = b->select ? b->count : kernels()->count(w->interest, (b->rows + 63) / 64);
    if (*ret_count * BATCH_FEW > b->rows)
        return NULL;
    if (!b->select)
        mask_to_select(w->interest, b->rows, rows);
    for (uint32_t j = 0; j < *ret_count; j++)
        w->few[j] = b->first + (b->select ? b->select[j] : rows[j]);
    return w->few;
}

struct scan_batch batch_of_places(struct scan_chunk *c, const uint32_t *places, uint32_t n)
{
    return (struct scan_batch){.chunk = c,
                               .number = BATCH_OF_PLACES | c->worker->gathered.batches++,
                               .places = places,
                               .rows = n,
                               .count = n};
}

const uint64_t *batch_mask(const struct scan_batch *b, uint64_t *mask)
{
    if (b->mask)
        return b->mask;
    memset(mask, 0, SCAN_WORDS * sizeof(*mask));
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        mask[row / 64] |= (uint64_t)1 << row % 64;
    }
    return mask;
}

uint32_t mask_to_select(const uint64_t *mask, uint32_t rows, uint16_t *out)
{
    return kernels()->select(mask, rows, out);
}

void mask_fill(const struct scan_batch *b, uint64_t *mask)
{
    memset(mask, 0xFF, (b->rows + 63) / 64 * 8);
    if (b->rows % 64)
        mask[b->rows / 64] = ((uint64_t)1 << b->rows % 64) - 1;
}

void mask_invert(uint32_t rows, uint64_t *mask)
{
    for (uint32_t i = 0; i < (rows + 63) / 64; i++)
        mask[i] = ~mask[i];
    if (rows % 64)
        mask[rows / 64] &= ((uint64_t)1 << rows % 64) - 1;
}

bool mask_is_full(const struct scan_batch *b, const uint64_t *mask)
{
    uint64_t all = ~(uint64_t)0;

    for (uint32_t i = 0; i < b->rows / 64; i++)
        all &= mask[i];
    return !~all && (b->rows % 64 == 0 || mask[b->rows / 64] == ((uint64_t)1 << b->rows % 64) - 1);
}
