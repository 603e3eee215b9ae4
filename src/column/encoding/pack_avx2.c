/* pack_avx2.c - the kernels with AVX2: 8 bit-packed values have `width` bytes, so the positions
 * of the 8 values within their bytes are the same for every group, and one byte shuffle, one
 * shift by lane and one mask decode 8 (or 4) of them. */
#ifdef __x86_64__
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "column/encoding/pack_loops.h"

#include <immintrin.h>
#include <string.h>

/* Widths up to 25: each value lies within 4 bytes. Values 0-3 are loaded from the group's first
 * byte, 4-7 from byte width / 2. By width: the bytes of the lanes, and the shift of each. */
#define BIT(w, i) ((i) * (w) - ((i) < 4 ? 0 : (w) / 2 * 8))
#define BYTES(w, i) BIT(w, i) / 8, BIT(w, i) / 8 + 1, BIT(w, i) / 8 + 2, BIT(w, i) / 8 + 3
#define SHUFFLE(w) \
    { \
        BYTES(w, 0), BYTES(w, 1), BYTES(w, 2), BYTES(w, 3), BYTES(w, 4), BYTES(w, 5), BYTES(w, 6), \
            BYTES(w, 7) \
    }
#define SHIFT(w) \
    { \
        BIT(w, 0) % 8, BIT(w, 1) % 8, BIT(w, 2) % 8, BIT(w, 3) % 8, BIT(w, 4) % 8, BIT(w, 5) % 8, \
            BIT(w, 6) % 8, BIT(w, 7) % 8 \
    }
#define ALL_WIDTHS(m) \
    { \
        m(0), m(1), m(2), m(3), m(4), m(5), m(6), m(7), m(8), m(9), m(10), m(11), m(12), m(13), \
            m(14), m(15), m(16), m(17), m(18), m(19), m(20), m(21), m(22), m(23), m(24), m(25) \
    }
static const uint8_t shuffles32[26][32] = ALL_WIDTHS(SHUFFLE);
static const uint32_t shifts32[26][8] = ALL_WIDTHS(SHIFT);

struct plan32 {
    __m256i shuffle, shift, mask;
    unsigned high;
};

static inline struct plan32 plan32(unsigned width)
{
    return (struct plan32){
        .shuffle = _mm256_loadu_si256((const __m256i *)shuffles32[width]),
        .shift = _mm256_loadu_si256((const __m256i *)shifts32[width]),
        .mask = _mm256_set1_epi32((int)(((uint32_t)1 << width) - 1)),
        .high = width / 2,
    };
}

static inline __m256i group32(const uint8_t *in, const struct plan32 *p)
{
    __m128i low = _mm_loadu_si128((const __m128i *)in);
    __m128i high = _mm_loadu_si128((const __m128i *)(in + p->high));
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    __m256i words = _mm256_srlv_epi32(_mm256_shuffle_epi8(both, p->shuffle), p->shift);
    return _mm256_and_si256(words, p->mask);
}

static void narrow_unpack64(const uint8_t *in, unsigned width, size_t n, uint64_t base,
                            uint64_t *out)
{
    struct plan32 p = plan32(width);
    __m256i add = _mm256_set1_epi64x((long long)base);
    size_t i = 0;

    for (; i + 8 <= n; i += 8, in += width) {
        __m256i v = group32(in, &p);
        __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(v));
        __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(v, 1));
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_add_epi64(low, add));
        _mm256_storeu_si256((__m256i *)(out + i + 4), _mm256_add_epi64(high, add));
    }
    if (i < n) {
        uint32_t rest[8];
        _mm256_storeu_si256((__m256i *)rest, group32(in, &p));
        for (size_t k = 0; i < n; i++, k++)
            out[i] = rest[k] + base;
    }
}

