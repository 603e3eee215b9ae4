/* kernel_avx2.c - the kernels with AVX2: 4 values of 64 bits or 8 of 32 bits at a time. */
#if defined(__x86_64__)
#include <immintrin.h>

#define LOW_BITS(v, n) _bzhi_u64(v, n)
#define EXTRACT_BITS(v, m) _pext_u64(v, m)
#define DEPOSIT_BITS(v, m) _pdep_u64(v, m)
#include "base/kernel_loops.h"

/* Clears the bits of rows beyond n in the last word. */
static uint64_t clear_beyond(uint64_t word, uint32_t left)
{
    return left < 64 ? word & (((uint64_t)1 << left) - 1) : word;
}

static void range_i64(const int64_t *v, uint32_t n, int64_t lo, int64_t hi, uint64_t *mask)
{
    const __m256i low = _mm256_set1_epi64x(lo), high = _mm256_set1_epi64x(hi);

    for (uint32_t at = 0; at < n; at += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64; i += 4) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(v + at + i));
            __m256i out = _mm256_or_si256(_mm256_cmpgt_epi64(low, x), _mm256_cmpgt_epi64(x, high));
            word |= (uint64_t)(unsigned)(_mm256_movemask_pd(_mm256_castsi256_pd(out)) ^ 15) << i;
        }
        mask[at / 64] = clear_beyond(word, n - at);
    }
}

static void range_f64(const double *v, uint32_t n, double lo, double hi, uint64_t *mask)
{
    const __m256d low = _mm256_set1_pd(lo), high = _mm256_set1_pd(hi);

    for (uint32_t at = 0; at < n; at += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64; i += 4) {
            __m256d x = _mm256_loadu_pd(v + at + i);
            __m256d in = _mm256_and_pd(_mm256_cmp_pd(x, low, _CMP_GE_OQ),
                                       _mm256_cmp_pd(x, high, _CMP_LE_OQ));
            word |= (uint64_t)(unsigned)_mm256_movemask_pd(in) << i;
        }
        mask[at / 64] = clear_beyond(word, n - at);
    }
}

static void equal_u32(const uint32_t *v, uint32_t n, uint32_t code, uint64_t *mask)
{
    const __m256i wanted = _mm256_set1_epi32((int)code);

    for (uint32_t at = 0; at < n; at += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64; i += 8) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(v + at + i));
            __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(x, wanted));
            word |= (uint64_t)(unsigned)_mm256_movemask_ps(same) << i;
        }
        mask[at / 64] = clear_beyond(word, n - at);
    }
}

/* A table of up to 32 codes is one word, in a register; words of larger ones are loaded by a gather
 * instruction. Rows beyond n may have any code, so indexes are limited to the table. */
static void table_u32(const uint32_t *v, uint32_t n, const uint32_t *table, uint32_t codes,
                      uint64_t *mask)
{
    const __m256i one = _mm256_set1_epi32((int)table[0]), low = _mm256_set1_epi32(31);
    const __m256i last = _mm256_set1_epi32((int)((codes - 1) / 32));

    for (uint32_t at = 0; at < n; at += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64; i += 8) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(v + at + i)), bits = one;
            if (codes > 32)
                bits = _mm256_i32gather_epi32((const int *)table,
                                              _mm256_min_epu32(_mm256_srli_epi32(x, 5), last), 4);
            bits = _mm256_slli_epi32(_mm256_srlv_epi32(bits, _mm256_and_si256(x, low)), 31);
            word |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(bits)) << i;
        }
        mask[at / 64] = clear_beyond(word, n - at);
    }
}

/* Returns the numbers of the set bits of a byte, without gaps, as 8 bytes. */
static inline __m128i numbers_of_bits(uint64_t byte)
{
    uint64_t spread = _pdep_u64(byte, 0x0101010101010101u) * 0xFF;

    return _mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100u, spread));
}

/* Writes the set bits of eight rows that begin at `base`. */
static uint32_t select_byte(uint64_t byte, uint32_t base, uint16_t *out)
{
    __m128i wide = _mm_cvtepu8_epi16(numbers_of_bits(byte));

    _mm_storeu_si128((__m128i *)out, _mm_add_epi16(wide, _mm_set1_epi16((short)base)));
    return (uint32_t)_mm_popcnt_u64(byte);
}

static uint32_t select_rows(const uint64_t *mask, uint32_t n, uint16_t *out)
{
    enum { SPARSE = 8, UNCHECKED = 2 }; /* the first bits of a sparse word need no branch */
    uint32_t count = 0;

    for (uint32_t at = 0; at < n; at += 64) {
        uint64_t word = mask[at / 64];
        if (_mm_popcnt_u64(word) <= SPARSE) {
            for (unsigned i = 0; i < UNCHECKED; i++, word = _blsr_u64(word)) {
                out[count] = (uint16_t)(at + (uint32_t)_tzcnt_u64(word));
                count += word != 0;
            }
            for (; word; word = _blsr_u64(word))
                out[count++] = (uint16_t)(at + (uint32_t)_tzcnt_u64(word));
            continue;
        }
        for (uint32_t i = 0; i < 64; i += 8)
            count += select_byte(word >> i & 0xFF, at + i, out + count);
    }
    return count;
}

