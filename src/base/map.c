/* map.c - see map.h. Open addressing, linear probing, at most 3/4 full. */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

uint32_t map_find(const struct map *m, uint64_t hash, map_same *same, const void *array,
                  const void *key)
{
    uint32_t low = (uint32_t)hash;

    if (!m->slots)
        return MAP_NONE;
    for (uint32_t i = (low * 0x9E3779B1u >> 7) & m->mask;; i = (i + 1) & m->mask) {
        const struct map_slot *s = &m->slots[i];

        if (s->position_plus == 0)
            return MAP_NONE;
        if (s->hash == low && same(array, s->position_plus - 1, key))
            return s->position_plus - 1;
    }
}

static void place(struct map *m, uint32_t hash, uint32_t position_plus)
{
    /* The slot must follow from what the slot keeps: the low half of the hash alone. */
    uint32_t i = (hash * 0x9E3779B1u >> 7) & m->mask;

    while (m->slots[i].position_plus)
        i = (i + 1) & m->mask;
    m->slots[i] = (struct map_slot){hash, position_plus};
}

static int grow(struct map *m)
{
    struct map bigger = {0};
    uint32_t size = m->slots ? (m->mask + 1) * 2 : 16;

    bigger.slots = calloc(size, sizeof *bigger.slots);
    if (!bigger.slots)
        return -ENOMEM;
    bigger.mask = size - 1;
    for (uint32_t i = 0; m->slots && i <= m->mask; i++) {
        if (m->slots[i].position_plus)
            place(&bigger, m->slots[i].hash, m->slots[i].position_plus);
    }
    bigger.used = m->used;
    free(m->slots);
    *m = bigger;
    return 0;
}

int map_add(struct map *m, uint64_t hash, uint32_t position)
{
    if ((!m->slots || m->used * 4 >= (m->mask + 1) * 3) && grow(m) < 0)
        return -ENOMEM;
    place(m, (uint32_t)hash, position + 1);
    m->used++;
    return 0;
}
