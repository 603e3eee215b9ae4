/* slots.c - integers of the common rows, summed up in a table that stays in the cache.
 *
 * A batch of which most rows are selected is added as a whole, row by row without a branch: each
 * row has a slot (one for each group, and slot 0 for rows that do not count), and a slot is as
 * small as a register. What a slot cannot hold (null, negative or large values) goes into the
 * group's record one by one. The slots are emptied into the records before they could overflow,
 * when the unit changes, and in the end; sums are exact integers, so it does not matter when.
 */
#include "answer/aggregate/worker.h"
#include "dftracerd/kernel.h"

#include <errno.h>
#include <stdlib.h>

#define VALUES_BELOW (1ll << 26) /* a batch of their squares is 2^63 at most */
#define WEIGHT_MAX \
    (1ull \
     << 47) /* sums of squares in units of 65536 before a batch is added: so they stay below 2^64 */
#define ROWS_MAX (1u << 29)
enum { SLOTS_MAX = 1 << 14 }; /* more would leave the cache */

/* Of one measure. */
struct slots {
    struct kernel_sum
        *slot;      /* two a group, see kernel.h; those of group g are 2 * (g + 1) and the next */
    uint32_t count; /* groups with slots, and the one of no group */
    bool nano;
    bool counts; /* its values are the rows of the groups, too */
    uint64_t weight, rows;
};
struct aggregate_slots {
    bool usable; /* in the chunk at hand */
    uint32_t slot_of_row[SCAN_BATCH], some_slots[SCAN_BATCH];
    struct slots measures[];
};

int slots_new(const struct aggregate_plan *p, struct aggregate_slots **ret)
{
    *ret = NULL;
    if (!p->general || p->tally || p->shape || p->split || p->intervals || p->keep_count ||
        p->plain_measures == 0)
        return 0;
    *ret = calloc(1, sizeof(**ret) + p->plain_measures * sizeof(struct slots));
    return *ret ? 0 : -ENOMEM;
}

void slots_free(const struct aggregate_plan *p, struct aggregate_slots *s)
{
    for (unsigned i = 0; s && i < p->plain_measures; i++)
        free(s->measures[i].slot);
    free(s);
}

/* ---- emptying -------------------------------------------------------------------------------- */

static void clear_slots(struct kernel_sum *slot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        slot[i] = (struct kernel_sum){.least = INT32_MAX, .unmost = INT32_MAX};
}

static struct cell cell_of(const struct kernel_sum *two, bool nano)
{
    int32_t least = two[0].least < two[1].least ? two[0].least : two[1].least;
    int32_t unmost = two[0].unmost < two[1].unmost ? two[0].unmost : two[1].unmost;

    return (struct cell){.min = least,
                         .max = ~unmost,
                         .sum = (int64_t)(two[0].sum + two[1].sum),
                         .squares = two[0].squares + two[1].squares,
                         .count = (uint32_t)(two[0].count + two[1].count),
                         .more = nano};
}

static int slots_empty(struct aggregate_worker *w, unsigned measure)
{
    struct slots *s = &w->slots->measures[measure];
    int rc = 0;

    for (uint32_t i = 1; i < s->count && rc == 0; i++) {
        struct cell cell = cell_of(s->slot + 2 * (size_t)i, s->nano);
        struct record *r = set_record(&w->found->set[SET_EVENT], i - 1);
        if (cell.count == 0)
            continue;
        r->count += s->counts ? cell.count : 0;
        rc = cell_merge(w->found, &r->cells[measure], w->found, &cell);
    }
    clear_slots(s->slot, 2 * (size_t)s->count);
    s->weight = s->rows = 0;
    return rc;
}