/* Returns an index for _mm256_permutevar8x32_epi32 that moves the lanes of set bits together. */
static inline __m256i lanes_of_byte(uint64_t byte)
{
    return _mm256_cvtepu8_epi32(numbers_of_bits(byte));
}

/* The same for 4 bits and values of two lanes, as a table. */
static const uint32_t half_lanes[16][8] = {
    {0, 1, 0, 1, 0, 1, 0, 1}, {0, 1, 0, 1, 0, 1, 0, 1}, {2, 3, 0, 1, 0, 1, 0, 1},
    {0, 1, 2, 3, 0, 1, 0, 1}, {4, 5, 0, 1, 0, 1, 0, 1}, {0, 1, 4, 5, 0, 1, 0, 1},
    {2, 3, 4, 5, 0, 1, 0, 1}, {0, 1, 2, 3, 4, 5, 0, 1}, {6, 7, 0, 1, 0, 1, 0, 1},
    {0, 1, 6, 7, 0, 1, 0, 1}, {2, 3, 6, 7, 0, 1, 0, 1}, {0, 1, 2, 3, 6, 7, 0, 1},
    {4, 5, 6, 7, 0, 1, 0, 1}, {0, 1, 4, 5, 6, 7, 0, 1}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7},
};

static inline __m256i lanes_of_half(uint64_t bits)
{
    return _mm256_loadu_si256((const __m256i *)half_lanes[bits]);
}

#define KEEP(bits, lanes) \
    for (uint32_t at = 0; at < n; at += (bits)) { \
        uint64_t some = mask[at / 64] >> at % 64 & ((1 << (bits)) - 1); \
        __m256i x = _mm256_loadu_si256((const __m256i *)(v + at)); \
        _mm256_storeu_si256((__m256i *)(out + count), \
                            _mm256_permutevar8x32_epi32(x, lanes(some))); \
        count += (uint32_t)_mm_popcnt_u64(some); \
    }

static uint32_t keep_u32(const uint32_t *v, const uint64_t *mask, uint32_t n, uint32_t *out)
{
    uint32_t count = 0;

    KEEP(8, lanes_of_byte)
    return count;
}

static uint32_t keep_i64(const int64_t *v, const uint64_t *mask, uint32_t n, int64_t *out)
{
    uint32_t count = 0;

    KEEP(4, lanes_of_half)
    return count;
}

/* A slot is one register: (sum, squares) and count are 64-bit sums, (min, inverted_max) are minima
 * of 32-bit lanes. */
static inline void add_row(struct kernel_sum *slot, __m256i row)
{
    __m256i old = _mm256_load_si256((const __m256i *)slot);
    __m256i sums = _mm256_add_epi64(old, row), ends = _mm256_min_epi32(old, row);

    _mm256_store_si256((__m256i *)slot, _mm256_blend_epi32(sums, ends, 0x30));
}

static uint64_t sum_slots(const uint32_t *slot, const int64_t *v, uint32_t n,
                          struct kernel_sum *table)
{
    const __m256i one = _mm256_set1_epi64x(1),
                  upper = _mm256_set1_epi64x((long long)0xFFFFFFFF00000000);
    __m256i weight = _mm256_setzero_si256();
    uint64_t parts[4];
    uint32_t j = 0;

    for (; j + 4 <= n; j += 4) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(v + j)), squares = _mm256_mul_epu32(x, x);
        __m256i ends = _mm256_xor_si256(_mm256_shuffle_epi32(x, 0xA0), upper);
        __m256i even = _mm256_unpacklo_epi64(x, squares), odd = _mm256_unpackhi_epi64(x, squares);
        __m256i even_ends = _mm256_unpacklo_epi64(ends, one);
        __m256i odd_ends = _mm256_unpackhi_epi64(ends, one);
        weight = _mm256_add_epi64(weight, _mm256_add_epi64(_mm256_srli_epi64(squares, 16), one));
        add_row(table + 2 * (size_t)slot[j], _mm256_permute2x128_si256(even, even_ends, 0x20));
        add_row(table + 2 * (size_t)slot[j + 1] + 1,
                _mm256_permute2x128_si256(odd, odd_ends, 0x20));
        add_row(table + 2 * (size_t)slot[j + 2], _mm256_permute2x128_si256(even, even_ends, 0x31));
        add_row(table + 2 * (size_t)slot[j + 3] + 1,
                _mm256_permute2x128_si256(odd, odd_ends, 0x31));
    }
    _mm256_storeu_si256((__m256i *)parts, weight);
    /* j is even, so the rest is added to the same halves of slots. */
    parts[0] += kernels_portable.sum(slot + j, v + j, n - j, table);
    return parts[0] + parts[1] + parts[2] + parts[3];
}