/* Widths up to 57: each value lies within 8 bytes, each pair of values within 16. */
static void wide_unpack64(const uint8_t *in, unsigned width, size_t n, uint64_t base, uint64_t *out)
{
    uint8_t shuffle[4][16];
    uint64_t shift[8];
    unsigned start[4];
    __m256i shuffles[2], shifts[2];
    __m256i mask = _mm256_set1_epi64x((long long)(((uint64_t)1 << width) - 1));
    __m256i add = _mm256_set1_epi64x((long long)base);

    for (unsigned i = 0; i < 8; i++) {
        start[i / 2] = i % 2 ? start[i / 2] : i * width / 8;
        unsigned bit = i * width - 8 * start[i / 2];
        for (unsigned b = 0; b < 8; b++)
            shuffle[i / 2][8 * (i % 2) + b] = (uint8_t)(bit / 8 + b);
        shift[i] = bit % 8;
    }
    for (unsigned h = 0; h < 2; h++) {
        shuffles[h] = _mm256_loadu_si256((const __m256i *)shuffle[2 * h]);
        shifts[h] = _mm256_loadu_si256((const __m256i *)(shift + 4 * h));
    }
    for (size_t i = 0; i < n; i += 8, in += width) {
        uint64_t rest[8], *to = i + 8 <= n ? out + i : rest;
        for (unsigned h = 0; h < 2; h++) {
            __m128i low = _mm_loadu_si128((const __m128i *)(in + start[2 * h]));
            __m128i high = _mm_loadu_si128((const __m128i *)(in + start[2 * h + 1]));
            __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
            __m256i v = _mm256_srlv_epi64(_mm256_shuffle_epi8(both, shuffles[h]), shifts[h]);
            v = _mm256_add_epi64(_mm256_and_si256(v, mask), add);
            _mm256_storeu_si256((__m256i *)(to + 4 * h), v);
        }
        if (to == rest)
            memcpy(out + i, rest, (n - i) * 8);
    }
}

static void unpack64(const uint8_t *in, unsigned width, size_t n, uint64_t base, uint64_t *out)
{
    if (width <= 25)
        narrow_unpack64(in, width, n, base, out);
    else
        wide_unpack64(in, width, n, base, out);
}

static void unpack32(const uint8_t *in, unsigned width, size_t n, uint32_t base, uint32_t *out)
{
    if (width > 25) {
        pack_kernels_portable.unpack32(in, width, n, base, out);
        return;
    }
    struct plan32 p = plan32(width);
    __m256i add = _mm256_set1_epi32((int)base);
    size_t i = 0;

    for (; i + 8 <= n; i += 8, in += width)
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_add_epi32(group32(in, &p), add));
    if (i < n) {
        uint32_t rest[8];
        _mm256_storeu_si256((__m256i *)rest, _mm256_add_epi32(group32(in, &p), add));
        memcpy(out + i, rest, (n - i) * 4);
    }
}

/* A range. `low` and `high` say whether its lower and upper bound need to be tested. */
struct bounds {
    __m256i min, max;
    bool low, high;
};

static inline __m256i outside(__m256i v, const struct bounds *b)
{
    __m256i below = _mm256_cmpgt_epi32(b->min, v), above = _mm256_cmpgt_epi32(v, b->max);

    return b->low && b->high ? _mm256_or_si256(below, above) : b->low ? below : above;
}

/* Compares 32 values. Two pack instructions narrow the results of four groups to bytes; they
 * work within 128-bit halves, so a permutation restores the order. */
static inline uint32_t range_of_32(const uint8_t *in, unsigned width, const struct plan32 *p,
                                   const struct bounds *b)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i first = outside(group32(in, p), b), second = outside(group32(in + width, p), b);
    __m256i third = outside(group32(in + 2 * width, p), b);
    __m256i fourth = outside(group32(in + 3 * width, p), b);
    __m256i all =
        _mm256_packs_epi16(_mm256_packs_epi32(first, second), _mm256_packs_epi32(third, fourth));

    return ~(uint32_t)_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(all, order));
}