int slots_end(struct aggregate_worker *w)
{
    int rc = 0;

    for (unsigned i = 0; w->slots && i < w->plan->plain_measures && rc == 0; i++)
        rc = slots_empty(w, i);
    return rc;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int slots_grow(struct aggregate_worker *w, struct slots *s, uint32_t count)
{
    uint32_t cap = 64;

    if (count <= s->count)
        return 0;
    while (cap < count)
        cap *= 2;
    size_t bytes = 2 * (size_t)cap * sizeof(*s->slot);
    int rc = budget_charge(w->plan->budget, bytes);
    if (rc < 0)
        return rc;
    w->found->charged += bytes;
    struct kernel_sum *slot = aligned_alloc(sizeof(*slot), bytes);
    if (!slot)
        return -ENOMEM;
    if (s->count)
        memcpy(slot, s->slot, 2 * (size_t)s->count * sizeof(*slot));
    clear_slots(slot + 2 * (size_t)s->count, 2 * (size_t)(cap - s->count));
    free(s->slot);
    s->slot = slot;
    s->count = cap;
    return 0;
}

/* A row whose value has no place in a slot: null, or beyond what slots hold. */
static int add_odd(struct aggregate_worker *w, unsigned measure, uint32_t group,
                   const int64_t *value)
{
    const struct slots *s = &w->slots->measures[measure];

    if (s->counts)
        set_record(&w->found->set[SET_EVENT], group)->count++;
    return value ? value_add(w, SET_EVENT, measure, group, *value, s->nano) : 0;
}

static uint64_t rows_of_word(const struct scan_batch *b, uint32_t word)
{
    return b->rows - word * 64 < 64 ? ((uint64_t)1 << (b->rows - word * 64)) - 1 : ~(uint64_t)0;
}

/* Takes the rows that no slot can hold out; *ret: the slots of the others. */
static int take_odd(struct aggregate_worker *w, const struct scan_batch *b, unsigned measure,
                    const int64_t *v, const uint64_t *valid, bool narrow, const uint32_t **ret)
{
    struct aggregate_slots *s = w->slots;
    uint64_t fit[SCAN_WORDS];
    int rc = 0;

    *ret = s->slot_of_row;
    if (!narrow)
        kernels()->range_i64(v, b->rows, 0, VALUES_BELOW - 1, fit);
    for (uint32_t i = 0; i < (b->rows + 63) / 64 && rc == 0; i++) {
        uint64_t ok = (valid ? valid[i] : ~(uint64_t)0) & (narrow ? ~(uint64_t)0 : fit[i]);
        uint64_t odd = b->mask[i] & rows_of_word(b, i) & ~ok;
        if (odd && *ret == s->slot_of_row)
            *ret = memcpy(s->some_slots, s->slot_of_row, b->rows * sizeof(uint32_t));
        for (; odd && rc == 0; odd &= odd - 1) {
            uint32_t row = i * 64 + (uint32_t)__builtin_ctzll(odd);
            s->some_slots[row] = 0;
            rc = add_odd(w, measure, s->slot_of_row[row] - 1,
                         batch_is_valid(valid, row) ? &v[row] : NULL);
        }
    }
    return rc;
}

static int add_samples(struct aggregate_worker *w, unsigned measure, const uint32_t *slot,
                       const int64_t *v, uint32_t n, bool nano)
{
    struct sample *samples = w->found->set[SET_EVENT].samples[measure];
    int rc = 0;

    for (uint32_t j = 0; samples && j < n && rc == 0; j++) {
        if (slot[j])
            rc = sample_add_i64(&w->found->memory, &samples[slot[j] - 1], v[j], nano);
    }
    return rc;
}

/* The slots as they must be for the values that come. */
static int slots_ready(struct aggregate_worker *w, unsigned measure, bool nano, bool counts)
{
    struct slots *s = &w->slots->measures[measure];
    bool other = s->nano != nano || s->counts != counts;
    int rc = other || s->weight > WEIGHT_MAX || s->rows > ROWS_MAX ? slots_empty(w, measure) : 0;

    s->nano = nano;
    s->counts = counts;
    return rc < 0 ? rc : slots_grow(w, s, w->found->set[SET_EVENT].map.table.count + 1);
}

static int add_measure(struct aggregate_worker *w, struct scan_batch *b, unsigned measure,
                       bool counts)
{
    const struct source *source = w->plan->measures[measure].source;
    struct slots *s = &w->slots->measures[measure];
    const uint64_t *valid;
    const uint32_t *slot;
    int64_t min, max;
    bool nano;
    const int64_t *v = batch_i64(b, source, &valid, &nano);
    int rc = slots_ready(w, measure, nano, counts);

    if (rc < 0)
        return rc;
    bool narrow = scan_range(b->chunk, source, &min, &max) && min >= 0 && max < VALUES_BELOW;
    rc = take_odd(w, b, measure, v, valid, narrow, &slot);
    if (rc < 0)
        return rc;
    s->weight += kernels()->sum(slot, v, b->rows, s->slot);
    s->rows += b->rows;
    return add_samples(w, measure, slot, v, b->rows, nano);
}

/* ---- what goes this way ---------------------------------------------------------------------- */

void slots_chunk(struct aggregate_worker *w, struct scan_chunk *c)
{
    const struct aggregate_plan *p = w->plan;
    bool usable = w->slots != NULL, any = false;

    for (unsigned i = 0; i < p->plain_measures && usable; i++) {
        enum scan_shape shape = scan_shape(c, p->measures[i].source);
        any |= shape == SHAPE_INT || shape == SHAPE_TIME;
        usable = !p->measures[i].also && shape != SHAPE_DOUBLE && shape != SHAPE_MIXED;
    }
    if (w->slots)
        w->slots->usable = usable && any;
}

/* Rows that are not selected cost as much as others. */
bool slots_want(const struct aggregate_worker *w, const struct scan_batch *b)
{
    const struct aggregate_set *s = &w->found->set[SET_EVENT];

    return w->slots && w->slots->usable && b->mask &&
           (s->map.way == GROUP_ONE || s->map.way == GROUP_CODES) &&
           s->map.table.count < SLOTS_MAX && b->count >= b->rows / 2;
}

int slots_add(struct aggregate_worker *w, struct scan_batch *b)
{
    const struct aggregate_plan *p = w->plan;
    bool counted = false;
    int rc = group_map_rows(&w->found->set[SET_EVENT].map, b, w->slots->slot_of_row);

    if (rc == 0)
        rc = set_grow(w->found, SET_EVENT);
    for (unsigned i = 0; i < p->plain_measures && rc == 0; i++) {
        enum scan_shape shape = scan_shape(b->chunk, p->measures[i].source);
        if (shape != SHAPE_INT && shape != SHAPE_TIME)
            continue;
        rc = add_measure(w, b, i, !counted);
        counted = true;
    }
    return rc;
}
