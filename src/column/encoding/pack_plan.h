/* pack_plan.h - private to the encoder: functions that pack_encode.c (streams), pack_block.c and
 * pack_distinct.c share. */
#ifndef DFTRACERD_COLUMN_ENCODING_PACK_PLAN_H
#define DFTRACERD_COLUMN_ENCODING_PACK_PLAN_H

#include "column/encoding/pack.h"

/* ---- pack_block.c ---------------------------------------------------------------------------- */

/* The encoding of a block; `bytes`: its approximate size. */
struct pack_plan {
    uint8_t kind, width, patch_width;
    uint16_t extra; /* number of runs, or of patches once they are written */
    uint32_t bytes;
    uint64_t base;
};
/* Plans the encoding of n <= PACK_BLOCK values, whose range is known. */
void pack_plan_block(const int64_t *v, size_t n, const struct pack_range *r,
                     struct pack_plan *plan);
/* Appends the payload, and sets *ret except for the offset. */
void pack_put_block(struct buf *out, const int64_t *v, size_t n, struct pack_plan *plan,
                    struct pack_entry *ret);

/* ---- pack_distinct.c ------------------------------------------------------------------------- */

/* Distinct values of a column, if they are few. */
struct pack_distinct;
struct pack_distinct *pack_distinct_new(void); /* NULL without memory */
void pack_distinct_free(struct pack_distinct *d);
/* Returns the number of distinct values, and sets codes[i], in the order of first occurrence.
 * Returns 0 for more than `max` (up to PACK_DICT_MAX), or too many among the first values. */
uint32_t pack_distinct_find(struct pack_distinct *d, const int64_t *v, size_t n, uint32_t max,
                            int64_t *codes);
/* After find: returns the values in ascending order, and changes the codes to positions among them.
 * Borrowed until the next find. */
const int64_t *pack_distinct_sort(struct pack_distinct *d, size_t n, int64_t *codes);

#endif
