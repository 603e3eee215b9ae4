/* pack_distinct.c - finds the distinct values of a column and their codes. */
#include "column/encoding/pack_plan.h"

#include <stdlib.h>

/* More than FEW distinct values among the first FIRST: there are too many. */
enum { FEW = 512, FIRST = 1024, SLOTS = 4 * PACK_DICT_MAX };

struct slot {
    int64_t value;
    uint32_t code, stamp;
};
struct pack_distinct {
    uint32_t stamp, count; /* slots of an older stamp are free */
    uint32_t max;
    unsigned shift; /* of a hash: few values use only a small part of the slots */
    int64_t values[PACK_DICT_MAX], copy[PACK_DICT_MAX];
    uint32_t place[PACK_DICT_MAX];
    struct slot slots[SLOTS];
};
enum { SHIFT_FEW = 64 - 11, SHIFT_MANY = 64 - 14 };
_Static_assert(SLOTS == 1 << 14 && FEW * 4 == 1 << 11, "shifts");

struct pack_distinct *pack_distinct_new(void)
{
    return calloc(1, sizeof(struct pack_distinct));
}

void pack_distinct_free(struct pack_distinct *d)
{
    free(d);
}

/* Returns the slot of a value, or the free slot for it. */
static inline struct slot *find_slot(struct pack_distinct *d, int64_t v)
{
    uint64_t s = (uint64_t)v * 0x9E3779B97F4A7C15u >> d->shift;

    while (d->slots[s % SLOTS].stamp == d->stamp && d->slots[s % SLOTS].value != v)
        s++;
    return &d->slots[s % SLOTS];
}

/* When the stamp overflows, all slots are cleared: their stamps would be valid again. */
static void new_stamp(struct pack_distinct *d)
{
    if (++d->stamp != 0)
        return;
    for (uint32_t i = 0; i < SLOTS; i++)
        d->slots[i].stamp = 0;
    d->stamp = 1;
}

/* Adds a new value. Returns false if there are too many. */
static bool distinct_add(struct pack_distinct *d, int64_t v, size_t i)
{
    if (d->count == FEW && (i < FIRST || d->shift == SHIFT_FEW)) {
        if (i < FIRST)
            return false;
        new_stamp(d);
        d->shift = SHIFT_MANY;
        for (uint32_t k = 0; k < d->count; k++)
            *find_slot(d, d->values[k]) = (struct slot){d->values[k], k, d->stamp};
    }
    if (d->count == d->max)
        return false;
    *find_slot(d, v) = (struct slot){v, d->count, d->stamp};
    d->values[d->count++] = v;
    return true;
}

uint32_t pack_distinct_find(struct pack_distinct *d, const int64_t *v, size_t n, uint32_t max,
                            int64_t *codes)
{
    d->count = 0;
    d->max = max;
    d->shift = SHIFT_FEW;
    new_stamp(d);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && v[i] == v[i - 1]) {
            codes[i] = codes[i - 1];
            continue;
        }
        struct slot *slot = find_slot(d, v[i]);
        if (slot->stamp == d->stamp)
            codes[i] = slot->code;
        else if (distinct_add(d, v[i], i))
            codes[i] = d->count - 1;
        else
            return 0;
    }
    return d->count;
}

/* A radix sort by bytes, as far as the values differ: mostly, they are close together. */
static void sort_values(int64_t *v, int64_t *copy, uint32_t n)
{
    int64_t min = v[0], max = v[0], *from = v, *to = copy;

    for (uint32_t i = 1; i < n; i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
    }
    for (unsigned shift = 0; shift < 64 && ((uint64_t)max - (uint64_t)min) >> shift != 0;
         shift += 8) {
        uint32_t start[257] = {0};
#define DIGIT(x) (((uint64_t)(x) - (uint64_t)min) >> shift & 255)
        for (uint32_t i = 0; i < n; i++)
            start[DIGIT(from[i]) + 1]++;
        for (unsigned i = 1; i < 256; i++)
            start[i] += start[i - 1];
        for (uint32_t i = 0; i < n; i++)
            to[start[DIGIT(from[i])]++] = from[i];
#undef DIGIT
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != v)
        memcpy(v, from, n * sizeof(*v));
}

const int64_t *pack_distinct_sort(struct pack_distinct *d, size_t n, int64_t *codes)
{
    sort_values(d->values, d->copy, d->count);
    for (uint32_t i = 0; i < d->count; i++)
        d->place[find_slot(d, d->values[i])->code] = i;
    for (size_t i = 0; i < n; i++)
        codes[i] = d->place[codes[i]];
    return d->values;
}
