/* density_tuples.c - numbers the tuples of rows: rows with equal values in all columns of a set. */
#include "column/chunk/density.h"

#include <errno.h>
#include <stdlib.h>

void *density_reserve(struct buf *b, size_t bytes)
{
    buf_clear(b);
    if (b->error != 0)
        buf_done(b);
    return buf_reserve(b, bytes);
}

void density_done(struct density_work *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < DENSITY_BUFS; i++)
        buf_done(&w->buf[i]);
}

size_t density_bytes(const struct density_work *w)
{
    size_t bytes = w != NULL ? sizeof(*w) : 0;

    for (unsigned i = 0; w != NULL && i < DENSITY_BUFS; i++)
        bytes += w->buf[i].cap;
    return bytes;
}

void density_trim(struct density_work *w)
{
    if (density_bytes(w) > 8u << 20)
        density_done(w);
}

int density_begin(struct density_work *w, uint32_t rows)
{
    uint32_t *ids = density_reserve(&w->buf[DENSITY_IDS], rows * sizeof(*ids));
    uint32_t *first = density_reserve(&w->buf[DENSITY_FIRST_ROWS], (rows + 1ul) * sizeof(*first));

    if (ids == NULL || first == NULL)
        return -ENOMEM;
    memset(ids, 0, rows * sizeof(*ids));
    first[0] = 0;
    w->rows = rows;
    w->tuples = 1;
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

static size_t find_slot(const struct refine_slot *slots, size_t mask, uint32_t before,
                        int64_t value)
{
    uint64_t hash = ((uint64_t)value ^ (uint64_t)before << 40) * 0x9E3779B97F4A7C15u;
    size_t at = (hash ^ hash >> 29) & mask;

    while (slots[at].id != 0 && (slots[at].value != value || slots[at].before != before))
        at = (at + 1) & mask;
    return at;
}

static struct refine_slot *new_slots(struct buf *memory, size_t cap)
{
    struct refine_slot *slots = density_reserve(memory, cap * sizeof(*slots));

    if (slots != NULL)
        memset(slots, 0, cap * sizeof(*slots));
    return slots;
}

/* Doubles the number of slots. Returns NULL without memory. */
static struct refine_slot *grow_slots(struct density_work *w, size_t *mask)
{
    struct buf old = w->buf[DENSITY_REFINE];
    const struct refine_slot *from = (const struct refine_slot *)(const void *)old.data;

    w->buf[DENSITY_REFINE] = (struct buf){0};
    struct refine_slot *to = new_slots(&w->buf[DENSITY_REFINE], 2 * (*mask + 1));
    for (size_t i = 0; to != NULL && i <= *mask; i++)
        if (from[i].id != 0)
            to[find_slot(to, 2 * *mask + 1, from[i].before, from[i].value)] = from[i];
    buf_done(&old);
    *mask = 2 * *mask + 1;
    return to;
}

int density_refine_nulls(struct density_work *w, const int64_t *values, const uint64_t *valid,
                         uint32_t words)
{
    uint32_t *ids = density_u32(&w->buf[DENSITY_IDS]), count = 0;
    uint32_t *first = density_u32(&w->buf[DENSITY_FIRST_ROWS]), before_last = UINT32_MAX, id = 0;
    struct refine_slot *slots = new_slots(&w->buf[DENSITY_REFINE], 256);
    int64_t last = 0;
    size_t mask = 255;

    for (uint32_t row = 0; slots != NULL && row < w->rows; row++) {
        bool has = !valid || (row / 64 < words && (valid[row / 64] >> row % 64 & 1));
        int64_t value = has ? *values++ : 0;
        uint32_t before = 2 * ids[row] + !has;
        if (before != before_last || value != last) {
            struct refine_slot *slot = &slots[find_slot(slots, mask, before, value)];
            id = slot->id;
            if (id == 0) {
                first[count] = row;
                id = ++count;
                *slot = (struct refine_slot){value, before, id};
                if (count > mask / 2)
                    slots = grow_slots(w, &mask);
            }
            before_last = before;
            last = value;
        }
        ids[row] = id - 1;
    }
    w->tuples = count;
    return slots != NULL ? 0 : -ENOMEM;
}

/* For a narrow range of values without nulls: uses a table instead of hashing. */
static int refine_by_place(struct density_work *w, const int64_t *values, int64_t min,
                           uint32_t span)
{
    uint32_t *ids = density_u32(&w->buf[DENSITY_IDS]), count = 0;
    uint32_t *first = density_u32(&w->buf[DENSITY_FIRST_ROWS]);
    size_t bytes = (size_t)w->tuples * span * sizeof(uint32_t);
    uint32_t *number = density_reserve(&w->buf[DENSITY_REFINE], bytes);

    if (number == NULL)
        return -ENOMEM;
    memset(number, 0, bytes);
    for (uint32_t row = 0; row < w->rows; row++) {
        uint32_t *at = &number[(size_t)ids[row] * span + (uint64_t)(values[row] - min)];
        if (*at == 0) {
            first[count] = row;
            *at = ++count;
        }
        ids[row] = *at - 1;
    }
    w->tuples = count;
    return 0;
}

int density_refine(struct density_work *w, const int64_t *values, const struct stage_range *range)
{
    enum { PLACES_MAX = 1 << 16 };
    uint64_t span = (uint64_t)range->max - (uint64_t)range->min;

    if (span < PLACES_MAX / w->tuples)
        return refine_by_place(w, values, range->min, (uint32_t)span + 1);
    return density_refine_nulls(w, values, NULL, 0);
}
