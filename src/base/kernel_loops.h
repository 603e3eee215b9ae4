/* kernel_loops.h - kernels that need only bit manipulation instructions, compiled for each level by
 * kernel_portable.c and kernel_avx2.c. */
#ifndef DFTRACERD_BASE_KERNEL_LOOPS_H
#define DFTRACERD_BASE_KERNEL_LOOPS_H

#include "dftracerd/kernel.h"

/* The n lowest bits of v, n < 64. AVX2 machines have an instruction that compilers do not use for
 * this expression. */
#ifndef LOW_BITS
#define LOW_BITS(v, n) ((v) & (((uint64_t)1 << (n)) - 1))
#endif

#ifndef EXTRACT_BITS /* the bits of v at positions that are set in m, without gaps */
#define EXTRACT_BITS(v, m) extract_bits((v), (m))
static uint64_t extract_bits(uint64_t v, uint64_t m)
{
    uint64_t out = 0;

    if (m == UINT64_MAX)
        return v;
    for (unsigned k = 0; m; m &= m - 1, k++)
        out |= (uint64_t)((v & m & -m) != 0) << k;
    return out;
}
#endif

#ifndef DEPOSIT_BITS /* the lowest bits of v at the positions that are set in m */
#define DEPOSIT_BITS(v, m) deposit_bits((v), (m))
static uint64_t deposit_bits(uint64_t v, uint64_t m)
{
    uint64_t out = 0;

    for (; m; m &= m - 1, v >>= 1)
        out |= m & -m & -(v & 1);
    return out;
}
#endif

static uint32_t count_bits(const uint64_t *mask, uint32_t words)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < words; i++)
        count += (uint32_t)__builtin_popcountll(mask[i]);
    return count;
}

static uint64_t deposit(const uint64_t *bits, uint64_t at, const uint64_t *valid, uint32_t words,
                        uint64_t *out)
{
    for (uint32_t i = 0; i < words; i++) {
        uint64_t from = 0;
        if (valid[i]) {
            from = bits[at / 64] >> at % 64;
            from |= at % 64 ? bits[at / 64 + 1] << (64 - at % 64) : 0;
        }
        out[i] = DEPOSIT_BITS(from, valid[i]);
        at += (uint64_t)__builtin_popcountll(valid[i]);
    }
    return at;
}

static uint64_t extract(const uint64_t *bits, const uint64_t *valid, uint32_t words, uint64_t *out)
{
    uint64_t word = 0, *to = out;
    unsigned have = 0;

    for (uint32_t i = 0; i < words; i++) {
        uint64_t some = EXTRACT_BITS(bits[i], valid[i]);
        word |= some << have;
        unsigned sum = have + (unsigned)__builtin_popcountll(valid[i]);
        if (sum >= 64) {
            *to++ = word;
            word = have ? some >> (64 - have) : 0;
        }
        have = sum % 64;
    }
    *to = word;
    return (uint64_t)(to - out) * 64 + have;
}

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
