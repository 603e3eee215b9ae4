/* bloom.c - bloom filters, as in Parquet (split block filters): the upper half of the hash chooses
 * the block, odd multiples of the lower half one bit in each of the block's eight words. */
#include "column/chunk/bloom.h"

#include <math.h>
#include <string.h>

#define BLOCK 32u

/* With eight bits for each of n values in m bits, the rate is (1 - e^(-8n/m))^8; 15 % are added,
 * because blocks fill unevenly. */
size_t bloom_bytes(uint64_t n, double rate)
{
    if (!(rate > 0 && rate < 1))
        rate = 0.01;
    double bits = -8.0 * (double)n / log1p(-pow(rate, 1.0 / 8)) * 1.15;
    double blocks = ceil(bits / (8 * BLOCK));
    if (!(blocks >= 1))
        blocks = 1;
    if (blocks > 1 << 24)
        blocks = 1 << 24;
    return (size_t)blocks * BLOCK;
}

static size_t block_of(size_t len, uint64_t hash)
{
    return (size_t)((hash >> 32) * (len / BLOCK) >> 32) * BLOCK;
}

static uint32_t bit_of(uint64_t hash, unsigned word)
{
    static const uint32_t salt[8] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                     0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};
    return 1u << ((uint32_t)hash * salt[word] >> 27);
}

void bloom_add(uint8_t *bits, size_t len, uint64_t hash)
{
    uint8_t *block = bits + block_of(len, hash);

    for (unsigned w = 0; w < 8; w++) {
        uint32_t word;
        memcpy(&word, block + 4 * w, 4);
        word |= bit_of(hash, w);
        memcpy(block + 4 * w, &word, 4);
    }
}

bool bloom_may_have(const uint8_t *bits, size_t len, uint64_t hash)
{
    const uint8_t *block;

    if (len < BLOCK)
        return true;
    block = bits + block_of(len, hash);
    for (unsigned w = 0; w < 8; w++) {
        uint32_t word;
        memcpy(&word, block + 4 * w, 4);
        if (!(word & bit_of(hash, w)))
            return false;
    }
    return true;
}
