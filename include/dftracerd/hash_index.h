/* hash_index.h - finds positions in the caller's array by hash.
 *
 * May use:   base.      Used by: every module.
 * Threads:   one writer; readers where nobody writes.
 * Memory:    8 bytes a slot, at most half of the slots used; doubles, charged to a budget if there
 *            is one. hash_index_done frees the slots and releases their charge.
 * Data:      a slot has 32 bits of the hash, from which its place follows, and the position. The
 *            caller owns the elements and compares them: all with the same hash are visited.
 *
 *     for (struct hash_match m = hash_index_find(x, hash); hash_index_next(x, &m);)
 *         if (rows[m.position].id == id)
 *             return m.position;
 */
#ifndef DFTRACERD_HASH_INDEX_H
#define DFTRACERD_HASH_INDEX_H

#include "dftracerd/base.h"

struct hash_slot {
    uint32_t hash, position_plus_1; /* position_plus_1 = 0: empty */
};
struct hash_index {
    struct hash_slot *slots;
    uint32_t mask, count; /* slots - 1; used ones */
    /* NULL: none; borrowed until hash_index_done; set before the first hash_index_add */
    struct budget *budget;
}; /* zero-initialise */
struct hash_match {
    uint32_t hash, slot;
    uint32_t position; /* after hash_index_next returned true */
};

/* Adds a position below UINT32_MAX, without a search for one that is there already. Returns 0,
 * ERR_MEMORY_LIMIT or -ENOMEM; on errors nothing is changed. */
int hash_index_add(struct hash_index *x, uint64_t hash, uint32_t position);
/* Frees and releases; the budget stays. */
void hash_index_done(struct hash_index *x);

/* The low bits of some hashes are poor. The multiplication mixes all bits into the result. */
static inline uint32_t hash_index_place(uint32_t hash)
{
    return (uint32_t)(hash * 0x9E3779B97F4A7C15u >> 32);
}

/* The hash of two numbers. Each of its bits depends on both. */
static inline uint64_t hash_index_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xC2B2AE3D27D4EB4Fu);

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline struct hash_match hash_index_find(const struct hash_index *x, uint64_t hash)
{
    return (struct hash_match){(uint32_t)hash, hash_index_place((uint32_t)hash) & x->mask, 0};
}

/* The next position with this hash. False: no more. */
static inline bool hash_index_next(const struct hash_index *x, struct hash_match *m)
{
    while (x->slots) {
        const struct hash_slot *s = &x->slots[m->slot];
        if (s->position_plus_1 == 0)
            break;
        m->slot = (m->slot + 1) & x->mask;
        m->position = s->position_plus_1 - 1;
        if (s->hash == m->hash)
            return true;
    }
    return false;
}

#endif
