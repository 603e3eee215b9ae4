/* group_table.c - a hash table of tuples of 64-bit keys, with open addressing. */
#include "base/group_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_GROUPS = 64, DEFAULT_LIMIT = 10000000 };
enum { AHEAD = 32 };          /* tuples whose cache misses overlap */
#define GROUPS_MAX (1u << 31) /* twice as many slots have 32-bit numbers */

void group_table_init(struct group_table *t, unsigned width, uint64_t limit, struct budget *budget)
{
    memset(t, 0, sizeof(*t));
    t->width = width;
    t->limit = limit ? limit : DEFAULT_LIMIT;
    t->limit = t->limit < GROUPS_MAX ? t->limit : GROUPS_MAX;
    t->budget = budget;
}

void group_table_done(struct group_table *t)
{
    if (!t->borrowed)
        large_free(t->keys);
    large_free(t->slots);
    budget_release(t->budget, t->charged);
    t->borrowed = false;
    t->keys = NULL;
    t->slots = NULL;
    t->charged = 0;
    t->count = t->cap = t->placed = 0;
}

/* Keys are mostly small integers and ids, so they need to be mixed well, but fast. */
static inline uint32_t hash_keys(const uint64_t *keys, unsigned width)
{
    uint64_t h = 0x9E3779B97F4A7C15ull;

    for (unsigned i = 0; i < width; i++) {
        unsigned __int128 product = (unsigned __int128)(h ^ keys[i]) * 0xD6E8FEB86659FD93ull;
        h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ (keys[i] << 1);
    }
    return (uint32_t)(h ^ (h >> 32));
}

