/* pack_block.h - blocks of a stream, which pack_select.c, pack_pick.c and pack_copy.c read without
 * decoding all their values. */
#ifndef DFTRACERD_COLUMN_ENCODING_PACK_BLOCK_H
#define DFTRACERD_COLUMN_ENCODING_PACK_BLOCK_H

#include "column/encoding/pack.h"

/* The parts of a block of n values, all within the payload. A value of FOR is base plus its
 * `width` bits; patches have the bits from `width` on of some values. There are `extra`
 * positions, ascending, and as many patches. */
struct pack_block {
    uint32_t n;                        /* PACK_BLOCK, or fewer in the last block */
    unsigned kind, width, patch_width; /* enum pack_block_kind */
    uint32_t extra;                    /* patches, or runs */
    uint64_t base;
    int64_t first;       /* DELTA */
    const uint8_t *bits; /* RUNS: the values */
    /* PACK_PLACE_BITS each; RUNS: places are the ends (last value of the run) */
    const uint8_t *places, *patches;
};
/* Opens the block that begins with value `first`; kind 0: the stream has no blocks. Returns 0 or
 * ERR_CORRUPT. */
int pack_block_open(const struct pack_stream *s, uint32_t first, struct pack_block *b);
/* Bit i of out = value i of a FOR block of at most PACK_RANGE_WIDTH bits is within [lo, hi],
 * without regard to patches. */
void pack_block_select(const struct pack_block *b, int64_t lo, int64_t hi, uint64_t *out);
/* ALIGNED: decompresses the stream at the first call, and sums differences. `heap` then has the
 * values minus head.base, `head.width` bytes each. Returns 0, ERR_CORRUPT or -ENOMEM. */
int pack_inflate(struct pack_stream *s);

#endif
