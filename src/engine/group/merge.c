/* merge.c - merges the groups of a worker into those of another.
 *
 * Groups of the target keep their numbers, and new ones follow in the order of the worker. Many
 * groups are merged by all threads of the pool: numbers are looked up in parallel, new groups are
 * numbered by one thread, and then each group is merged into its own record, so that only the list
 * of sums beyond 64 bits needs a lock.
 */
#include "engine/group/groups.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

int group_merge(struct groups *into, struct groups *from, unsigned set, uint32_t to, uint32_t g,
                pthread_mutex_t *shared)
{
    struct groups_of_set *s = &into->set[set], *t = &from->set[set];
    int rc = 0;

    *group_count(s, to) += *group_count(t, g);
    for (unsigned i = 0; i < s->acc_count && rc == 0; i++) {
        const struct acc_kind *kind = s->accs[i].spec->kind;
        if (kind->merge)
            rc = kind->merge(into, &s->accs[i], group_slot(s, to, i), from, group_slot(t, g, i),
                             shared);
    }
    return rc;
}

/* ---- merging by all threads ------------------------------------------------------------------ */

/* Groups whose cache misses overlap; groups that a thread merges at a time; groups from which on
 * all threads merge. */
enum { MERGE_BLOCK = 64, MERGE_RANGE = 512, MERGE_MANY = 1024 };

struct merge {
    struct groups *into, *from;
    unsigned set, later;
    uint32_t known;         /* number of groups of `into` before; groups from here on are new */
    uint32_t *to;           /* by group of `from`: the number in `into` */
    pthread_mutex_t shared; /* see acc_kind.merge */
    atomic_int error;
};

static uint32_t range_end(const struct merge *m, unsigned range)
{
    uint32_t count = m->from->set[m->set].map.table.count, end = (range + 1) * MERGE_RANGE;

    return end < count ? end : count;
}

static void find_range(void *arg, unsigned range)
{
    struct merge *m = arg;
    uint32_t first = range * MERGE_RANGE;
    int rc = budget_check(m->into->grouping->budget);

    if (rc < 0) {
        atomic_store(&m->error, rc);
        return;
    }
    group_map_rename(&m->from->set[m->set].map, first, range_end(m, range) - first);
    group_table_find_all(&m->into->set[m->set].map.table,
                         group_table_keys(&m->from->set[m->set].map.table, first),
                         range_end(m, range) - first, m->to + first);
}

/* Sets the keys of a new group and makes its record. Also after an error: number_new has counted it
 * as ready, so groups_free frees its slots. */
static void begin_group(const struct merge *m, uint32_t to, uint32_t g)
{
    const struct groups_of_set *s = &m->into->set[m->set];
    const size_t width = s->map.table.width;

    memcpy(s->map.table.keys + (size_t)to * width,
           group_table_keys(&m->from->set[m->set].map.table, g),
           width * sizeof(*s->map.table.keys));
    group_begin(s, to);
}

static void merge_range(void *arg, unsigned range)
{
    struct merge *m = arg;
    const struct groups_of_set *s = &m->into->set[m->set];
    int rc = budget_check(m->into->grouping->budget);

    for (uint32_t g = range * MERGE_RANGE, end = range_end(m, range); g < end; g++) {
        for (uint32_t i = g; g % MERGE_BLOCK == 0 && i < end && i < g + MERGE_BLOCK; i++) {
            if (m->to[i] < m->known)
                group_touch(s, m->to[i]);
        }
        if (m->to[g] >= m->known)
            begin_group(m, m->to[g], g);
        rc = rc < 0 ? rc : group_merge(m->into, m->from, m->set, m->to[g], g, &m->shared);
    }
    if (rc < 0)
        atomic_store(&m->error, rc);
}

/* Returns true if all threads may merge a set: it has many groups, no samples (which share their
 * memory), and no translated keys (which may merge several groups into one). */
static bool can_use_threads(const struct groups *from, unsigned set)
{
    const struct groups_of_set *s = &from->set[set];
    bool ret = s->map.table.count >= MERGE_MANY && !from->grouping->translate_keys &&
               query_environment(from->grouping->query)->pool;

    for (unsigned i = 0; i < s->acc_count; i++)
        ret &= !s->accs[i].spec->sample;
    return ret;
}

/* Numbers the new groups. */
static int number_new(struct merge *m)
{
    struct groups_of_set *s = &m->into->set[m->set];
    uint32_t added = 0;

    m->known = s->map.table.count;
    for (uint32_t g = 0; g < m->from->set[m->set].map.table.count; g++) {
        if (m->to[g] == GROUP_NONE)
            m->to[g] = m->known + added++;
    }
    if (m->later)
        group_table_expect(&s->map.table, m->known + (uint64_t)added * (1 + m->later));
    int rc = group_table_append(&s->map.table, added);
    rc = rc < 0 ? rc : groups_reserve(m->into, m->set);
    s->ready = rc < 0 ? s->ready : s->map.table.count;
    return rc;
}

