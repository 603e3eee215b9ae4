/* hasher.h - functions of xxhash, compiled for each CPU level; hasher.c chooses. */
#ifndef DFTRACERD_BASE_HASHER_H
#define DFTRACERD_BASE_HASHER_H

#include "dftracerd/base.h"

struct hasher_calls {
    void (*begin)(struct hasher *h, uint64_t seed);
    void (*add)(struct hasher *h, const void *data, size_t len);
    struct hash128 (*end)(const struct hasher *h);
};
extern const struct hasher_calls hasher_portable, hasher_avx2;

/* Defines the functions of one level, in a file that includes xxhash.h. XXH3_INITSTATE is needed
 * for a state that is not on the heap: a new seed is compared with the previous one. */
#define HASHER_CALLS(level) \
    static void begin(struct hasher *h, uint64_t seed) \
    { \
        XXH3_INITSTATE((XXH3_state_t *)(void *)h->state); \
        XXH3_128bits_reset_withSeed((XXH3_state_t *)(void *)h->state, seed); \
    } \
    static void add(struct hasher *h, const void *data, size_t len) \
    { \
        XXH3_128bits_update((XXH3_state_t *)(void *)h->state, data, len); \
    } \
    static struct hash128 end(const struct hasher *h) \
    { \
        XXH128_hash_t hash = XXH3_128bits_digest((const XXH3_state_t *)(const void *)h->state); \
        return (struct hash128){.high = hash.high64, .low = hash.low64}; \
    } \
    const struct hasher_calls level = {begin, add, end}; \
    _Static_assert(sizeof(XXH3_state_t) <= sizeof(struct hasher), "the state must fit")

#endif