static inline bool same_keys(const uint64_t *a, const uint64_t *b, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

static inline uint64_t make_slot(uint32_t hash, uint32_t group)
{
    return (uint64_t)hash << 32 | (group + 1);
}
static inline uint32_t slot_hash(uint64_t slot)
{
    return (uint32_t)(slot >> 32);
}
static inline uint32_t slot_group(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* Returns the group, or -ENOENT and the free slot for it. */
static inline int64_t look_up(const struct group_table *t, const uint64_t *keys, uint32_t hash,
                              uint32_t *ret_at)
{
    uint32_t at = hash & t->slot_mask;

    for (; t->slots[at]; at = (at + 1) & t->slot_mask) {
        uint64_t slot = t->slots[at];
        if (slot_hash(slot) == hash &&
            same_keys(group_table_keys(t, slot_group(slot)), keys, t->width))
            return slot_group(slot);
    }
    *ret_at = at;
    return -ENOENT;
}

/* Stores to the first free slot: the group is known to be new. */
static inline void put_slot(uint64_t *slots, uint32_t mask, uint64_t slot)
{
    uint32_t at = slot_hash(slot) & mask;

    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = slot;
}

/* Slots contain their hashes, so keys are not read. */
static int move_slots(const struct group_table *t, uint64_t *slots, uint32_t mask)
{
    int rc = 0;

    for (size_t i = 0; t->slots && i <= t->slot_mask && rc == 0; i++) {
        rc = t->budget && budget_check_is_due(i, mask) ? budget_check(t->budget) : 0;
        if (t->slots[i])
            put_slot(slots, mask, t->slots[i]);
    }
    return rc;
}

/* Grows the keys, and the slots if there are any, to `cap` groups. The budget is charged for both
 * copies while they exist. */
static int grow_table(struct group_table *t, uint32_t cap, bool slots_too)
{
    size_t keys_bytes = (size_t)cap * t->width * sizeof(*t->keys);
    size_t slots_before = t->slots ? ((size_t)t->slot_mask + 1) * sizeof(*t->slots) : 0;
    size_t slot_bytes = slots_too ? (size_t)cap * 2 * sizeof(*t->slots) : slots_before;
    size_t before = t->charged, bytes = keys_bytes + slot_bytes;
    int rc = budget_charge(t->budget, bytes);

    assert(!t->borrowed);
    if (rc < 0)
        return rc;
    t->charged += bytes;
    uint64_t *keys = large_realloc(t->keys, keys_bytes + sizeof(*keys));
    if (keys)
        t->keys = keys;
    uint64_t *slots = slots_too ? large_zeroed((size_t)cap * 2 * sizeof(*slots)) : NULL;
    if (!keys || (slots_too && !slots))
        rc = -ENOMEM;
    else if (slots_too)
        rc = move_slots(t, slots, cap * 2 - 1);
    if (rc < 0) {
        large_free(slots);
        return rc;
    }
    if (slots_too) {
        large_free(t->slots);
        t->slots = slots;
        t->slot_mask = cap * 2 - 1;
    }
    t->cap = cap;
    budget_release(t->budget, before);
    t->charged -= before;
    return 0;
}

/* Returns a capacity, which is a power of two. count <= GROUPS_MAX */
static uint32_t capacity_for(uint32_t count)
{
    uint32_t cap = FIRST_GROUPS;

    while (cap < count)
        cap *= 2;
    return cap;
}

int group_table_append(struct group_table *t, uint32_t more)
{
    if (t->count + (uint64_t)more > t->limit)
        return ERR_ROW_LIMIT;
    uint32_t cap = capacity_for(t->count + more);
    int rc = cap > t->cap ? grow_table(t, cap, false) : 0;
    t->count += rc < 0 ? 0 : more;
    return rc;
}

void group_table_expect(struct group_table *t, uint64_t count)
{
    uint32_t cap = capacity_for((uint32_t)(count < t->limit ? count : t->limit));

    if (cap > t->cap)
        (void)grow_table(t, cap, true);
}

int group_table_borrow(struct group_table *t, uint64_t *keys, uint32_t count)
{
    assert(!t->keys);
    if (count > t->limit)
        return ERR_ROW_LIMIT;
    t->keys = keys;
    t->count = t->cap = count;
    t->borrowed = true;
    return 0;
}

int group_table_rekey(struct group_table *t, unsigned width,
                      void (*rekey)(void *arg, const uint64_t *from, uint64_t *to), void *arg)
{
    bool same = width == t->width, borrowed = same && t->borrowed;
    size_t before = t->charged, bytes = borrowed ? 0 : (size_t)t->cap * width * sizeof(*t->keys);
    uint64_t *keys = t->keys;

    if (!same) {
        int rc = budget_charge(t->budget, bytes);
        if (rc < 0)
            return rc;
        keys = large_realloc(NULL, bytes + sizeof(*keys));
        if (!keys) {
            budget_release(t->budget, bytes);
            return -ENOMEM;
        }
        t->charged = bytes;
    } else {
        t->charged = bytes;
        before -= bytes;
    }
    for (uint32_t i = 0; i < t->count; i++)
        rekey(arg, group_table_keys(t, i), keys + (size_t)i * width);
    if (!same && !t->borrowed)
        large_free(t->keys);
    large_free(t->slots);
    budget_release(t->budget, before);
    t->borrowed = borrowed;
    t->keys = keys;
    t->slots = NULL;
    t->width = width;
    t->placed = t->slot_mask = 0;
    return 0;
}

/* Adds slots for the next n groups. */
static void place_groups(struct group_table *t, uint32_t n)
{
    uint64_t slots[AHEAD];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t hash = hash_keys(group_table_keys(t, t->placed + i), t->width);
        slots[i] = make_slot(hash, t->placed + i);
        memory_touch(&t->slots[hash & t->slot_mask]);
    }
    for (uint32_t i = 0; i < n; i++)
        put_slot(t->slots, t->slot_mask, slots[i]);
    t->placed += n;
}

int group_table_place(struct group_table *t)
{
    bool need_slots = t->placed < t->count && (!t->slots || t->slot_mask < t->cap * 2 - 1);
    int rc = need_slots ? grow_table(t, capacity_for(t->cap), true) : 0;
    uint32_t first = t->placed;

    while (rc == 0 && t->placed < t->count) {
        uint32_t left = t->count - t->placed;
        if (t->budget && budget_check_is_due(t->placed - first, t->slot_mask))
            rc = budget_check(t->budget);
        if (rc == 0)
            place_groups(t, left < AHEAD ? left : AHEAD);
    }
    return rc;
}

int64_t group_table_find(const struct group_table *t, const uint64_t *keys)
{
    uint32_t at;

    return t->slots ? look_up(t, keys, hash_keys(keys, t->width), &at) : -ENOENT;
}

static inline int64_t add_tuple(struct group_table *t, const uint64_t *keys, uint32_t hash)
{
    uint32_t at = 0;
    int64_t group = t->slots ? look_up(t, keys, hash, &at) : -ENOENT;

    if (group >= 0)
        return group;
    if (t->count >= t->limit)
        return ERR_ROW_LIMIT;
    if (t->count == t->cap || !t->slots) {
        uint32_t more = t->cap ? t->cap * 2 : FIRST_GROUPS;
        int rc = grow_table(t, t->count == t->cap ? more : t->cap, true);
        if (rc < 0)
            return rc;
        (void)look_up(t, keys, hash, &at);
    }
    if (t->width)
        memcpy(t->keys + (size_t)t->count * t->width, keys, t->width * sizeof(*keys));
    t->slots[at] = make_slot(hash, t->count);
    t->placed++;
    return t->count++;
}

int64_t group_table_add(struct group_table *t, const uint64_t *keys)
{
    int rc = t->placed < t->count ? group_table_place(t) : 0;

    return rc < 0 ? rc : add_tuple(t, keys, hash_keys(keys, t->width));
}

/* Computes the hashes of n tuples, and loads the groups that they are compared with. */
static void hash_ahead(const struct group_table *t, const uint64_t *keys, uint32_t n,
                       uint32_t *hashes)
{
    uint64_t slots[AHEAD];

    for (uint32_t i = 0; i < n; i++)
        hashes[i] = hash_keys(keys + (size_t)i * t->width, t->width);
    for (uint32_t i = 0; t->slots && i < n; i++)
        slots[i] = t->slots[hashes[i] & t->slot_mask];
    for (uint32_t i = 0; t->slots && t->width && i < n; i++) {
        if (!slots[i] || slot_hash(slots[i]) != hashes[i])
            continue;
        const uint64_t *known = group_table_keys(t, slot_group(slots[i]));
        memory_touch(known);
        memory_touch(known + t->width - 1);
    }
}

int group_table_add_all(struct group_table *t, const uint64_t *keys, uint32_t n, uint32_t *ret)
{
    uint32_t hashes[AHEAD];
    int rc = t->placed < t->count ? group_table_place(t) : 0;

    for (uint32_t first = 0; first < n && rc == 0; first += AHEAD) {
        const uint64_t *some = keys + (size_t)first * t->width;
        uint32_t count = n - first < AHEAD ? n - first : AHEAD;
        hash_ahead(t, some, count, hashes);
        for (uint32_t i = 0; i < count; i++) {
            int64_t group = add_tuple(t, some + (size_t)i * t->width, hashes[i]);
            if (group < 0)
                return (int)group;
            ret[first + i] = (uint32_t)group;
        }
    }
    return rc;
}

void group_table_find_all(const struct group_table *t, const uint64_t *keys, uint32_t n,
                          uint32_t *ret)
{
    uint32_t hashes[AHEAD], at;

    for (uint32_t first = 0; first < n; first += AHEAD) {
        const uint64_t *some = keys + (size_t)first * t->width;
        uint32_t count = n - first < AHEAD ? n - first : AHEAD;
        hash_ahead(t, some, count, hashes);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t *tuple = some + (size_t)i * t->width;
            int64_t group = t->slots ? look_up(t, tuple, hashes[i], &at) : -ENOENT;
            ret[first + i] = group < 0 ? GROUP_NONE : (uint32_t)group;
        }
    }
}
