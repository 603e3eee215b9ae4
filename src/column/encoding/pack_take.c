/* pack_take.c - the values of a stream that are wanted and within a range: a block is judged and
 * read in one pass, while it is at hand, with no list of places between. */
#include "column/encoding/pack_block.h"

#include <string.h>

#define BLOCK_WORDS (PACK_BLOCK / 64)

struct taken {
    int64_t lo, hi, *out;
    uint32_t count;
};

static void take(struct taken *t, int64_t value)
{
    t->out[t->count] = value;
    t->count += value >= t->lo && value <= t->hi;
}

/* Those that have a patch. Their bits are taken out of `left`, so that none is taken twice,
 * whatever a damaged block says. */
static int take_patched(const struct pack_block *b, size_t n, uint64_t *left, struct taken *t)
{
    uint32_t places[PACK_BLOCK];

    pack_kernels()->unpack32(b->places, 10, b->extra, 0, places);
    for (uint32_t i = 0; i < b->extra; i++) {
        uint32_t place = places[i];
        uint64_t bit = (uint64_t)1 << place % 64;
        if (place >= n)
            return ERR_CORRUPT;
        if (!(left[place / 64] & bit))
            continue;
        left[place / 64] &= ~bit;
        uint64_t high = pack_bits_at(b->patches, b->patch_width, i) << b->width;
        take(t, (int64_t)(b->base + pack_bits_at(b->bits, b->width, place) + high));
    }
    return 0;
}

static int take_packed(const struct pack_block *b, size_t n, uint64_t *left, struct taken *t)
{
    uint64_t in[BLOCK_WORDS];
    int rc = b->extra ? take_patched(b, n, left, t) : 0;

    if (rc < 0)
        return rc;
    pack_block_select(b, n, t->lo, t->hi, in);
    for (uint32_t i = 0; i < (n + 63) / 64; i++)
        for (uint64_t word = left[i] & in[i]; word; word &= word - 1)
            t->out[t->count++] =
                (int64_t)(b->base + pack_bits_at(b->bits, b->width,
                                                 i * 64 + (unsigned)__builtin_ctzll(word)));
    return 0;
}

static void take_values(const int64_t *values, size_t n, const uint64_t *wanted, struct taken *t)
{
    for (uint32_t i = 0; i < (n + 63) / 64; i++)
        for (uint64_t word = wanted[i]; word; word &= word - 1)
            take(t, values[i * 64 + (unsigned)__builtin_ctzll(word)]);
}

static int take_block(struct pack_stream *s, uint32_t first, uint32_t n, const uint64_t *wanted,
                      struct taken *t)
{
    uint64_t left[BLOCK_WORDS], any = 0;
    int64_t values[PACK_BLOCK];
    struct pack_block b = {0};
    int rc = 0;

    for (uint32_t i = 0; i < (n + 63) / 64; i++)
        any |= left[i] = wanted[i];
    if (!any)
        return 0;
    if (s->head.kind == PACK_BLOCKS)
        rc = pack_block_open(s, first / PACK_BLOCK, n, &b);
    if (rc == 0 && b.kind == PACK_FOR && b.width <= PACK_RANGE_WIDTH)
        return take_packed(&b, n, left, t);
    rc = rc < 0 ? rc : pack_read_i64(s, first, n, values);
    if (rc == 0)
        take_values(values, n, wanted, t);
    return rc;
}

int pack_take_i64(struct pack_stream *s, const uint64_t *wanted, int64_t lo, int64_t hi,
                  int64_t *out, uint32_t *ret_count)
{
    struct taken t = {lo, hi, out, 0};
    int rc = 0;

    for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK) {
        uint32_t n = s->head.count - at < PACK_BLOCK ? s->head.count - at : PACK_BLOCK;
        rc = take_block(s, at, n, wanted + at / 64, &t);
    }
    *ret_count = t.count;
    return rc;
}
