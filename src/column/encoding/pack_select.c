/* pack_select.c - which values of a stream are within a range, told without decoding what its
 * layout decides: a block whose width cannot reach the range is passed over but for its patches,
 * and a run is judged once. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "dftracerd/kernel.h"
#include "column/encoding/pack_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_WORDS (PACK_BLOCK / 64)

struct range {
    int64_t lo, hi;
};

static bool within(struct range r, int64_t v)
{
    return v >= r.lo && v <= r.hi;
}

/* Bits [from, to). */
static void set_bits(uint64_t *out, size_t from, size_t to)
{
    for (size_t at = from; at < to;) {
        size_t bit = at % 64, n = to - at < 64 - bit ? to - at : 64 - bit;
        out[at / 64] |= (n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX) << bit;
        at += n;
    }
}

static void fill(uint64_t *out, size_t n, bool set)
{
    memset(out, 0, (n + 63) / 64 * 8);
    if (set)
        set_bits(out, 0, n);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Of values that are 0 or 1, those that are `one`. */
static void select_bits(const uint8_t *bits, size_t n, bool one, uint64_t *out)
{
    size_t words = (n + 63) / 64;

    memcpy(out, bits, words * 8);
    for (size_t i = 0; i < words && !one; i++)
        out[i] = ~out[i];
    if (n % 64)
        out[words - 1] &= ((uint64_t)1 << n % 64) - 1;
}

/* The range in terms of what is packed: often none of it can be within, or all is. */
static void select_packed(const struct pack_block *b, size_t n, struct range r, uint64_t *out)
{
    __int128 base = (int64_t)b->base, most = ((__int128)1 << b->width) - 1;
    __int128 lo = r.lo > base ? r.lo - base : 0, hi = r.hi - base < most ? r.hi - base : most;

    if (hi < lo || (lo == 0 && hi == most))
        fill(out, n, hi >= lo);
    else if (b->width == 1)
        select_bits(b->bits, n, lo == 1, out);
    else
        pack_kernels()->range_bits(b->bits, b->width, n, (uint32_t)lo, (uint32_t)hi, out);
}

void pack_block_select(const struct pack_block *b, size_t n, int64_t lo, int64_t hi, uint64_t *out)
{
    select_packed(b, n, (struct range){lo, hi}, out);
}

/* A patch adds at least one to the upper bits: what that tells of all patched values alike. False:
 * nothing. Only where nothing can overflow. */
static bool patches_alike(const struct pack_block *b, struct range r, bool *ret_in)
{
    const int64_t far = (int64_t)1 << 61, base = (int64_t)b->base;
    uint64_t zero[BLOCK_WORDS], any = 0;

    if (b->width + b->patch_width > 61 || b->patch_width > PACK_RANGE_WIDTH || base >= far ||
        base <= -far)
        return false;
    int64_t least = base + ((int64_t)1 << b->width),
            most = base + (((int64_t)1 << (b->width + b->patch_width)) - 1);
    *ret_in = r.lo <= least && r.hi >= most;
    if (!*ret_in && r.lo <= most && r.hi >= least)
        return false;
    pack_kernels()->range_bits(b->patches, b->patch_width, b->extra, 0, 0, zero);
    for (size_t i = 0; i < (b->extra + 63) / 64; i++)
        any |= zero[i];
    return any == 0; /* no writer makes such a patch */
}

static bool patched_within(const struct pack_block *b, uint32_t i, uint64_t place, struct range r)
{
    uint64_t high = pack_bits_at(b->patches, b->patch_width, i) << b->width;

    return within(r, (int64_t)(b->base + pack_bits_at(b->bits, b->width, place) + high));
}

/* Bytes, not words: neighbours are rarely in one, so none waits for another. */
static void mark_places(const uint32_t *places, uint32_t n, bool in, uint64_t *out)
{
    uint8_t *bytes = (uint8_t *)out;

    for (uint32_t i = 0; in && i < n; i++)
        bytes[places[i] / 8] |= (uint8_t)(1u << places[i] % 8);
    for (uint32_t i = 0; !in && i < n; i++)
        bytes[places[i] / 8] &= (uint8_t) ~(1u << places[i] % 8);
}

static int select_patches(const struct pack_block *b, size_t n, struct range r, uint64_t *out)
{
    uint32_t places[PACK_BLOCK], most = 0;
    bool in = false;

    if (b->extra == 0)
        return 0;
    pack_kernels()->unpack32(b->places, 10, b->extra, 0, places);
    for (uint32_t i = 0; i < b->extra; i++)
        most = places[i] > most ? places[i] : most;
    if (most >= n)
        return ERR_CORRUPT;
    if (patches_alike(b, r, &in)) {
        mark_places(places, b->extra, in, out);
        return 0;
    }
    for (uint32_t i = 0; i < b->extra; i++)
        mark_places(&places[i], 1, patched_within(b, i, places[i], r), out);
    return 0;
}

static int select_decoded(const struct pack_stream *s, uint32_t number, size_t n, struct range r,
                          uint64_t *out)
{
    uint64_t values[PACK_BLOCK];
    int rc = pack_block_read(s, number, n, values);

    if (rc == 0)
        kernels()->range_i64((const int64_t *)values, (uint32_t)n, r.lo, r.hi, out);
    return rc;
}

/* Every bit becomes the parity of all bits up to it: from where the answer changes to the answers.
 */
static void fill_changes(uint64_t *words, size_t n)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < (n + 63) / 64; i++) {
        uint64_t w = words[i];
        for (unsigned shift = 1; shift < 64; shift *= 2)
            w ^= w << shift;
        words[i] = w ^ carry;
        carry = -(words[i] >> 63);
    }
    if (n % 64)
        words[n / 64] &= ((uint64_t)1 << n % 64) - 1;
}

