/* slots.c - integers of the common rows, summed up in a table that stays in the cache.
 *
 * A batch of which most rows are selected is added as a whole, row by row without a branch: each
 * row has a slot (one for each group, and slot 0 for rows that do not count), and a slot is as
 * small as a register. What a slot cannot hold (null, negative or large values) goes into the
 * group's record one by one. The slots are emptied into the records before they could overflow,
 * when the unit changes, and in the end; sums are exact integers, so it does not matter when.
 */
#include "dftracerd/kernel.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>

#define VALUES_BELOW (1ll << 26) /* a batch of their squares is 2^63 at most */
#define WEIGHT_MAX \
    (1ull \
     << 47) /* sums of squares in units of 65536 before a batch is added: so they stay below 2^64 */
#define ROWS_MAX (1u << 29)
enum { SLOTS_MAX = 1 << 14 }; /* more would leave the cache */

/* Of one number. */
struct sums {
    struct kernel_sum
        *slot;      /* two a group, see kernel.h; those of group g are 2 * (g + 1) and the next */
    uint32_t count; /* groups with slots, and the one of no group */
    bool nano;
    bool counts; /* its values are the rows of the groups, too */
    bool fit;    /* the values of the chunk at hand go this way */
    uint64_t weight, rows;
};
struct slots {
    bool usable; /* in the chunk at hand */
    uint32_t slot_of_row[SCAN_BATCH], some_slots[SCAN_BATCH];
    struct sums sums[]; /* by accumulator */
};

static bool is_plain(const struct acc_spec *spec)
{
    return spec->kind == &acc_number && !spec->shape && !spec->with;
}

int slots_new(const struct group_set *set, struct slots **ret)
{
    bool usable = false;

    for (unsigned i = 0; i < set->acc_count; i++)
        usable = usable || is_plain(&set->accs[i]);
    usable = usable && !set->add;
    *ret = NULL;
    if (!usable)
        return 0;
    *ret = calloc(1, sizeof(**ret) + set->acc_count * sizeof(struct sums));
    return *ret ? 0 : -ENOMEM;
}