static uint32_t max_u32(const uint32_t *v, uint32_t n)
{
    __m256i first = _mm256_setzero_si256(), second = first;
    uint32_t lanes[8], j = 0;

    for (; j + 16 <= n; j += 16) {
        first = _mm256_max_epu32(first, _mm256_loadu_si256((const __m256i *)(v + j)));
        second = _mm256_max_epu32(second, _mm256_loadu_si256((const __m256i *)(v + j + 8)));
    }
    _mm256_storeu_si256((__m256i *)lanes, _mm256_max_epu32(first, second));
    uint32_t max = kernels_portable.max(v + j, n - j), of_lanes = kernels_portable.max(lanes, 8);
    return max > of_lanes ? max : of_lanes;
}

static void add_scaled(const uint32_t *sums, const uint32_t *codes, uint32_t n, uint32_t stride,
                       uint32_t *out)
{
    const __m256i by = _mm256_set1_epi32((int)stride);
    uint32_t j = 0;

    for (; j + 8 <= n; j += 8) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(codes + j));
        __m256i sum = _mm256_loadu_si256((const __m256i *)(sums + j));
        sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(x, by));
        _mm256_storeu_si256((__m256i *)(out + j), sum);
    }
    kernels_portable.add_scaled(sums + j, codes + j, n - j, stride, out + j);
}

static bool look_up(const uint32_t *table, const uint32_t *at, uint32_t n, uint32_t *out)
{
    const __m256i none = _mm256_set1_epi32(-1);
    __m256i any = _mm256_setzero_si256();
    uint32_t j = 0;

    for (; j + 8 <= n; j += 8) {
        __m256i places = _mm256_loadu_si256((const __m256i *)(at + j));
        __m256i found = _mm256_i32gather_epi32((const int *)table, places, 4);
        any = _mm256_or_si256(any, _mm256_cmpeq_epi32(found, none));
        _mm256_storeu_si256((__m256i *)(out + j), found);
    }
    bool all = _mm256_testz_si256(any, any);
    return kernels_portable.look_up(table, at + j, n - j, out + j) && all;
}

/* Returns the quotients of 4 values. Below 2^51, doubles are exact except for the quotient,
 * which is wrong by at most one and then corrected. */
static inline __m128i divide4(__m256i x, __m256d step, __m256d part, __m256i limit)
{
    const __m256i exponent = _mm256_set1_epi64x(0x4330000000000000);
    const __m256i zero = _mm256_setzero_si256();
    __m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi64(zero, x), _mm256_cmpgt_epi64(limit, x));
    x = _mm256_and_si256(x, in);
    __m256d d = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, exponent)),
                              _mm256_castsi256_pd(exponent));
    __m256d q = _mm256_round_pd(_mm256_mul_pd(d, part), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __m256d rest = _mm256_sub_pd(d, _mm256_mul_pd(q, step)), one = _mm256_set1_pd(1);
    __m256d less = _mm256_cmp_pd(rest, _mm256_setzero_pd(), _CMP_LT_OQ);
    __m256d more = _mm256_cmp_pd(rest, step, _CMP_GE_OQ);

    q = _mm256_sub_pd(q, _mm256_and_pd(less, one));
    return _mm256_cvttpd_epi32(_mm256_add_pd(q, _mm256_and_pd(more, one)));
}

static void divide(const int64_t *v, uint32_t n, int64_t first, uint64_t step, uint32_t count,
                   uint32_t *out)
{
    const __m256i from = _mm256_set1_epi64x(first);
    const __m256i limit = _mm256_set1_epi64x((long long)(step * count));
    const __m256d by = _mm256_set1_pd((double)step), part = _mm256_set1_pd(1 / (double)step);
    const uint64_t exact = (uint64_t)1 << 51;
    uint32_t j = 0;

    for (; step <= exact / count && j + 4 <= n; j += 4) {
        __m256i x = _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)(v + j)), from);
        _mm_storeu_si128((__m128i *)(out + j), divide4(x, by, part, limit));
    }
    kernels_portable.divide(v + j, n - j, first, step, count, out + j);
}

const struct kernels kernels_avx2 = {range_i64,  range_f64, equal_u32, table_u32,   select_rows,
                                     count_bits, keep_u32,  keep_i64,  find_places, rank_words,
                                     deposit,    extract,   sum_slots, max_u32,     add_scaled,
                                     look_up,    divide};
#endif
