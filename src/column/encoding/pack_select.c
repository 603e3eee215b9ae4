/* pack_select.c - selects the values of a stream that are within a range. Values are not decoded if
 * the encoding alone decides which of them are: a block whose width cannot reach the range is
 * skipped except for its patches, and a run is compared once. */
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

/* Sets or clears n bits. */
static void fill_bits(uint64_t *out, size_t n, bool set)
{
    memset(out, set ? 0xff : 0, (n + 63) / 64 * 8);
    if (set && n % 64)
        out[n / 64] = ((uint64_t)1 << n % 64) - 1;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Compares the first n bit-packed values with the range minus the base: often all of them are
 * within it, or none. */
static void select_packed(const struct pack_block *b, size_t n, struct range r, uint64_t *out)
{
    __int128 base = (int64_t)b->base, max = ((__int128)1 << b->width) - 1;
    __int128 lo = r.lo > base ? r.lo - base : 0, hi = r.hi - base < max ? r.hi - base : max;
    size_t words = (n + 63) / 64;

    if (hi < lo || (lo == 0 && hi == max)) {
        fill_bits(out, n, hi >= lo);
    } else if (b->width > 1) {
        pack_kernels()->range_bits(b->bits, b->width, n, (uint32_t)lo, (uint32_t)hi, out);
    } else {
        /* Width 1, and only one of the two values is in the range: the bits are the result if it is
         * 1, their inverse if it is 0. */
        memcpy(out, b->bits, words * 8);
        for (size_t i = 0; i < words && lo == 0; i++)
            out[i] = ~out[i];
        if (n % 64)
            out[words - 1] &= ((uint64_t)1 << n % 64) - 1;
    }
}

void pack_block_select(const struct pack_block *b, int64_t lo, int64_t hi, uint64_t *out)
{
    select_packed(b, b->n, (struct range){lo, hi}, out);
}

/* A patch is at least 1, so every patched value is within [base + 2^width, base + 2^(width +
 * patch_width)). Returns true if the range contains all of these values or none; *ret_in says
 * which. Returns false if values could overflow, or if a (corrupt) patch is 0, because the bounds
 * are wrong then. */
static bool patches_decided(const struct pack_block *b, struct range r, bool *ret_in)
{
    const int64_t far = (int64_t)1 << 61, base = (int64_t)b->base;
    uint64_t zero[BLOCK_WORDS], any = 0;

    if (b->width + b->patch_width > 61 || b->patch_width > PACK_RANGE_WIDTH || base >= far ||
        base <= -far)
        return false;
    int64_t min = base + ((int64_t)1 << b->width),
            max = base + (((int64_t)1 << (b->width + b->patch_width)) - 1);
    *ret_in = r.lo <= min && r.hi >= max;
    if (!*ret_in && r.lo <= max && r.hi >= min)
        return false;
    pack_kernels()->range_bits(b->patches, b->patch_width, b->extra, 0, 0, zero);
    for (size_t i = 0; i < (b->extra + 63) / 64; i++)
        any |= zero[i];
    return any == 0; /* no encoder writes such a patch */
}

/* Writes bytes, not words: successive positions are rarely in the same byte, so a store need not
 * wait for the one before. */
static void mark_places(const uint32_t *places, uint32_t n, bool inside, uint64_t *out)
{
    uint8_t *bytes = (uint8_t *)out;

    for (uint32_t i = 0; inside && i < n; i++)
        bytes[places[i] / 8] |= (uint8_t)(1u << places[i] % 8);
    for (uint32_t i = 0; !inside && i < n; i++)
        bytes[places[i] / 8] &= (uint8_t) ~(1u << places[i] % 8);
}

static int select_patches(const struct pack_block *b, struct range r, uint64_t *out)
{
    uint32_t places[PACK_BLOCK], max = 0;
    bool in = false;

    pack_kernels()->unpack32(b->places, PACK_PLACE_BITS, b->extra, 0, places);
    for (uint32_t i = 0; i < b->extra; i++)
        max = places[i] > max ? places[i] : max;
    if (max >= b->n)
        return ERR_CORRUPT;
    if (patches_decided(b, r, &in)) {
        mark_places(places, b->extra, in, out);
        return 0;
    }
    for (uint32_t i = 0; i < b->extra; i++) {
        uint64_t high = pack_bits_at(b->patches, b->patch_width, i) << b->width;
        uint64_t value = b->base + pack_bits_at(b->bits, b->width, places[i]) + high;
        mark_places(&places[i], 1, within(r, (int64_t)value), out);
    }
    return 0;
}

/* On entry, a set bit marks a value whose result differs from that of the value before. Replaces
 * every bit by the parity of all bits up to it, which is the result itself. */
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

/* Returns true if the ends ascend strictly, and the last one is n - 1. */
static bool run_ends_valid(const uint32_t *end, uint32_t runs, size_t n)
{
    uint32_t wrong = 0;

    for (uint32_t i = 1; i < runs; i++)
        wrong |= end[i] <= end[i - 1];
    return !wrong && end[runs - 1] == n - 1;
}

static int select_runs(const struct pack_block *b, struct range r, uint64_t *out)
{
    uint64_t value[PACK_BLOCK], in[BLOCK_WORDS], before = 0;
    uint32_t end[PACK_BLOCK];

    pack_kernels()->unpack32(b->places, PACK_PLACE_BITS, b->extra, 0, end);
    if (!run_ends_valid(end, b->extra, b->n))
        return ERR_CORRUPT;
    if (b->width <= PACK_RANGE_WIDTH) {
        select_packed(b, b->extra, r, in);
    } else {
        pack_unpack_bits(b->bits, b->width, b->extra, b->base, value);
        kernels()->range_i64((const int64_t *)value, b->extra, r.lo, r.hi, in);
    }
    fill_bits(out, b->n, false);
    /* Bits of `in` after the last run are 0, which may appear as one more change, at b->n. */
    for (uint32_t i = 0; i < b->extra; i += 64) {
        uint64_t changes = in[i / 64] ^ (in[i / 64] << 1 | before);
        before = in[i / 64] >> 63;
        for (; changes; changes &= changes - 1) {
            uint32_t run = i + (uint32_t)__builtin_ctzll(changes);
            uint32_t at = run == 0 ? 0 : run < b->extra ? end[run - 1] + 1 : b->n;
            if (at < b->n)
                out[at / 64] |= (uint64_t)1 << at % 64;
        }
    }
    fill_changes(out, b->n);
    return 0;
}

/* ---- streams --------------------------------------------------------------------------------- */

static int select_block(struct pack_stream *s, uint32_t first, struct range r, uint64_t *out)
{
    int64_t values[PACK_BLOCK];
    struct pack_block b;
    int rc = pack_block_open(s, first, &b);

    if (rc < 0)
        return rc;
    if (b.kind == PACK_RUNS)
        return select_runs(&b, r, out);
    if (b.kind == PACK_FOR && b.width <= PACK_RANGE_WIDTH) {
        select_packed(&b, b.n, r, out);
        return b.extra ? select_patches(&b, r, out) : 0;
    }
    rc = pack_read_i64(s, first, b.n, values);
    if (rc == 0)
        kernels()->range_i64(values, b.n, r.lo, r.hi, out);
    return rc;
}

int pack_select_i64(struct pack_stream *s, int64_t lo, int64_t hi, uint64_t *out)
{
    uint32_t from = 0, to = s->dict_count;
    struct range r = {lo, hi};
    int rc = 0;

    if (lo > hi || s->head.kind == PACK_CONSTANT) {
        fill_bits(out, s->head.count, lo <= hi && within(r, s->head.base));
        return 0;
    }
    if (s->head.kind == PACK_DICT) {
        /* Values ascend, so a range of them is a range of codes. */
        while (from < to && s->dict[from] < lo)
            from++;
        while (to > from && s->dict[to - 1] > hi)
            to--;
        return pack_select_i64(s->codes, from, (int64_t)to - 1, out);
    }
    for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK)
        rc = select_block(s, at, r, out + at / 64);
    return rc;
}

static bool table_has(const uint32_t *table, uint32_t code)
{
    return table[code / 32] >> code % 32 & 1;
}

/* Sets *ret to the smallest range that has all codes whose bit is set (none: lo > hi). Returns true
 * if it has no others. */
static bool table_range(const uint32_t *table, uint32_t code_count, struct range *ret)
{
    uint32_t from = 0, to = code_count;

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

int pack_select_codes(struct pack_stream *s, const uint32_t *table, uint32_t code_count,
                      uint64_t *out)
{
    uint32_t values[PACK_BLOCK];
    struct range r;
    int rc = 0;

    if (table_range(table, code_count, &r))
        return pack_select_i64(s, r.lo, r.hi, out);
    for (uint32_t at = 0; rc == 0 && at < s->head.count; at += PACK_BLOCK) {
        uint32_t n = pack_block_rows(at, s->head.count);
        rc = pack_read_u32(s, at, n, values);
        if (rc == 0 && kernels()->max(values, n) >= code_count)
            rc = ERR_CORRUPT;
        if (rc == 0)
            kernels()->table_u32(values, n, table, code_count, out + at / 64);
    }
    return rc;
}
