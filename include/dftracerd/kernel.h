/* kernel.h - vector kernels: comparisons of many values to bitmaps, bitmaps to positions. The
 * variant for the CPU is chosen at run time; all variants give the same results.
 *
 * May use: nothing. Used by: column, engine, answer. Threads: any. `mask` has (n + 63) / 64 words;
 * bits beyond n are written as 0. Values must be readable up to n rounded up to 64.
 */
#ifndef DFTRACERD_KERNEL_H
#define DFTRACERD_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Sums of the values of one slot, in 32 bytes. `inverted_max` is ~max; `min` and `inverted_max` are
 * INT32_MAX while count is 0. */
struct kernel_sum {
    uint64_t sum, squares;
    int32_t min, inverted_max;
    uint64_t count;
};

struct kernels {
    void (*range_i64)(const int64_t *v, uint32_t n, int64_t lo, int64_t hi, uint64_t *mask);
    void (*range_f64)(const double *v, uint32_t n, double lo, double hi, uint64_t *mask);
    void (*equal_u32)(const uint32_t *v, uint32_t n, uint32_t code, uint64_t *mask);
    /* mask: bit v[i] of the table, which has `codes` bits and is readable in whole 32-bit words */
    void (*table_u32)(const uint32_t *v, uint32_t n, const uint32_t *table, uint32_t codes,
                      uint64_t *mask);
    /* positions of set bits; out: n + 64 elements */
    uint32_t (*select)(const uint64_t *mask, uint32_t n, uint16_t *out);
    uint32_t (*count)(const uint64_t *mask, uint32_t words); /* set bits */
    /* Copies the values whose bits are set, without gaps. out: n elements, rounded up to 8. Returns
     * their number. */
    uint32_t (*keep_u32)(const uint32_t *v, const uint64_t *mask, uint32_t n, uint32_t *out);
    uint32_t (*keep_i64)(const int64_t *v, const uint64_t *mask, uint32_t n, int64_t *out);
    /* Finds those of n ascending rows whose bit of `valid` is set: for the i-th of these, at[i] is
     * its position in `rows`, places[i] the number of set bits of `valid` before it. ranks[w]: set
     * bits before word w. Returns their number; the arrays have n elements. */
    uint32_t (*places)(const uint32_t *rows, uint32_t n, const uint64_t *valid,
                       const uint32_t *ranks, uint16_t *at, uint32_t *places);
    /* out[words] and result: the number of all set bits; out[w]: that before word w */
    uint32_t (*ranks)(const uint64_t *mask, uint32_t words, uint32_t *out);
    /* Copies bits, from number `at` of `bits` on, to the positions that are set in `valid`, in
     * order; other positions become 0, as by PDEP. Returns the number after the last bit copied.
     * Reads at most one word too far. */
    uint64_t (*deposit)(const uint64_t *bits, uint64_t at, const uint64_t *valid, uint32_t words,
                        uint64_t *out);
    /* The inverse, as PEXT: the bits at positions that are set in `valid`, without gaps, then
     * zeros. out: words + 1. Returns their number. */
    uint64_t (*extract)(const uint64_t *bits, const uint64_t *valid, uint32_t words, uint64_t *out);
    /* Adds value j to table[2 * slot[j] + j % 2] (aligned to 32): two entries for each slot, so
     * that consecutive values of one slot do not depend on each other. Exact for 0 <= v < 2^31
     * while no sum of squares overflows; returns the sum of v^2 / 65536 + 1, each rounded down.
     * With other values the table is undefined. */
    uint64_t (*sum)(const uint32_t *slot, const int64_t *v, uint32_t n, struct kernel_sum *table);
    uint32_t (*max)(const uint32_t *v, uint32_t n); /* 0 if n is 0 */
    /* out[j] = sums[j] + codes[j] * stride; out may be sums */
    void (*add_scaled)(const uint32_t *sums, const uint32_t *codes, uint32_t n, uint32_t stride,
                       uint32_t *out);
    /* out[j] = table[at[j]], at[j] < 2^31; returns false if one of the results is UINT32_MAX */
    bool (*look_up)(const uint32_t *table, const uint32_t *at, uint32_t n, uint32_t *out);
    /* out[j] = (v[j] - first) / step where that is below count, else 0. step, count > 0. */
    void (*divide)(const int64_t *v, uint32_t n, int64_t first, uint64_t step, uint32_t count,
                   uint32_t *out);
};
extern const struct kernels kernels_portable, kernels_avx2;
const struct kernels *kernels(void);

#endif
