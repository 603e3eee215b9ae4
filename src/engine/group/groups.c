/* groups.c - creates, grows and frees groups and their records. */
#include "engine/group/groups.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- records --------------------------------------------------------------------------------- */

/* Sets the offset of each slot (wide ones come last). Returns the size of a record. */
static size_t lay_out(const struct group_set *set, struct acc *accs)
{
    size_t at = sizeof(uint64_t), stride = at;

    for (unsigned last = 0; last < 2; last++) {
        for (unsigned i = 0; i < set->acc_count; i++) {
            const struct acc_spec *spec = &set->accs[i];
            size_t bytes = spec->kind->bytes ? spec->kind->bytes(spec) : spec->kind->size;
            if (spec->kind->wide != last)
                continue;
            at = last ? (at + 15) & ~(size_t)15 : at;
            if (accs) {
                accs[i].at = at;
                accs[i].bytes = bytes;
            }
            at += bytes;
            stride = last ? (at + 15) & ~(size_t)15 : at;
        }
    }
    return stride;
}

void group_clear(const struct groups_of_set *s, uint32_t group, unsigned acc)
{
    const struct acc *a = &s->accs[acc];

    if (a->spec->kind->clear)
        a->spec->kind->clear(a->spec, group_slot(s, group, acc));
    else if (a->bytes)
        memset(group_slot(s, group, acc), 0, a->bytes);
}

void group_begin(const struct groups_of_set *s, uint32_t group)
{
    *group_count(s, group) = 0;
    for (unsigned i = 0; i < s->acc_count; i++)
        group_clear(s, group, i);
}

/* ---- creation -------------------------------------------------------------------------------- */

static int set_init(const struct grouping *g, const struct group_set *set, struct groups_of_set *s)
{
    group_map_init(&s->map, set->keys, set->width, g->limit, g->budget);
    s->accs = calloc(set->acc_count + 1, sizeof(*s->accs));
    if (!s->accs)
        return -ENOMEM;
    s->acc_count = set->acc_count;
    for (unsigned i = 0; i < set->acc_count; i++) {
        s->accs[i].spec = &set->accs[i];
        s->accs[i].list.budget = g->budget;
        group_table_init(&s->accs[i].pairs, 2, UINT32_MAX - 1, g->budget);
    }
    s->stride = lay_out(set, s->accs);
    return 0;
}

static void set_done(const struct grouping *g, struct groups_of_set *s)
{
    for (unsigned i = 0; i < s->acc_count; i++) {
        const struct acc_kind *kind = s->accs[i].spec->kind;
        for (uint32_t group = 0; kind->free && group < s->ready; group++)
            kind->free(g, group_slot(s, group, i));
        vec_done_items(&s->accs[i].list, kind->item);
        vec_done(&s->accs[i].doubles_at);
        group_table_done(&s->accs[i].pairs);
    }
    group_map_done(&s->map);
    if (!s->borrowed)
        large_free(s->records);
    free(s->accs);
}

int groups_new(const struct grouping *g, struct groups **ret)
{
    struct groups *f = calloc(1, sizeof(*f) + g->set_count * sizeof(f->set[0]));
    int rc = 0;

    assert(g->set_count <= GROUP_SETS_MAX);
    if (!f)
        return -ENOMEM;
    f->grouping = g;
    f->large.budget = f->charge.budget = g->budget;
    sample_memory_init(&f->memory, g->budget, g->exact);
    for (; f->set_count < g->set_count && rc == 0; f->set_count++)
        rc = set_init(g, &g->sets[f->set_count], &f->set[f->set_count]);
    if (rc < 0) {
        groups_free(f);
        return rc;
    }
    *ret = f;
    return 0;
}

void groups_free(struct groups *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < f->set_count; i++)
        set_done(f->grouping, &f->set[i]);
    doubles_done(&f->doubles);
    vec_done(&f->large);
    sample_memory_done(&f->memory);
    charge_done(&f->charge);
    free(f);
}

void groups_drop(struct groups *f, unsigned set)
{
    struct groups_of_set *s = &f->set[set];
    size_t bytes = s->cap * s->stride;

    set_done(f->grouping, s);
    *s = (struct groups_of_set){0};
    group_map_init(&s->map, NULL, 0, 0, f->charge.budget);
    f->charge.bytes -= bytes;
    budget_release(f->charge.budget, bytes);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The factor 3 is for a table that is half full, and that is copied while it grows. */
size_t groups_bytes_each(const struct group_set *set)
{
    enum { VALUES = 16 }; /* of a list for percentiles */
    size_t bytes = lay_out(set, NULL) + (set->width + 2) * sizeof(uint64_t), items = 0;

    for (unsigned i = 0; i < set->acc_count; i++) {
        bytes += set->accs[i].sample ? VALUES * sizeof(uint64_t) : 0;
        items += 4 * set->accs[i].kind->item;
    }
    return 3 * bytes + items;
}

int groups_reserve(struct groups *f, unsigned set)
{
    struct groups_of_set *s = &f->set[set];
    uint32_t cap = s->cap ? s->cap : 64;

    if (s->map.table.count <= s->cap)
        return 0;
    while (cap < s->map.table.count)
        cap *= 2;
    int rc = charge_add(&f->charge, (cap - s->cap) * s->stride);
    if (rc < 0)
        return rc;
    char *records = large_realloc(s->records, cap * s->stride);
    if (!records)
        return -ENOMEM;
    s->records = records;
    s->cap = cap;
    return 0;
}

int groups_grow(struct groups *f, unsigned set)
{
    struct groups_of_set *s = &f->set[set];
    int rc = groups_reserve(f, set);

    for (; rc == 0 && s->ready < s->map.table.count; s->ready++)
        group_begin(s, s->ready);
    return rc;
}

/* Four counters for each group: consecutive rows of one group do not depend on each other. */
enum { FEW_GROUPS = 128, FEW_ROWS = 512 };
static void count_few(const struct groups_of_set *s, const uint32_t *group, uint32_t n)
{
    uint32_t counts[4][FEW_GROUPS] = {{0}}, j = 0;

    for (; j + 4 <= n; j += 4) {
        counts[0][group[j]]++;
        counts[1][group[j + 1]]++;
        counts[2][group[j + 2]]++;
        counts[3][group[j + 3]]++;
    }
    for (; j < n; j++)
        counts[0][group[j]]++;
    for (uint32_t g = 0; g < s->ready; g++)
        *group_count(s, g) += counts[0][g] + counts[1][g] + counts[2][g] + counts[3][g];
}

/* If the records are larger than the caches, they are loaded some rows ahead. */
void group_count_rows(const struct groups_of_set *s, const uint32_t *group, uint32_t n)
{
    enum { AHEAD = 32, CACHE_BYTES = 2 << 20 };
    bool touches = s->cap * s->stride > CACHE_BYTES;
    char *records = s->records;
    const size_t stride = s->stride;

    if (s->ready <= FEW_GROUPS && n >= FEW_ROWS) {
        count_few(s, group, n);
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t k = j; touches && j % AHEAD == 0 && k < n && k < j + AHEAD; k++)
            group_touch(s, group[k]);
        ++*(uint64_t *)(records + group[j] * stride);
    }
}