void slots_free(const struct group_set *set, struct slots *s)
{
    for (unsigned i = 0; s && i < set->acc_count; i++)
        free(s->sums[i].slot);
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

static int slots_empty(struct group_worker *w, unsigned set, unsigned acc)
{
    struct sums *s = &w->slots[set]->sums[acc];
    const struct groups_of_set *to = &w->found->set[set];
    int rc = 0;

    for (uint32_t i = 1; i < s->count && rc == 0; i++) {
        struct cell cell = cell_of(s->slot + 2 * (size_t)i, s->nano);
        if (cell.count == 0)
            continue;
        *group_count(to, i - 1) += s->counts ? cell.count : 0;
        rc = cell_merge(w->found, group_slot(to, i - 1, acc), w->found, &cell);
    }
    clear_slots(s->slot, 2 * (size_t)s->count);
    s->weight = s->rows = 0;
    return rc;
}

int slots_end(struct group_worker *w, unsigned set)
{
    int rc = 0;

    for (unsigned i = 0; w->slots[set] && i < w->found->set[set].acc_count && rc == 0; i++)
        rc = slots_empty(w, set, i);
    return rc;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int slots_grow(struct group_worker *w, struct sums *s, uint32_t count)
{
    uint32_t cap = 64;

    if (count <= s->count)
        return 0;
    while (cap < count)
        cap *= 2;
    size_t bytes = 2 * (size_t)cap * sizeof(*s->slot);
    int rc = charge_add(&w->found->charge, bytes);
    if (rc < 0)
        return rc;
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
static int add_odd(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                   const int64_t *value)
{
    const struct sums *s = &w->slots[set]->sums[acc];

    if (s->counts)
        ++*group_count(&w->found->set[set], group);
    return value ? number_add(w, set, acc, group, *value, s->nano) : 0;
}

static uint64_t rows_of_word(const struct scan_batch *b, uint32_t word)
{
    return b->rows - word * 64 < 64 ? ((uint64_t)1 << (b->rows - word * 64)) - 1 : ~(uint64_t)0;
}

/* Takes the rows that no slot can hold out; *ret: the slots of the others. */
static int take_odd(struct group_worker *w, const struct scan_batch *b, unsigned set, unsigned acc,
                    const int64_t *v, const uint64_t *valid, bool narrow, const uint32_t **ret)
{
    struct slots *s = w->slots[set];
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
            rc = add_odd(w, set, acc, s->slot_of_row[row] - 1,
                         batch_is_valid(valid, row) ? &v[row] : NULL);
        }
    }
    return rc;
}

/* What a row needs is kept in locals: the compiler must take every store as one into the set. */
static inline __attribute__((always_inline)) int add_samples(struct group_worker *w, unsigned set,
                                                             unsigned acc, const uint32_t *slot,
                                                             const int64_t *v, uint32_t n,
                                                             bool nano)
{
    const struct groups_of_set *s = &w->found->set[set];
    struct sample_memory *memory = &w->found->memory;
    const size_t stride = s->stride;
    char *samples = s->records + s->accs[acc].at + offsetof(struct sampled_cell, sample) - stride;

    for (uint32_t j = 0; j < n; j++) {
        if (slot[j] == 0)
            continue;
        int rc = sample_add_i64(memory, (struct sample *)(samples + slot[j] * stride), v[j], nano);
        if (__builtin_expect(rc < 0, 0))
            return rc;
    }
    return 0;
}

/* The slots as they must be for the values that come. */
static int slots_ready(struct group_worker *w, unsigned set, unsigned acc, bool nano, bool counts)
{
    struct sums *s = &w->slots[set]->sums[acc];
    bool other = s->nano != nano || s->counts != counts;
    int rc = other || s->weight > WEIGHT_MAX || s->rows > ROWS_MAX ? slots_empty(w, set, acc) : 0;

    s->nano = nano;
    s->counts = counts;
    return rc < 0 ? rc : slots_grow(w, s, w->found->set[set].map.table.count + 1);
}

static int add_number(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc,
                      bool counts)
{
    const struct source *source = w->found->set[set].accs[acc].spec->column;
    struct sums *s = &w->slots[set]->sums[acc];
    const uint64_t *valid;
    const uint32_t *slot;
    int64_t min, max;
    bool nano;
    const int64_t *v = batch_i64(b, source, &valid, &nano);
    int rc = slots_ready(w, set, acc, nano, counts);

    if (rc < 0)
        return rc;
    bool narrow = scan_range(b->chunk, source, &min, &max) && min >= 0 && max < VALUES_BELOW;
    rc = take_odd(w, b, set, acc, v, valid, narrow, &slot);
    if (rc < 0)
        return rc;
    s->weight += kernels()->sum(slot, v, b->rows, s->slot);
    s->rows += b->rows;
    if (!w->found->set[set].accs[acc].spec->sample)
        return 0;
    return nano ? add_samples(w, set, acc, slot, v, b->rows, true)
                : add_samples(w, set, acc, slot, v, b->rows, false);
}

/* ---- what goes this way ---------------------------------------------------------------------- */

void slots_chunk(struct group_worker *w, unsigned set, struct scan_chunk *c)
{
    const struct groups_of_set *s = &w->found->set[set];
    struct slots *slots = w->slots[set];

    for (unsigned i = 0; slots && i < s->acc_count; i++) {
        const struct acc_spec *spec = s->accs[i].spec;
        enum scan_shape shape = is_plain(spec) ? scan_shape(c, spec->column) : SHAPE_NULL;
        slots->sums[i].fit = shape == SHAPE_INT || shape == SHAPE_TIME;
        slots->usable = (i > 0 && slots->usable) || slots->sums[i].fit;
    }
}

/* Rows that are not selected cost as much as others. */
bool slots_want(const struct group_worker *w, const struct scan_batch *b, unsigned set)
{
    const struct groups_of_set *s = &w->found->set[set];

    return w->slots[set] && w->slots[set]->usable && b->mask &&
           (s->map.way == GROUP_ONE || s->map.way == GROUP_CODES) &&
           s->map.table.count < SLOTS_MAX && b->count >= b->rows / 2;
}

/* Nulls are taken out one by one, so there must not be many. */
static bool fits(const struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const uint64_t *valid;
    uint32_t nulls = 0;

    if (!w->slots[set]->sums[acc].fit)
        return false;
    batch_i64(b, w->found->set[set].accs[acc].spec->column, &valid, NULL);
    for (uint32_t i = 0; valid && i < (b->rows + 63) / 64; i++)
        nulls += (uint32_t)__builtin_popcountll(b->mask[i] & ~valid[i]);
    return nulls < b->count / 16 + 1;
}

/* As group_map_batch would give them. */
static void name_groups(struct group_worker *w, const struct scan_batch *b, unsigned set)
{
    const uint32_t *slot = w->slots[set]->slot_of_row;

    for (uint32_t j = 0; j < b->count; j++)
        w->group[j] = slot[batch_row(b, j)] - 1;
}

int slots_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    struct groups_of_set *s = &w->found->set[set];
    bool counted = false, named = false;
    int rc = group_map_rows(&s->map, b, w->slots[set]->slot_of_row);

    if (rc == 0)
        rc = groups_grow(w->found, set);
    for (unsigned i = 0; i < s->acc_count && rc == 0; i++) {
        if (fits(w, b, set, i)) {
            rc = add_number(w, b, set, i, !counted);
            counted = true;
            continue;
        }
        if (!named)
            name_groups(w, b, set);
        named = true;
        rc = s->accs[i].spec->kind->add(w, b, set, i);
    }
    if (rc == 0 && !counted)
        group_count_rows(s, w->group, b->count);
    return rc;
}
