/* kernel_portable.c - the kernels in C for processors without AVX2. Compilers vectorise them for
 * the baseline instruction set. */
#include "base/kernel_loops.h"

#include <stddef.h>

/* Sets each word of `mask` to the results of `test` for rows at + i. */
#define FOR_WORDS(test) \
    for (uint32_t at = 0; at < n; at += 64) { \
        uint32_t end = n - at < 64 ? n - at : 64; \
        uint64_t word = 0; \
        for (uint32_t i = 0; i < end; i++) \
            word |= (uint64_t)(test) << i; \
        mask[at / 64] = word; \
    }

static void range_i64(const int64_t *v, uint32_t n, int64_t lo, int64_t hi, uint64_t *mask)
{
    FOR_WORDS((v[at + i] >= lo) & (v[at + i] <= hi))
}

static void range_f64(const double *v, uint32_t n, double lo, double hi, uint64_t *mask)
{
    FOR_WORDS((v[at + i] >= lo) & (v[at + i] <= hi))
}

static void equal_u32(const uint32_t *v, uint32_t n, uint32_t code, uint64_t *mask)
{
    FOR_WORDS(v[at + i] == code)
}

static void table_u32(const uint32_t *v, uint32_t n, const uint32_t *table, uint32_t codes,
                      uint64_t *mask)
{
    (void)codes;
    FOR_WORDS(table[v[at + i] / 32] >> v[at + i] % 32 & 1)
}

static uint32_t select_rows(const uint64_t *mask, uint32_t n, uint16_t *out)
{
    uint32_t count = 0;

    for (uint32_t at = 0; at < n; at += 64) {
        for (uint64_t word = mask[at / 64]; word; word &= word - 1)
            out[count++] = (uint16_t)(at + (uint32_t)__builtin_ctzll(word));
    }
    return count;
}

#define KEEP \
    uint32_t count = 0; \
    for (uint32_t at = 0; at < n; at += 64) { \
        for (uint64_t word = mask[at / 64]; word; word &= word - 1) \
            out[count++] = v[at + (uint32_t)__builtin_ctzll(word)]; \
    } \
    return count;

static uint32_t keep_u32(const uint32_t *v, const uint64_t *mask, uint32_t n, uint32_t *out)
{
    KEEP
}

static uint32_t keep_i64(const int64_t *v, const uint64_t *mask, uint32_t n, int64_t *out)
{
    KEEP
}

static uint64_t sum_slots(const uint32_t *slot, const int64_t *v, uint32_t n,
                          struct kernel_sum *table)
{
    uint64_t weight = 0;

    for (uint32_t j = 0; j < n; j++) {
        struct kernel_sum *s = &table[2 * (size_t)slot[j] + j % 2];
        uint64_t square = (uint64_t)(uint32_t)v[j] * (uint32_t)v[j];
        int32_t value = (int32_t)v[j];
        s->sum += (uint64_t)v[j];
        s->squares += square;
        s->min = value < s->min ? value : s->min;
        s->inverted_max = ~value < s->inverted_max ? ~value : s->inverted_max;
        s->count++;
        weight += (square >> 16) + 1;
    }
    return weight;
}

static uint32_t max_u32(const uint32_t *v, uint32_t n)
{
    uint32_t max = 0;

    for (uint32_t j = 0; j < n; j++)
        max = v[j] > max ? v[j] : max;
    return max;
}

static void add_scaled(const uint32_t *sums, const uint32_t *codes, uint32_t n, uint32_t stride,
                       uint32_t *out)
{
    for (uint32_t j = 0; j < n; j++)
        out[j] = sums[j] + codes[j] * stride;
}

static bool look_up(const uint32_t *table, const uint32_t *at, uint32_t n, uint32_t *out)
{
    bool all = true;

    for (uint32_t j = 0; j < n; j++) {
        out[j] = table[at[j]];
        all &= out[j] != UINT32_MAX;
    }
    return all;
}

/* Values are mostly in order, so most have the quotient of the value before. A division is done
 * only for a value outside of [from, from + step), the range of that quotient. */
static void divide(const int64_t *v, uint32_t n, int64_t first, uint64_t step, uint32_t count,
                   uint32_t *out)
{
    uint64_t from = 0;
    uint32_t code = 0;

    for (uint32_t j = 0; j < n; j++) {
        uint64_t x = (uint64_t)v[j] - (uint64_t)first;
        if (x - from >= step) {
            uint64_t found = x / step;
            code = found < count ? (uint32_t)found : 0;
            from = code * step;
        }
        out[j] = code;
    }
}

const struct kernels kernels_portable = {range_i64,  range_f64, equal_u32, table_u32,   select_rows,
                                         count_bits, keep_u32,  keep_i64,  find_places, rank_words,
                                         deposit,    extract,   sum_slots, max_u32,     add_scaled,
                                         look_up,    divide};