static inline __attribute__((always_inline)) const uint8_t *
range_words(const uint8_t *in, unsigned width, size_t words, const struct plan32 *plan,
            struct bounds b, uint64_t *out)
{
    const struct plan32 p = *plan;

    for (size_t i = 0; i < words; i++, in += 8 * width) {
        uint64_t upper = range_of_32(in + 4 * width, width, &p, &b);
        out[i] = upper << 32 | range_of_32(in, width, &p, &b);
    }
    return in;
}

/* Widths up to 8: each value lies within 2 bytes, 16 of them within 16 bytes. A multiplication
 * moves each value to the top of its 16-bit lane (AVX2 has no shift by a separate count for each
 * 16-bit lane); then one shift moves all of them down. */
#define NARROW_BYTES(w, i) (uint8_t)((i) * (w) / 8), (uint8_t)((i) * (w) / 8 + 1)
#define NARROW_SHUFFLE(w) \
    { \
        NARROW_BYTES(w, 0), NARROW_BYTES(w, 1), NARROW_BYTES(w, 2), NARROW_BYTES(w, 3), \
            NARROW_BYTES(w, 4), NARROW_BYTES(w, 5), NARROW_BYTES(w, 6), NARROW_BYTES(w, 7), \
            NARROW_BYTES(w, 8), NARROW_BYTES(w, 9), NARROW_BYTES(w, 10), NARROW_BYTES(w, 11), \
            NARROW_BYTES(w, 12), NARROW_BYTES(w, 13), NARROW_BYTES(w, 14), NARROW_BYTES(w, 15) \
    }
#define NARROW_FACTOR(w, i) (uint16_t)(1u << (16 - (w) - (i) * (w) % 8) % 16)
#define NARROW_FACTORS(w) \
    { \
        NARROW_FACTOR(w, 0), NARROW_FACTOR(w, 1), NARROW_FACTOR(w, 2), NARROW_FACTOR(w, 3), \
            NARROW_FACTOR(w, 4), NARROW_FACTOR(w, 5), NARROW_FACTOR(w, 6), NARROW_FACTOR(w, 7) \
    }
#define NARROW_WIDTHS(m) \
    { \
        m(0), m(1), m(2), m(3), m(4), m(5), m(6), m(7), m(8) \
    }
static const uint8_t narrow_shuffles[9][32] = NARROW_WIDTHS(NARROW_SHUFFLE);
static const uint16_t narrow_factors[9][8] = NARROW_WIDTHS(NARROW_FACTORS);

static inline __m256i outside16(const uint8_t *in, __m256i shuffle, __m256i factor, __m128i down,
                                __m256i min, __m256i max)
{
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)in));
    __m256i v = _mm256_mullo_epi16(_mm256_shuffle_epi8(both, shuffle), factor);

    v = _mm256_srl_epi16(v, down);
    return _mm256_or_si256(_mm256_cmpgt_epi16(min, v), _mm256_cmpgt_epi16(v, max));
}

/* Writes only whole 64-bit words of `out`. Returns the number of values that they cover. */
static size_t narrow_range_bits(const uint8_t *in, unsigned width, size_t n, uint32_t lo,
                                uint32_t hi, uint64_t *out)
{
    __m256i shuffle = _mm256_loadu_si256((const __m256i *)narrow_shuffles[width]);
    __m256i factor =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)narrow_factors[width]));
    __m256i min = _mm256_set1_epi16((short)lo), max = _mm256_set1_epi16((short)hi);
    __m128i down = _mm_cvtsi32_si128((int)(16 - width));

    for (size_t i = 0; i < n / 64; i++) {
        uint64_t words[2];
        for (unsigned half = 0; half < 2; half++, in += 4 * width) {
            __m256i a = outside16(in, shuffle, factor, down, min, max);
            __m256i b = outside16(in + 2 * width, shuffle, factor, down, min, max);
            __m256i all = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xD8);
            words[half] = ~(uint32_t)_mm256_movemask_epi8(all);
        }
        out[i] = words[0] | words[1] << 32;
    }
    return n / 64 * 64;
}

