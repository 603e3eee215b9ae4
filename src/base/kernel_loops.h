/* kernel_loops.h - kernels that need no more than instructions for single bits: compiled once
 * for each level, by kernel.c and kernel_avx2.c. */
#ifndef DFTRACERD_BASE_KERNEL_LOOPS_H
#define DFTRACERD_BASE_KERNEL_LOOPS_H

#include "dftracerd/kernel.h"

#ifndef LOW_BITS /* the n lowest bits of v, n < 64: an instruction that compilers do not find in this */
#define LOW_BITS(v, n) ((v) & (((uint64_t)1 << (n)) - 1))
#endif

static uint32_t find_places(const uint32_t *rows, uint32_t n, const uint64_t *valid,
                            const uint32_t *ranks, uint16_t *at, uint32_t *places)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = rows[i] / 64;
        uint64_t below = LOW_BITS(valid[word], rows[i] % 64);
        at[found] = (uint16_t)i;
        places[found] = ranks[word] + (uint32_t)__builtin_popcountll(below);
        found += valid[word] >> rows[i] % 64 & 1;
    }
    return found;
}

static uint32_t rank_words(const uint64_t *mask, uint32_t words, uint32_t *out)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < words; i++) {
        out[i] = rank;
        rank += (uint32_t)__builtin_popcountll(mask[i]);
    }
    out[words] = rank;
    return rank;
}

#endif
