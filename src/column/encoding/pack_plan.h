/* pack_plan.h - what the parts of the encoder share: pack_encode.c (streams), pack_block.c,
 * pack_distinct.c. */
#ifndef DFTRACERD_COLUMN_ENCODING_PACK_PLAN_H
#define DFTRACERD_COLUMN_ENCODING_PACK_PLAN_H

#include "column/encoding/pack.h"

/* ---- pack_block.c ---------------------------------------------------------------------------- */

/* How a block is kept; `bytes` is about what it takes. */
struct pack_plan {
    uint8_t kind, width, patch_width;
    uint16_t extra; /* of the entry: runs, or patches once written */
    uint32_t bytes;
    uint64_t base;
};
/* n <= PACK_BLOCK values, whose range is known. */
void pack_plan_block(const int64_t *v, size_t n, const struct pack_range *r,
                     struct pack_plan *plan);
/* Appends the payload; all of *ret but the offset. */
void pack_put_block(struct buf *out, const int64_t *v, size_t n, struct pack_plan *plan,
                    struct pack_entry *ret);

/* ---- pack_distinct.c ------------------------------------------------------------------------- */

/* Distinct values of a column, if they are few. */
struct pack_distinct;
struct pack_distinct *pack_distinct_new(void); /* NULL without memory */
void pack_distinct_free(struct pack_distinct *d);
size_t pack_distinct_bytes(const struct pack_distinct *d);
/* How many distinct values there are, and codes[i] by first appearance; 0 = more than `most` (up to
 * PACK_DICT_MAX), or too many among the first. */
uint32_t pack_distinct_find(struct pack_distinct *d, const int64_t *v, size_t n, uint32_t most,
                            int64_t *codes);
/* After find: the values, ascending, and the codes become their places. Borrowed until the next
 * find. */
const int64_t *pack_distinct_sort(struct pack_distinct *d, size_t n, int64_t *codes);

#endif
