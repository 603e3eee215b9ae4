/* pack_block.h - inside a stream: what pack_decode.c opens and pack_select.c, pack_pick.c look into
 * without decoding it. */
#ifndef DFTRACERD_COLUMN_ENCODING_PACK_BLOCK_H
#define DFTRACERD_COLUMN_ENCODING_PACK_BLOCK_H

#include "column/encoding/pack.h"

/* The parts of a block of 1,024 values (the last one may be shorter), all within the payload. A
 * value of FOR is base plus its `width` bits; a patched one has more, from bit `width` up: `extra`
 * places, ascending, and as many patches. */
struct pack_block {
    unsigned kind, width, patch_width; /* enum pack_block_kind */
    uint32_t extra;                    /* patches, or runs */
    uint64_t base;
    int64_t first;       /* DELTA */
    const uint8_t *bits; /* RUNS: the values */
    /* 10 bits each; RUNS: places are the ends (last value of the run) */
    const uint8_t *places, *patches;
};
/* Block `number` of a PACK_BLOCKS stream, which has n values. 0 or ERR_CORRUPT. */
int pack_block_open(const struct pack_stream *s, uint32_t number, size_t n, struct pack_block *b);
/* Bit i of out = value i of a FOR block of at most PACK_RANGE_WIDTH bits is within [lo, hi], its
 * patches left aside. */
void pack_block_select(const struct pack_block *b, size_t n, int64_t lo, int64_t hi, uint64_t *out);
int pack_block_read(const struct pack_stream *s, uint32_t number, size_t n, uint64_t *out);
/* ALIGNED: inflates once; differences are summed once, too. Then `heap` holds the values,
 * `head.width` bytes each, to be added to head.base. 0, ERR_CORRUPT, -ENOMEM. */
int pack_inflate(struct pack_stream *s);

#endif