static inline __m256i inside16(const uint8_t *in, __m256i min, __m256i max)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)in);

    return _mm256_and_si256(_mm256_cmpeq_epi16(_mm256_max_epu16(v, min), v),
                            _mm256_cmpeq_epi16(_mm256_min_epu16(v, max), v));
}

/* The same for values of exactly two bytes. */
static size_t range_bits16(const uint8_t *in, size_t n, uint32_t lo, uint32_t hi, uint64_t *out)
{
    __m256i min = _mm256_set1_epi16((short)lo), max = _mm256_set1_epi16((short)hi);

    for (size_t i = 0; i < n / 64; i++) {
        uint64_t words[2];
        for (unsigned half = 0; half < 2; half++, in += 64) {
            __m256i all = _mm256_packs_epi16(inside16(in, min, max), inside16(in + 32, min, max));
            words[half] = (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(all, 0xD8));
        }
        out[i] = words[0] | words[1] << 32;
    }
    return n / 64 * 64;
}

/* Compares values while they are decoded, without storing them. */
static void range_bits(const uint8_t *in, unsigned width, size_t n, uint32_t lo, uint32_t hi,
                       uint64_t *out)
{
    struct plan32 p = plan32(width);
    struct bounds b = {_mm256_set1_epi32((int)lo), _mm256_set1_epi32((int)hi), true, true};

    if (width <= 8)
        in += narrow_range_bits(in, width, n, lo, hi, out) / 8 * width;
    else if (width == 16)
        in += range_bits16(in, n, lo, hi, out) / 8 * width;
    else if (lo == 0)
        in = range_words(in, width, n / 64, &p, (struct bounds){b.min, b.max, false, true}, out);
    else if (hi >= ((uint32_t)1 << width) - 1)
        in = range_words(in, width, n / 64, &p, (struct bounds){b.min, b.max, true, false}, out);
    else
        in = range_words(in, width, n / 64, &p, b, out);
    for (size_t i = n / 64 * 64; i < n; i += 8, in += width) {
        __m256 not = _mm256_castsi256_ps(outside(group32(in, &p), &b));
        uint64_t some = ~(unsigned)_mm256_movemask_ps(not ) & 255;
        out[i / 64] = i % 64 ? out[i / 64] | some << i % 64 : some;
    }
    if (n % 64)
        out[n / 64] &= ((uint64_t)1 << n % 64) - 1;
}

/* Decodes the group of 8 values at `in`; lanes outside of [from, to) become 0. */
static inline __m256i some_of_group(const uint8_t *in, const struct plan32 *p, size_t from,
                                    size_t to)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)from), lane);
    __m256i within = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)to), lane);

    return _mm256_and_si256(group32(in, p), _mm256_andnot_si256(before, within));
}

/* A block has at most 1,024 values, so each of the 8 lanes adds at most 128. Values have at most
 * 25 bits: the sum of a lane does not overflow 32 bits. */
static uint64_t sum_bits(const uint8_t *in, unsigned width, size_t from, size_t to)
{
    struct plan32 p = plan32(width);
    size_t group = from / 8, last = to / 8;
    uint32_t lanes[8];
    uint64_t sum = 0;

    if (from >= to)
        return 0;
    const uint8_t *at = in + group * width;
    __m256i all = some_of_group(at, &p, from % 8, group == last ? to % 8 : 8);
    for (group++, at += width; group < last; group++, at += width)
        all = _mm256_add_epi32(all, group32(at, &p));
    if (group == last && to % 8)
        all = _mm256_add_epi32(all, some_of_group(at, &p, 0, to % 8));
    _mm256_storeu_si256((__m256i *)lanes, all);
    for (unsigned i = 0; i < 8; i++)
        sum += lanes[i];
    return sum;
}

/* Lane moves that bring the values of a 4-bit mask to their places: lane k takes value number
 * popcount(mask below k). */
