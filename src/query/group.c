/* group.c - the table of groups: open addressing over tuples of 64-bit keys. */
#include "group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_GROUPS = 64, DEFAULT_LIMIT = 10000000 };

void group_table_init(struct group_table *t, unsigned width, uint64_t limit, struct budget *budget)
{
    memset(t, 0, sizeof(*t));
    t->width = width;
    t->limit = limit ? limit : DEFAULT_LIMIT;
    t->budget = budget;
}

void group_table_done(struct group_table *t)
{
    free(t->keys);
    free(t->slots);
    budget_release(t->budget, t->charged);
    t->keys = NULL;
    t->slots = NULL;
    t->charged = 0;
    t->count = t->cap = 0;
}

/* The keys are mostly small integers and ids: they must be mixed well, but quickly. */
static inline uint64_t hash_keys(const uint64_t *keys, unsigned width)
{
    uint64_t h = 0x9E3779B97F4A7C15ull;

    for (unsigned i = 0; i < width; i++) {
        unsigned __int128 product = (unsigned __int128)(h ^ keys[i]) * 0xD6E8FEB86659FD93ull;
        h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ (keys[i] << 1);
    }
    return h ^ (h >> 32);
}

static inline bool same_keys(const uint64_t *a, const uint64_t *b, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

static void fill_slots(struct group_table *t)
{
    for (uint32_t g = 0; g < t->count; g++) {
        uint32_t at = (uint32_t)hash_keys(group_table_keys(t, g), t->width) & t->slot_mask;
        while (t->slots[at])
            at = (at + 1) & t->slot_mask;
        t->slots[at] = g + 1;
    }
}

/* Twice the room: keys for `cap` groups and twice as many slots. */
static int grow(struct group_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : FIRST_GROUPS;
    size_t keys_bytes = (size_t)cap * t->width * sizeof(*t->keys);
    size_t slot_bytes = (size_t)cap * 2 * sizeof(*t->slots);
    size_t before = t->charged;

    /* Charged for both copies while they exist. */
    int rc = budget_charge(t->budget, keys_bytes + slot_bytes);
    if (rc < 0)
        return rc;
    t->charged += keys_bytes + slot_bytes;
    uint64_t *keys = realloc(t->keys, keys_bytes + sizeof(*keys));
    if (keys)
        t->keys = keys;
    uint32_t *slots = calloc(cap * 2, sizeof(*slots));
    if (!keys || !slots) {
        free(slots);
        return -ENOMEM;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_mask = cap * 2 - 1;
    t->cap = cap;
    fill_slots(t);
    budget_release(t->budget, before);
    t->charged -= before;
    return 0;
}

int64_t group_table_find(const struct group_table *t, const uint64_t *keys)
{
    if (!t->slots)
        return -ENOENT;
    for (uint32_t at = (uint32_t)hash_keys(keys, t->width) & t->slot_mask; t->slots[at];
         at = (at + 1) & t->slot_mask) {
        uint32_t g = t->slots[at] - 1;
        if (same_keys(group_table_keys(t, g), keys, t->width))
            return g;
    }
    return -ENOENT;
}

static int64_t insert(struct group_table *t, const uint64_t *keys, uint32_t at)
{
    if (t->count >= t->limit)
        return ERR_ROW_LIMIT;
    if (t->count == t->cap) {
        int rc = grow(t);
        if (rc < 0)
            return rc;
        at = (uint32_t)hash_keys(keys, t->width) & t->slot_mask;
        while (t->slots[at])
            at = (at + 1) & t->slot_mask;
    }
    if (t->width)
        memcpy(t->keys + (size_t)t->count * t->width, keys, t->width * sizeof(*keys));
    t->slots[at] = ++t->count;
    return t->count - 1;
}

int64_t group_table_add(struct group_table *t, const uint64_t *keys)
{
    uint32_t at = 0;

    if (t->slots) {
        at = (uint32_t)hash_keys(keys, t->width) & t->slot_mask;
        for (; t->slots[at]; at = (at + 1) & t->slot_mask) {
            uint32_t g = t->slots[at] - 1;
            if (same_keys(group_table_keys(t, g), keys, t->width))
                return g;
        }
    }
    return insert(t, keys, at);
}
