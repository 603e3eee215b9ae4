/* pack_copy.c - copies the selected values of a stream that are within a range: each block is
 * compared and read in one pass, without a list of positions in between. */
#include "column/encoding/pack_block.h"

#include <string.h>

#define BLOCK_WORDS (PACK_BLOCK / 64)

struct copy {
    int64_t lo, hi, *out;
    uint32_t count; /* of values in `out` */
};

static void copy_in_range(struct copy *t, int64_t value)
{
    t->out[t->count] = value;
    t->count += value >= t->lo && value <= t->hi;
}

/* Copies values of a narrow FOR block. Patched ones come first: their bits are cleared in
 * `left`, so that no value is copied twice, even from a corrupt block. */
static int copy_narrow_block(const struct pack_block *b, uint64_t *left, struct copy *t)
{
    uint64_t in[BLOCK_WORDS];
    uint32_t places[PACK_BLOCK];

    if (b->extra)
        pack_kernels()->unpack32(b->places, PACK_PLACE_BITS, b->extra, 0, places);
    for (uint32_t i = 0; i < b->extra; i++) {
        uint32_t place = places[i];
        uint64_t bit = (uint64_t)1 << place % 64;
        if (place >= b->n)
            return ERR_CORRUPT;
        if (!(left[place / 64] & bit))
            continue;
        left[place / 64] &= ~bit;
        uint64_t high = pack_bits_at(b->patches, b->patch_width, i) << b->width;
        copy_in_range(t, (int64_t)(b->base + pack_bits_at(b->bits, b->width, place) + high));
    }
    pack_block_select(b, t->lo, t->hi, in);
    for (uint32_t i = 0; i < (b->n + 63) / 64; i++) {
        for (uint64_t word = left[i] & in[i]; word; word &= word - 1) {
            uint32_t place = i * 64 + (unsigned)__builtin_ctzll(word);
            t->out[t->count++] = (int64_t)(b->base + pack_bits_at(b->bits, b->width, place));
        }
    }
    return 0;
}

static int copy_block(struct pack_stream *s, uint32_t first, const uint64_t *wanted, struct copy *t)
{
    uint64_t left[BLOCK_WORDS], any = 0;
    int64_t values[PACK_BLOCK];
    struct pack_block b;
    int rc = pack_block_open(s, first, &b);
    uint32_t words = (b.n + 63) / 64;

    for (uint32_t i = 0; i < words; i++)
        any |= left[i] = wanted[i];
    if (rc < 0 || !any)
        return rc;
    if (b.kind == PACK_FOR && b.width <= PACK_RANGE_WIDTH)
        return copy_narrow_block(&b, left, t);
    rc = pack_read_i64(s, first, b.n, values);
    for (uint32_t i = 0; rc == 0 && i < words; i++)
        for (uint64_t word = wanted[i]; word; word &= word - 1)
            copy_in_range(t, values[i * 64 + (unsigned)__builtin_ctzll(word)]);
    return rc;
}

int pack_copy_selected_i64(struct pack_stream *s, const uint64_t *wanted, int64_t lo, int64_t hi,
                           int64_t *out, uint32_t *ret_count)
{
    struct copy t = {lo, hi, out, 0};
    int rc = 0;

    for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK)
        rc = copy_block(s, at, wanted + at / 64, &t);
    *ret_count = t.count;
    return rc;
}