static const uint32_t expand_lanes[16][8] = {
#define LANE(k, m) \
    (2 * __builtin_popcount((m) & ((1u << (k)) - 1))), \
        (2 * __builtin_popcount((m) & ((1u << (k)) - 1)) + 1)
#define LANES(m) \
    { \
        LANE(0, m), LANE(1, m), LANE(2, m), LANE(3, m) \
    }
    LANES(0u), LANES(1u), LANES(2u),  LANES(3u),  LANES(4u),  LANES(5u),  LANES(6u),  LANES(7u),
    LANES(8u), LANES(9u), LANES(10u), LANES(11u), LANES(12u), LANES(13u), LANES(14u), LANES(15u),
};

static const int64_t *expand64(const int64_t *in, const uint64_t *valid, size_t n, int64_t *out)
{
    const __m256i bits = _mm256_set_epi64x(8, 4, 2, 1);
    size_t i = 0;

    while (i + 4 <= n) {
        if (i % 64 == 0 && valid[i / 64] == UINT64_MAX &&
            i + 64 <= n) { /* nulls come in clusters */
            memcpy(out + i, in, 64 * sizeof(*out));
            in += 64;
            i += 64;
            continue;
        }
        unsigned mask = (unsigned)(valid[i / 64] >> (i % 64)) & 15;
        __m256i v = _mm256_loadu_si256((const __m256i *)in);
        __m256i lanes = _mm256_loadu_si256((const __m256i *)expand_lanes[mask]);
        __m256i has = _mm256_and_si256(_mm256_set1_epi64x(mask), bits);
        v = _mm256_permutevar8x32_epi32(v, lanes);
        v = _mm256_and_si256(v, _mm256_cmpeq_epi64(has, bits));
        _mm256_storeu_si256((__m256i *)(out + i), v);
        in += __builtin_popcount(mask);
        i += 4;
    }
    for (; i < n; i++) {
        uint64_t bit = valid[i / 64] >> (i % 64) & 1;
        out[i] = *in & -(int64_t)bit;
        in += bit;
    }
    return in;
}

static inline __m256i smaller(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}
static inline __m256i larger(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

static int64_t reduce(__m256i v, bool min)
{
    int64_t lane[4];
    _mm256_storeu_si256((__m256i *)lane, v);
    for (unsigned i = 1; i < 4; i++)
        lane[0] = (lane[i] < lane[0]) == min ? lane[i] : lane[0];
    return lane[0];
}

/* Per lane: the minimum and maximum of values and of differences, and minus the number of
 * differences that are 0. */
struct lanes {
    __m256i min, max, step_min, step_max, same;
};

static inline void lanes_add(struct lanes *l, __m256i x, __m256i step)
{
    l->min = smaller(l->min, x);
    l->max = larger(l->max, x);
    l->step_min = smaller(l->step_min, step);
    l->step_max = larger(l->step_max, step);
    l->same = _mm256_add_epi64(l->same, _mm256_cmpeq_epi64(step, _mm256_setzero_si256()));
}

/* Extends *r by the values from `i` on. The value before them is measured with them, for the
 * first difference. */
static void measure_rest(const int64_t *v, size_t i, size_t n, struct pack_range *r)
{
    struct pack_range tail;

    if (i >= n)
        return;
    pack_kernels_portable.measure(v + i - 1, n - i + 1, &tail);
    tail.runs--;
    pack_range_join(r, &tail);
}

static void measure64(const int64_t *v, size_t n, struct pack_range *ret)
{
    struct lanes l = {.min = _mm256_set1_epi64x(v[0]),
                      .max = _mm256_set1_epi64x(v[0]),
                      .step_min = _mm256_set1_epi64x(INT64_MAX),
                      .step_max = _mm256_set1_epi64x(INT64_MIN)};
    int64_t same[4];
    size_t i = 1;

    for (; i + 4 <= n; i += 4) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(v + i));
        lanes_add(&l, x, _mm256_sub_epi64(x, _mm256_loadu_si256((const __m256i *)(v + i - 1))));
    }
    _mm256_storeu_si256((__m256i *)same, l.same);
    *ret = (struct pack_range){reduce(l.min, true), reduce(l.max, false), reduce(l.step_min, true),
                               reduce(l.step_max, false),
                               (uint32_t)((int64_t)i + same[0] + same[1] + same[2] + same[3])};
    measure_rest(v, i, n, ret);
}

