/* dense_sums.c - sums of integers by group, in a table that stays in the cache.
 *
 * The slot of a group fits into a vector register, so a row is added without a branch. Values that
 * do not fit into a slot (negative or large ones) are added to the group's record one by one. The
 * slots are flushed to the records before they could overflow, when the unit changes, and at the
 * end; sums are exact integers, so the result does not depend on when that happens.
 */
#include "dftracerd/kernel.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Limit for sums of squares, in units of 65536, before a batch is added: they stay below 2^64. */
#define WEIGHT_MAX (1ull << 47)
#define ROWS_MAX (1u << 29)
enum { SLOTS_MAX = 1 << 14 }; /* more would leave the cache */

/* The slots of one accumulator. */
struct sums {
    struct kernel_sum *slot; /* two a group, see kernel.h */
    uint32_t count;          /* groups with slots; the slot after them is for ignored values */
    bool nano;
    bool counts; /* the number of values is also the number of rows of the group */
    uint64_t weight, rows;
};
struct dense_sums {
    unsigned row_counter; /* the first accumulator with slots, which may count rows */
    uint32_t group[SCAN_BATCH];
    struct sums sums[]; /* by accumulator */
};

static bool is_summed(const struct acc_spec *spec)
{
    return spec->kind->sums && !spec->shape;
}

int dense_sums_new(const struct group_set *set, struct dense_sums **ret)
{
    unsigned first = 0;

    while (first < set->acc_count && !is_summed(&set->accs[first]))
        first++;
    *ret = NULL;
    if (first == set->acc_count)
        return 0;
    *ret = calloc(1, sizeof(**ret) + set->acc_count * sizeof(struct sums));
    if (!*ret)
        return -ENOMEM;
    (*ret)->row_counter = first;
    return 0;
}

void dense_sums_free(const struct group_set *set, struct dense_sums *s)
{
    for (unsigned i = 0; s && i < set->acc_count; i++)
        free(s->sums[i].slot);
    free(s);
}

bool dense_sums_usable(const struct group_worker *w, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &w->found->set[set];

    return w->dense_sums[set] && is_summed(s->accs[acc].spec) && s->map.table.count < SLOTS_MAX;
}

unsigned dense_sums_row_counter(const struct group_worker *w, const struct scan_batch *b,
                                unsigned set)
{
    unsigned acc = w->dense_sums[set] ? w->dense_sums[set]->row_counter : 0;

    if (!w->dense_sums[set] || !dense_sums_usable(w, set, acc))
        return UINT_MAX;
    enum scan_shape shape = scan_shape(b->chunk, w->found->set[set].accs[acc].spec->column);
    return shape == SHAPE_INT || shape == SHAPE_TIME ? acc : UINT_MAX;
}

/* ---- flushing -------------------------------------------------------------------------------- */

static void clear_slots(struct kernel_sum *slot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        slot[i] = (struct kernel_sum){.min = INT32_MAX, .inverted_max = INT32_MAX};
}

static struct int_moments slot_moments(const struct kernel_sum *two, bool nano)
{
    int32_t min = two[0].min < two[1].min ? two[0].min : two[1].min;
    int32_t inverted_max =
        two[0].inverted_max < two[1].inverted_max ? two[0].inverted_max : two[1].inverted_max;

    return (struct int_moments){.min = min,
                                .max = ~inverted_max,
                                .sum = (int64_t)(two[0].sum + two[1].sum),
                                .squares = two[0].squares + two[1].squares,
                                .count = (uint32_t)(two[0].count + two[1].count),
                                .more = nano};
}

static int dense_sums_flush(struct group_worker *w, unsigned set, unsigned acc)
{
    struct sums *s = &w->dense_sums[set]->sums[acc];
    const struct groups_of_set *to = &w->found->set[set];
    int rc = 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        struct int_moments sums = slot_moments(s->slot + 2 * (size_t)i, s->nano);
        if (sums.count == 0)
            continue;
        *group_count(to, i) += s->counts ? sums.count : 0;
        rc = int_moments_merge(w->found, group_slot(to, i, acc), w->found, &sums);
    }
    if (s->count)
        clear_slots(s->slot, 2 * (size_t)s->count);
    s->weight = s->rows = 0;
    return rc;
}

