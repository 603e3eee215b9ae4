/* generate_twister.c - the 64-bit Mersenne twister of Nishimura and Matsumoto (mt19937-64), from
 * its published parameters. */
#include "tools/gen_fake_trace/generate.h"

#include <stdlib.h>

enum { WORDS = 312, MIDDLE = 156, LOW_BITS = 31 };

struct twister {
    uint64_t words[WORDS];
    unsigned at;
};

struct twister *twister_new(uint64_t seed)
{
    struct twister *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    t->words[0] = seed;
    for (unsigned i = 1; i < WORDS; i++) {
        uint64_t last = t->words[i - 1];
        t->words[i] = UINT64_C(6364136223846793005) * (last ^ last >> 62) + i;
    }
    t->at = WORDS;
    return t;
}

static void make_words(struct twister *t)
{
    const uint64_t low = (UINT64_C(1) << LOW_BITS) - 1;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t x = (t->words[i] & ~low) | (t->words[(i + 1) % WORDS] & low);
        t->words[i] =
            t->words[(i + MIDDLE) % WORDS] ^ x >> 1 ^ (x & 1 ? UINT64_C(0xB5026F5AA96619E9) : 0);
    }
    t->at = 0;
}

uint64_t twister_next(struct twister *t)
{
    if (t->at == WORDS)
        make_words(t);
    uint64_t x = t->words[t->at++];
    x ^= x >> 29 & UINT64_C(0x5555555555555555);
    x ^= x << 17 & UINT64_C(0x71D67FFFEDA60000);
    x ^= x << 37 & UINT64_C(0xFFF7EEE000000000);
    return x ^ x >> 43;
}