static void run_ranges(struct merge *m, void (*job)(void *arg, unsigned range))
{
    unsigned ranges = (m->from->set[m->set].map.table.count + MERGE_RANGE - 1) / MERGE_RANGE;

    pool_run(query_environment(m->into->grouping->query)->pool, ranges, job, m);
}

static int merge_by_all(struct merge *m)
{
    int rc = group_table_place(&m->into->set[m->set].map.table);

    pthread_mutex_init(&m->shared, NULL);
    if (rc == 0) {
        run_ranges(m, find_range);
        rc = atomic_load(&m->error);
        rc = rc < 0 ? rc : number_new(m);
    }
    if (rc == 0)
        run_ranges(m, merge_range);
    pthread_mutex_destroy(&m->shared);
    return rc < 0 ? rc : atomic_load(&m->error);
}

/* ---- merging by one thread ------------------------------------------------------------------- */

/* Finds or adds n groups of `from`, from `first` on. *ret: their numbers in `into`. */
static int merge_keys(struct groups *into, struct groups *from, unsigned set, uint32_t first,
                      uint32_t n, uint32_t *ret)
{
    const struct grouping *g = into->grouping;
    struct group_map *map = &into->set[set].map;
    uint64_t translated[MERGE_BLOCK * GROUP_KEYS_MAX];
    const uint64_t *keys = group_table_keys(&from->set[set].map.table, first);
    int rc = 0;

    group_map_rename(&from->set[set].map, first, n);
    for (uint32_t i = 0; g->translate_keys && i < n && rc == 0; i++)
        rc = g->translate_keys(g->arg, keys + (size_t)i * map->width,
                               translated + (size_t)i * map->width);
    if (rc == 0)
        rc = group_table_add_all(&map->table, g->translate_keys ? translated : keys, n, ret);
    return rc < 0 ? rc : groups_grow(into, set);
}

/* Sets `to` to the numbers of the groups of `from` in `into`. */
static int merge_by_one(struct groups *into, struct groups *from, unsigned set, uint32_t *to)
{
    uint32_t count = from->set[set].map.table.count;
    int rc = 0;

    for (uint32_t first = 0; first < count && rc == 0; first += MERGE_BLOCK) {
        uint32_t n = count - first < MERGE_BLOCK ? count - first : MERGE_BLOCK;
        rc = first % 0x10000 ? 0 : budget_check(into->grouping->budget);
        rc = rc < 0 ? rc : merge_keys(into, from, set, first, n, to + first);
        for (uint32_t i = first; i < first + n && rc == 0; i++)
            group_touch(&into->set[set], to[i]);
        for (uint32_t i = first; i < first + n && rc == 0; i++)
            rc = group_merge(into, from, set, to[i], i, NULL);
    }
    return rc;
}

/* *ret: *new*, on errors, too: the numbers of the groups of `from` in `into`. */
static int merge_set(struct groups *into, struct groups *from, unsigned set, unsigned later,
                     uint32_t **ret)
{
    size_t count = from->set[set].map.table.count;
    uint32_t *to = *ret = malloc((count + 1) * sizeof(*to));
    struct merge m = {.into = into, .from = from, .set = set, .later = later, .to = to};
    int rc = to ? 0 : -ENOMEM;

    if (rc == 0 && count > 0)
        rc = group_map_join(&into->set[set].map, &from->set[set].map);
    if (rc < 0)
        return rc;
    return can_use_threads(from, set) ? merge_by_all(&m) : merge_by_one(into, from, set, to);
}

static int merge_lists(struct groups *into, struct groups *from, unsigned set,
                       const uint32_t *const *to)
{
    struct groups_of_set *s = &into->set[set];
    int rc = 0;

    for (unsigned i = 0; i < s->acc_count && rc == 0; i++) {
        const struct acc_kind *kind = s->accs[i].spec->kind;
        if (kind->merge_lists)
            rc = kind->merge_lists(&s->accs[i], &from->set[set].accs[i], set, to);
    }
    return rc;
}

int groups_merge(struct groups *into, struct groups *from, unsigned later)
{
    uint32_t *to[GROUP_SETS_MAX] = {NULL};
    int rc = 0;

    for (unsigned i = 0; i < into->set_count && rc == 0; i++)
        rc = merge_set(into, from, i, later, &to[i]);
    for (unsigned i = 0; i < into->set_count && rc == 0; i++)
        rc = merge_lists(into, from, i, (const uint32_t *const *)to);
    for (unsigned i = 0; i < into->set_count; i++)
        free(to[i]);
    return rc;
}