/* The low halves of 8 values. Their order is changed, but always in the same way, so that lanes
 * of two calls can be subtracted from each other. */
static inline __m256i low_halves(const int64_t *v)
{
    __m256 a = _mm256_loadu_ps((const float *)v), b = _mm256_loadu_ps((const float *)(v + 4));
    return _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
}

static inline __m256i high_halves(const int64_t *v)
{
    __m256 a = _mm256_loadu_ps((const float *)v), b = _mm256_loadu_ps((const float *)(v + 4));
    return _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD));
}

static int32_t reduce32(__m256i v, bool min)
{
    int32_t lane[8];
    _mm256_storeu_si256((__m256i *)lane, v);
    for (unsigned i = 1; i < 8; i++)
        lane[0] = (lane[i] < lane[0]) == min ? lane[i] : lane[0];
    return lane[0];
}

static int64_t sum32(__m256i v)
{
    int32_t lane[8];
    int64_t sum = 0;
    _mm256_storeu_si256((__m256i *)lane, v);
    for (unsigned i = 0; i < 8; i++)
        sum += lane[i];
    return sum;
}

/* For values from -2^30 to 2^30 - 1, whose differences fit 32 bits. Most columns are such; this
 * is twice as fast as measure64. Returns false if there is any other value. */
static bool measure32(const int64_t *v, size_t n, struct pack_range *ret)
{
    const __m256i first = _mm256_set1_epi32((int32_t)v[0]), none = _mm256_setzero_si256();
    __m256i min = first, max = first, same = none, wide = none;
    __m256i step_min = _mm256_set1_epi32(INT32_MAX), step_max = _mm256_set1_epi32(INT32_MIN);
    size_t i = 1;

    for (; i + 8 <= n; i += 8) {
        __m256i x = low_halves(v + i), step = _mm256_sub_epi32(x, low_halves(v + i - 1));
        __m256i sign = _mm256_srai_epi32(x, 31),
                next = _mm256_srai_epi32(_mm256_slli_epi32(x, 1), 31);
        wide = _mm256_or_si256(wide, _mm256_xor_si256(sign, high_halves(v + i)));
        wide = _mm256_or_si256(wide, _mm256_xor_si256(sign, next));
        min = _mm256_min_epi32(min, x);
        max = _mm256_max_epi32(max, x);
        step_min = _mm256_min_epi32(step_min, step);
        step_max = _mm256_max_epi32(step_max, step);
        same = _mm256_add_epi32(same, _mm256_cmpeq_epi32(step, none));
    }
    if (!_mm256_testz_si256(wide, wide))
        return false;
    *ret = (struct pack_range){reduce32(min, true), reduce32(max, false), reduce32(step_min, true),
                               reduce32(step_max, false), (uint32_t)((int64_t)i + sum32(same))};
    measure_rest(v, i, n, ret);
    return true;
}

static bool is_small(int64_t v)
{
    return v >= -(1 << 30) && v < 1 << 30;
}

static void measure(const int64_t *v, size_t n, struct pack_range *ret)
{
    if (n < 16)
        pack_kernels_portable.measure(v, n, ret);
    else if (!is_small(v[0]) || !is_small(v[n - 1]) || !measure32(v, n, ret))
        measure64(v, n, ret);
}

static size_t put_places(unsigned mask, size_t place, uint64_t *out, size_t count)
{
    for (; mask != 0; mask &= mask - 1)
        out[count++] = place + (unsigned)__builtin_ctz(mask);
    return count;
}

