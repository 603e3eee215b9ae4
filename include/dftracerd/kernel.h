/* kernel.h - work on many values at once: comparisons into bitmaps, bitmaps into places. With the
 * best instructions of this machine, found out at run time; all forms give the same.
 *
 * May use: nothing. Used by: index, engine, answer. Threads: any. `mask` has (n + 63) / 64 words;
 * bits beyond n are written as 0. Values must be readable up to n rounded up to 64.
 */
#ifndef DFTRACERD_KERNEL_H
#define DFTRACERD_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* What the values of one slot sum up to, in 32 bytes. `inverted_max` is ~max; those and `least` are
 * INT32_MAX while count is 0. */
struct kernel_sum {
    uint64_t sum, squares;
    int32_t least, inverted_max;
    uint64_t count;
};

struct kernels {
    void (*range_i64)(const int64_t *v, uint32_t n, int64_t lo, int64_t hi, uint64_t *mask);
    void (*range_f64)(const double *v, uint32_t n, double lo, double hi, uint64_t *mask);
    void (*equal_u32)(const uint32_t *v, uint32_t n, uint32_t code, uint64_t *mask);
    /* Bit v[i] of the table, which has `codes` bits and is readable in whole 32-bit words. */
    void (*table_u32)(const uint32_t *v, uint32_t n, const uint32_t *table, uint32_t codes,
                      uint64_t *mask);
    /* places of set bits; out: n + 64 places */
    uint32_t (*select)(const uint64_t *mask, uint32_t n, uint16_t *out);
    uint32_t (*count)(const uint64_t *mask, uint32_t words); /* set bits */
    /* The values whose bits are set, closed up. out: room for n rounded up to 8. Returns how many.
     */
    uint32_t (*keep_u32)(const uint32_t *v, const uint64_t *mask, uint32_t n, uint32_t *out);
    uint32_t (*keep_i64)(const int64_t *v, const uint64_t *mask, uint32_t n, int64_t *out);
    /* Of n rows, ascending: at[i] = which of them is the i-th whose bit of `valid` is set,
     * places[i] = how many set bits of `valid` stand before that one. ranks[w]: set bits before
     * word w. Returns how many; the arrays have room for n. */
    uint32_t (*places)(const uint32_t *rows, uint32_t n, const uint64_t *valid,
                       const uint32_t *ranks, uint16_t *at, uint32_t *places);
    /* out[words] and result: all set bits */
    uint32_t (*ranks)(const uint64_t *mask, uint32_t words, uint32_t *out);
    /* Deals the bits from number `at` of `bits` on out to the set places of `valid`, in order;
     * other places become 0. Returns the number behind the last bit taken. Reads one word too far
     * at most. */
    uint64_t (*deposit)(const uint64_t *bits, uint64_t at, const uint64_t *valid, uint32_t words,
                        uint64_t *out);
    /* The other way: bits at set places of `valid`, without gaps, and 0 behind them. out: words +
     * 1. Returns how many. */
    uint64_t (*extract)(const uint64_t *bits, const uint64_t *valid, uint32_t words, uint64_t *out);
    /* Adds value j to table[2 * slot[j] + j % 2] (aligned to 32): two of each, so that neighbours
     * of one slot need not wait for each other. Exact for 0 <= v < 2^31 while no sum of squares
     * overflows; returns the sum of v^2 / 65536 + 1, rounded down each. Of other values anything
     * may be added. */
    uint64_t (*sum)(const uint32_t *slot, const int64_t *v, uint32_t n, struct kernel_sum *table);
    uint32_t (*most)(const uint32_t *v, uint32_t n); /* the greatest, 0 of none */
    /* out[j] = sums[j] + codes[j] * stride; out may be sums */
    void (*add_scaled)(const uint32_t *sums, const uint32_t *codes, uint32_t n, uint32_t stride,
                       uint32_t *out);
    /* out[j] = table[at[j]], places below 2^31; false: one of these is UINT32_MAX */
    bool (*look_up)(const uint32_t *table, const uint32_t *at, uint32_t n, uint32_t *out);
    /* out[j] = (v[j] - first) / step where that is below count, else 0. step, count > 0. */
    void (*divide)(const int64_t *v, uint32_t n, int64_t first, uint64_t step, uint32_t count,
                   uint32_t *out);
};
extern const struct kernels kernels_portable, kernels_avx2;
const struct kernels *kernels(void);

#endif
