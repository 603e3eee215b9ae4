/* hash_index.c - open addressing with linear probing, at most half full. */
#include "dftracerd/hash_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { FIRST = 16 };

static void put_slot(struct hash_index *x, struct hash_slot slot)
{
    uint32_t i = hash_index_place(slot.hash) & x->mask;

    while (x->slots[i].position_plus_1)
        i = (i + 1) & x->mask;
    x->slots[i] = slot;
    x->count++;
}

static int grow_slots(struct hash_index *x)
{
    size_t size = x->slots ? (x->mask + (size_t)1) * 2 : FIRST;
    struct hash_index bigger = {.mask = (uint32_t)(size - 1), .budget = x->budget};

    if (size > UINT32_MAX)
        return -ENOMEM;
    int rc = budget_charge(x->budget, size * sizeof(*x->slots));
    if (rc < 0)
        return rc;
    bigger.slots = calloc(size, sizeof(*x->slots));
    if (!bigger.slots) {
        budget_release(x->budget, size * sizeof(*x->slots));
        return -ENOMEM;
    }
    for (size_t i = 0; x->slots && i <= x->mask; i++)
        if (x->slots[i].position_plus_1)
            put_slot(&bigger, x->slots[i]);
    hash_index_done(x);
    *x = bigger;
    return 0;
}

int hash_index_add(struct hash_index *x, uint64_t hash, uint32_t position)
{
    bool full = !x->slots || x->count >= (x->mask + (uint64_t)1) / 2;
    int rc = full ? grow_slots(x) : 0;

    assert(position < UINT32_MAX);
    if (rc == 0)
        put_slot(x, (struct hash_slot){(uint32_t)hash, position + 1});
    return rc;
}

void hash_index_done(struct hash_index *x)
{
    if (x->slots)
        budget_release(x->budget, (x->mask + (size_t)1) * sizeof(*x->slots));
    free(x->slots);
    *x = (struct hash_index){.budget = x->budget};
}