static size_t above_mask(const uint64_t *v, size_t n, uint64_t mask, uint64_t *out)
{
    const __m256i sign = _mm256_set1_epi64x(INT64_MIN),
                  max = _mm256_xor_si256(_mm256_set1_epi64x((long long)mask), sign);
    size_t count = 0, i = 0;

    for (; i + 4 <= n; i += 4) {
        __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(v + i)), sign);
        unsigned more =
            (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(x, max)));
        count = put_places(more, i, out, count);
    }
    for (; i < n; i++)
        if (v[i] > mask)
            out[count++] = i;
    return count;
}

/* Compares all values. For few values this is faster than a binary search, which has branches,
 * and loads that depend on each other. */
static uint32_t count_below(const uint32_t *v, size_t n, uint32_t place)
{
    const __m256i limit = _mm256_set1_epi32((int)place);
    __m256i below = _mm256_setzero_si256();

    for (size_t i = 0; i < n; i += 8)
        below = _mm256_sub_epi32(
            below, _mm256_cmpgt_epi32(limit, _mm256_loadu_si256((const __m256i *)(v + i))));
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(below), _mm256_extracti128_si256(below, 1));
    half = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
    return (uint32_t)_mm_cvtsi128_si32(half) + (uint32_t)_mm_extract_epi32(half, 1);
}

static void find_places(const uint32_t *v, size_t n, const uint32_t *places, size_t count,
                        uint32_t first, uint32_t *out)
{
    enum { MANY = 256 };

    if (n > MANY) {
        pack_kernels_portable.find_places(v, n, places, count, first, out);
        return;
    }
    for (size_t k = 0; k < count; k++)
        out[k] = count_below(v, n, places[k] - first);
}

static size_t changes(const int64_t *v, size_t n, uint64_t *out)
{
    size_t count = 0, i = 0;

    for (; i + 5 <= n; i += 4) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(v + i)),
                y = _mm256_loadu_si256((const __m256i *)(v + i + 1));
        unsigned same = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, y)));
        count = put_places(same ^ 15, i, out, count);
    }
    for (; i + 1 < n; i++)
        if (v[i] != v[i + 1])
            out[count++] = i;
    return count;
}

/* out[0] is the start; the steps after it become sums. Sums are first computed within a
 * register, so that registers depend on each other by one addition only. */
static void prefix_sum(uint64_t *out, size_t n)
{
    __m256i carry = _mm256_set1_epi64x((long long)out[0]);
    size_t i = 1;

    for (; i + 4 <= n; i += 4) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(out + i));
        x = _mm256_add_epi64(x, _mm256_slli_si256(x, 8));
        __m256i low = _mm256_permute4x64_epi64(x, 0x55); /* the sum of the lower two in all lanes */
        x = _mm256_add_epi64(x, _mm256_blend_epi32(_mm256_setzero_si256(), low, 0xF0));
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_add_epi64(x, carry));
        carry = _mm256_add_epi64(carry, _mm256_permute4x64_epi64(x, 0xFF));
    }
    for (; i < n; i++)
        out[i] += out[i - 1];
}

/* Returns true, and sets out[i] = dict[codes[i]], if all codes are below `count`. */
static bool look_up(const uint32_t *codes, size_t n, const int64_t *dict, uint32_t count,
                    int64_t *out)
{
    uint32_t max = 0;
    size_t i = 0;

    for (size_t k = 0; k < n; k++)
        max = codes[k] > max ? codes[k] : max;
    if (n > 0 && max >= count)
        return false;
    for (; i + 4 <= n; i += 4) {
        __m128i place = _mm_loadu_si128((const __m128i *)(codes + i));
        _mm256_storeu_si256((__m256i *)(out + i),
                            _mm256_i32gather_epi64((const long long *)dict, place, 8));
    }
    for (; i < n; i++)
        out[i] = dict[codes[i]];
    return true;
}

const struct pack_kernels pack_kernels_avx2 = PACK_KERNELS;
#else
typedef int pack_avx2_is_for_x86_only;
#endif
