/* pack_pick.c - reads a few values of a stream by their positions. In blocks with values of fixed
 * width only these are read; other blocks are decoded first. */
#include "column/encoding/pack_block.h"

#include <errno.h>
#include <string.h>

/* If at least this many of 1,024 values are needed, decoding all of them is faster. */
#define PICK_MANY 192u
#define PICK_DELTAS 64u
/* Below this number of pairs of a requested position and a patch (or run), comparing all of them,
 * eight at a time, is faster than walking along both. */
#define PICK_COMPARISONS 4096u

struct picked {
    const uint32_t *places; /* requested positions in the stream, ascending */
    uint32_t first, n;      /* first: number of the block's first value */
    int64_t *out;
};

/* at[k]: how many of the n ascending positions `in_block` (patches, or ends of runs) are below the
 * k-th requested one. in_block has memory for 8 more, which are set here. */
static void find_picked(uint32_t *in_block, uint32_t n, const struct picked *p, uint32_t *at)
{
    for (uint32_t i = 0; i < 8; i++)
        in_block[n + i] = INT32_MAX;
    if (p->n * n < PICK_COMPARISONS) {
        pack_kernels()->find_places(in_block, n, p->places, p->n, p->first, at);
        return;
    }
    for (uint32_t k = 0, below = 0; k < p->n; k++) {
        while (in_block[below] < p->places[k] - p->first)
            below++;
        at[k] = below;
    }
}

static int pick_for(const struct pack_block *b, const struct picked *p)
{
    uint32_t in_block[PACK_BLOCK + 8], at[PICK_MANY];

    for (uint32_t k = 0; k < p->n; k++)
        p->out[k] = (int64_t)(b->base + pack_bits_at(b->bits, b->width, p->places[k] - p->first));
    if (b->extra == 0)
        return 0;
    pack_kernels()->unpack32(b->places, PACK_PLACE_BITS, b->extra, 0, in_block);
    find_picked(in_block, b->extra, p, at);
    for (uint32_t k = 0; k < p->n; k++) {
        uint64_t high = pack_bits_at(b->patches, b->patch_width, at[k]) << b->width;
        p->out[k] = (int64_t)((uint64_t)p->out[k] +
                              (in_block[at[k]] == p->places[k] - p->first ? high : 0));
    }
    return 0;
}

/* Sums the differences from one requested value to the next. */
static int pick_delta(const struct pack_block *b, const struct picked *p)
{
    uint64_t sum = (uint64_t)b->first;
    uint32_t at = 0, patch = 0;
    uint64_t place = b->extra ? pack_bits_at(b->places, PACK_PLACE_BITS, 0) : UINT64_MAX;

    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t to = p->places[k] - p->first;
        sum += pack_kernels()->sum_bits(b->bits, b->width, at, to) + (uint64_t)(to - at) * b->base;
        for (; place < to; place = ++patch < b->extra
                                       ? pack_bits_at(b->places, PACK_PLACE_BITS, patch)
                                       : UINT64_MAX)
            sum += pack_bits_at(b->patches, b->patch_width, patch) << b->width;
        p->out[k] = (int64_t)sum;
        at = to;
    }
    return 0;
}

static int pick_runs(const struct pack_block *b, const struct picked *p)
{
    uint32_t ends[PACK_BLOCK + 8], run[PICK_MANY];

    pack_kernels()->unpack32(b->places, PACK_PLACE_BITS, b->extra, 0, ends);
    find_picked(ends, b->extra, p, run);
    for (uint32_t k = 0; k < p->n; k++) {
        if (run[k] >= b->extra)
            return ERR_CORRUPT;
        p->out[k] = (int64_t)(b->base + pack_bits_at(b->bits, b->width, run[k]));
    }
    return 0;
}

static int pick_block(struct pack_stream *s, const struct pack_block *b, const struct picked *p)
{
    int64_t values[PACK_BLOCK];

    if (p->n < PICK_MANY && b->kind == PACK_FOR)
        return pick_for(b, p);
    if (p->n < PICK_MANY && b->kind == PACK_RUNS)
        return pick_runs(b, p);
    if (p->n < PICK_DELTAS && b->kind == PACK_DELTA && b->width <= PACK_RANGE_WIDTH)
        return pick_delta(b, p);
    int rc = pack_read_i64(s, p->first, b->n, values);
    for (uint32_t k = 0; rc == 0 && k < p->n; k++)
        p->out[k] = values[p->places[k] - p->first];
    return rc;
}

static int pick_blocks(struct pack_stream *s, const uint32_t *places, uint32_t n, int64_t *out)
{
    struct pack_block b;
    int rc = 0;

    for (uint32_t k = 0, end; rc == 0 && k < n; k = end) {
        uint32_t first = places[k] / PACK_BLOCK * PACK_BLOCK;
        for (end = k + 1; end < n && places[end] - first < PACK_BLOCK; end++)
            ;
        const struct picked p = {places + k, first, end - k, out + k};
        rc = pack_block_open(s, first, &b);
        rc = rc ? rc : pick_block(s, &b, &p);
    }
    return rc;
}

int pack_pick_i64(struct pack_stream *s, const uint32_t *places, uint32_t n, int64_t *out)
{
    int rc = 0;

    switch (s->head.kind) {
    case PACK_CONSTANT:
        for (uint32_t k = 0; k < n; k++)
            out[k] = s->head.base;
        return 0;
    case PACK_ALIGNED:
        rc = pack_inflate(s);
        for (uint32_t k = 0; rc == 0 && k < n; k++) {
            uint64_t v = 0;
            memcpy(&v, s->heap + (size_t)places[k] * s->head.width, s->head.width);
            out[k] = (int64_t)(v + (uint64_t)s->head.base);
        }
        return rc;
    case PACK_DICT:
        rc = pack_pick_i64(s->codes, places, n, out);
        for (uint32_t k = 0; rc == 0 && k < n; k++) {
            if ((uint64_t)out[k] >= s->dict_count)
                return ERR_CORRUPT;
            out[k] = s->dict[out[k]];
        }
        return rc;
    default:
        return pick_blocks(s, places, n, out);
    }
}