int dense_sums_end(struct group_worker *w, unsigned set)
{
    int rc = 0;

    for (unsigned i = 0; w->dense_sums[set] && i < w->found->set[set].acc_count && rc == 0; i++)
        rc = dense_sums_flush(w, set, i);
    return rc;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int dense_sums_grow(struct group_worker *w, struct sums *s, uint32_t count)
{
    uint32_t cap = 63;

    if (count <= s->count)
        return 0;
    while (cap < count)
        cap = cap * 2 + 1;
    size_t bytes = 2 * ((size_t)cap + 1) * sizeof(*s->slot);
    int rc = charge_add(&w->found->charge, bytes);
    if (rc < 0)
        return rc;
    struct kernel_sum *slot = aligned_alloc(sizeof(*slot), bytes);
    if (!slot)
        return -ENOMEM;
    if (s->count)
        memcpy(slot, s->slot, 2 * (size_t)s->count * sizeof(*slot));
    clear_slots(slot + 2 * (size_t)s->count, 2 * (size_t)(cap + 1 - s->count));
    free(s->slot);
    s->slot = slot;
    s->count = cap;
    return 0;
}

/* Prepares the slots for values of a unit: flushes them if necessary, and allocates new ones. */
static int dense_sums_prepare(struct group_worker *w, unsigned set, unsigned acc, bool nano)
{
    struct sums *s = &w->dense_sums[set]->sums[acc];
    bool counts = acc == w->row_counter, changes = s->nano != nano || s->counts != counts;
    bool full = s->weight > WEIGHT_MAX || s->rows > ROWS_MAX;
    int rc = changes || full ? dense_sums_flush(w, set, acc) : 0;

    s->nano = nano;
    s->counts = counts;
    return rc < 0 ? rc : dense_sums_grow(w, s, w->found->set[set].map.table.count);
}

/* Adds values that do not fit into a slot to their records. *ret: the groups of all values; those
 * that were added get the slot for ignored values. */
static int add_unfit(struct group_worker *w, unsigned set, unsigned acc,
                     const struct group_values *of, const uint32_t **ret)
{
    const struct groups_of_set *to = &w->found->set[set];
    struct dense_sums *s = w->dense_sums[set];
    uint64_t fit[SCAN_WORDS];
    int rc = 0;

    *ret = of->group;
    kernels()->range_i64(of->v, of->n, 0, GROUP_SMALL - 1, fit);
    for (uint32_t i = 0; i < (of->n + 63) / 64 && rc == 0; i++) {
        uint64_t unfit =
            ~fit[i] & (of->n - i * 64 < 64 ? ((uint64_t)1 << of->n % 64) - 1 : UINT64_MAX);
        if (unfit && *ret == of->group)
            *ret = memcpy(s->group, of->group, of->n * sizeof(*s->group));
        for (; unfit && rc == 0; unfit &= unfit - 1) {
            uint32_t j = i * 64 + (uint32_t)__builtin_ctzll(unfit);
            struct int_moments *record = group_slot(to, of->group[j], acc);
            s->group[j] = s->sums[acc].count;
            *group_count(to, of->group[j]) += s->sums[acc].counts;
            if (!int_moments_add_quickly(record, of->v[j], of->nano))
                rc = int_moments_add(w->found, record, of->v[j], of->nano);
        }
    }
    return rc;
}

int dense_sums_add(struct group_worker *w, unsigned set, unsigned acc,
                   const struct group_values *of)
{
    struct sums *s = &w->dense_sums[set]->sums[acc];
    const uint32_t *group = of->group;
    int rc = dense_sums_prepare(w, set, acc, of->nano);

    if (rc == 0 && !of->small)
        rc = add_unfit(w, set, acc, of, &group);
    if (rc < 0)
        return rc;
    s->weight += kernels()->sum(group, of->v, of->n, s->slot);
    s->rows += of->n;
    return 0;
}