/* Which runs have a value within the range. */
static void judge_runs(const struct pack_block *b, struct range r, uint64_t *out)
{
    uint64_t value[PACK_BLOCK];

    if (b->width <= PACK_RANGE_WIDTH) {
        select_packed(b, b->extra, r, out);
        return;
    }
    pack_unpack_bits(b->bits, b->width, b->extra, b->base, value);
    kernels()->range_i64((const int64_t *)value, b->extra, r.lo, r.hi, out);
}

/* Whether the ends ascend to the last value of the block. */
static bool ends_right(const uint32_t *end, uint32_t runs, size_t n)
{
    uint32_t wrong = 0;

    for (uint32_t i = 1; i < runs; i++)
        wrong |= end[i] <= end[i - 1];
    return !wrong && end[runs - 1] == n - 1;
}

static int select_runs(const struct pack_block *b, size_t n, struct range r, uint64_t *out)
{
    uint64_t in[BLOCK_WORDS], before = 0;
    uint32_t end[PACK_BLOCK];

    pack_kernels()->unpack32(b->places, 10, b->extra, 0, end);
    if (!ends_right(end, b->extra, n))
        return ERR_CORRUPT;
    judge_runs(b, r, in);
    fill(out, n, false);
    for (uint32_t i = 0; i < b->extra; i += 64) {
        uint64_t changes = in[i / 64] ^ (in[i / 64] << 1 | before);
        before = in[i / 64] >> 63;
        for (; changes; changes &= changes - 1) {
            uint32_t run = i + (uint32_t)__builtin_ctzll(changes);
            uint32_t at = run == 0 ? 0 : run < b->extra ? end[run - 1] + 1 : (uint32_t)n;
            if (at < n)
                out[at / 64] |= (uint64_t)1 << at % 64;
        }
    }
    fill_changes(out, n);
    return 0;
}

static int select_block(const struct pack_stream *s, uint32_t number, size_t n, struct range r,
                        uint64_t *out)
{
    struct pack_block b = {0};
    int rc = pack_block_open(s, number, n, &b);

    if (rc < 0)
        return rc;
    if (b.kind == PACK_RUNS)
        return select_runs(&b, n, r, out);
    if (b.kind == PACK_FOR && b.width <= PACK_RANGE_WIDTH) {
        select_packed(&b, n, r, out);
        return select_patches(&b, n, r, out);
    }
    return select_decoded(s, number, n, r, out);
}

/* ---- streams --------------------------------------------------------------------------------- */

static int select_aligned(struct pack_stream *s, struct range r, uint64_t *out)
{
    uint64_t values[PACK_BLOCK];
    int rc = pack_inflate(s);

    for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK) {
        uint32_t n = s->head.count - at < PACK_BLOCK ? s->head.count - at : PACK_BLOCK;
        pack_kernels()->widen64(s->heap + (size_t)at * s->head.width, s->head.width, n,
                                (uint64_t)s->head.base, values);
        kernels()->range_i64((const int64_t *)values, n, r.lo, r.hi, out + at / 64);
    }
    return rc;
}

/* Values ascend, so a range of them is a range of codes. */
static int select_dict(struct pack_stream *s, struct range r, uint64_t *out)
{
    uint32_t from = 0, to = s->dict_count;

    while (from < to && s->dict[from] < r.lo)
        from++;
    while (to > from && s->dict[to - 1] > r.hi)
        to--;
    return pack_select_i64(s->codes, from, (int64_t)to - 1, out);
}

int pack_select_i64(struct pack_stream *s, int64_t lo, int64_t hi, uint64_t *out)
{
    struct range r = {lo, hi};
    int rc = 0;

    switch (lo <= hi ? s->head.kind : 0) {
    case PACK_CONSTANT:
        fill(out, s->head.count, within(r, s->head.base));
        return 0;
    case PACK_ALIGNED:
        return select_aligned(s, r, out);
    case PACK_DICT:
        return select_dict(s, r, out);
    case PACK_BLOCKS:
        for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK) {
            size_t n = s->head.count - at < PACK_BLOCK ? s->head.count - at : PACK_BLOCK;
            rc =
                select_block(s, at / PACK_BLOCK, n, r, out + (size_t)at / PACK_BLOCK * BLOCK_WORDS);
        }
        return rc;
    default:
        fill(out, s->head.count, false);
        return 0;
    }
}

static bool table_has(const uint32_t *table, uint32_t code)
{
    return table[code / 32] >> code % 32 & 1;
}

/* True when the codes of the table follow one another. */
static bool table_range(const uint32_t *table, uint32_t codes, struct range *ret)
{
    uint32_t from = 0, to = codes;

    while (from < to && !table_has(table, from))
        from++;
    while (to > from && !table_has(table, to - 1))
        to--;
    *ret = (struct range){from, (int64_t)to - 1};
    for (uint32_t i = from; i < to; i++)
        if (!table_has(table, i))
            return false;
    return true;
}

int pack_select_codes(struct pack_stream *s, const uint32_t *table, uint32_t codes, uint64_t *out)
{
    uint32_t values[PACK_BLOCK];
    struct range r;
    int rc = 0;

    if (table_range(table, codes, &r))
        return pack_select_i64(s, r.lo, r.hi, out);
    for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK) {
        uint32_t n = s->head.count - at < PACK_BLOCK ? s->head.count - at : PACK_BLOCK, most = 0;
        rc = pack_read_u32(s, at, n, values);
        for (uint32_t i = 0; rc == 0 && i < n; i++)
            most = values[i] > most ? values[i] : most;
        if (most >= codes)
            rc = ERR_CORRUPT;
        if (rc == 0)
            kernels()->table_u32(values, n, table, codes, out + at / 64);
    }
    return rc;
}
