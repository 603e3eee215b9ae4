/* hasher.c - XXH3-128 of text in pieces. */
#define XXH_STATIC_LINKING_ONLY /* the state is not on the heap */
#include <xxhash.h>

#include "base/hasher.h"

HASHER_CALLS(hasher_portable);

static const struct hasher_calls *calls(void)
{
#ifdef __x86_64__
    if (cpu_level() >= CPU_AVX2)
        return &hasher_avx2;
#endif
    return &hasher_portable;
}

void hasher_begin(struct hasher *h, uint64_t seed)
{
    calls()->begin(h, seed);
}

void hasher_add(struct hasher *h, const void *data, size_t len)
{
    if (len > 0)
        calls()->add(h, data, len);
}

struct hash128 hasher_end(const struct hasher *h)
{
    return calls()->end(h);
}
