/* kernel.h - comparisons of many values at once into bitmaps. Private to the room.
 *
 * `mask` has (n + 63) / 64 words; bits beyond n are written as 0. Values must be readable up to n rounded up to 64.
 */
#ifndef DFTRACERD_QUERY_KERNEL_H
#define DFTRACERD_QUERY_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

struct kernels {
    void (*range_i64)(const int64_t *v, uint32_t n, int64_t lo, int64_t hi, uint64_t *mask);
    void (*range_f64)(const double *v, uint32_t n, double lo, double hi, uint64_t *mask);
    void (*equal_u32)(const uint32_t *v, uint32_t n, uint32_t code, uint64_t *mask);
    /* Bit v[i] of the table; the table is readable in whole 32-bit words. */
    void (*table_u32)(const uint32_t *v, uint32_t n, const uint32_t *table, uint32_t codes,
                      uint64_t *mask);
    uint32_t (*select)(const uint64_t *mask, uint32_t n, uint16_t *out); /* out: n + 64 places */
};
extern const struct kernels kernels_portable, kernels_avx2;
/* The best this machine has. */
const struct kernels *kernels(void);

#endif
