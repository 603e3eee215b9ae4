/* map.h - finds positions in an array by hash: the small tables of processes, groups and threads.
 *
 * May use: base. The map keeps (hash, position) only; the caller owns the array and says which
 * elements are equal.
 */
#ifndef DFTRACERD_BASE_MAP_H
#define DFTRACERD_BASE_MAP_H

#include "dftracerd/base.h"

#include <stdlib.h>

#define MAP_NONE 0xFFFFFFFFu

struct map_slot {
    uint32_t hash, position_plus;
};
struct map {
    struct map_slot *slots;
    uint32_t mask, used;
}; /* zero-initialise */
typedef bool map_same(const void *array, uint32_t position, const void *key);

void map_done(struct map *m);
/* Position of the element equal to `key`, or MAP_NONE. */
uint32_t map_find(const struct map *m, uint64_t hash, map_same *same, const void *array,
                  const void *key);
/* Adds; the key must not be there. 0 or -ENOMEM. */
int map_add(struct map *m, uint64_t hash, uint32_t position);

static inline uint64_t map_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xC2B2AE3D27D4EB4Fu);

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Room for one more element of an array that grows by doubling; false without memory. */
static inline bool array_room(void **array, uint32_t count, uint32_t *cap, size_t element)
{
    uint32_t want = *cap ? *cap * 2 : 8;
    void *p;

    if (count < *cap)
        return true;
    p = realloc(*array, want * element);
    if (!p)
        return false;
    *array = p;
    *cap = want;
    return true;
}
#define ARRAY_ROOM(array, count, cap) \
    array_room((void **)&(array), (count), &(cap), sizeof *(array))

#endif
