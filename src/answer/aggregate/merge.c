/* merge.c - what workers found, put together.
 *
 * Groups keep the numbers that they have, and new ones follow in the order of the worker's. Many
 * groups are merged by all threads of the pool: numbers are looked up side by side, those of new
 * groups are given in one go, and then each group of the worker goes to a record of its own, so
 * that nothing needs a lock but what cells of more than 64 bits share.
 */
#include "answer/aggregate/found.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static bool pick_before(const struct pick *a, const struct pick *b)
{
    if (a->ts != b->ts)
        return a->ts < b->ts;
    return a->place != b->place ? a->place < b->place : a->row < b->row;
}

void pick_merge(struct pick *into, const struct pick *from, bool last)
{
    if (from->has && (!into->has || pick_before(last ? into : from, last ? from : into)))
        *into = *from;
}

/* Moments of cells are in one list, which may move. */
static int merge_cell(struct aggregate_found *into, struct cell *c, struct aggregate_found *from,
                      const struct cell *other, pthread_mutex_t *shared)
{
    if (cell_merge_quickly(c, other))
        return 0;
    if (shared)
        pthread_mutex_lock(shared);
    int rc = cell_merge(into, c, from, other);
    if (shared)
        pthread_mutex_unlock(shared);
    return rc;
}

int merge_group(struct aggregate_found *into, struct aggregate_found *from, unsigned set,
                uint32_t to, uint32_t g, pthread_mutex_t *shared)
{
    const struct aggregate_plan *p = into->plan;
    struct aggregate_set *s = &into->set[set], *t = &from->set[set];
    struct record *r = set_record(s, to), *other = set_record(t, g);
    int rc = 0;

    r->count += other->count;
    if (s->head)
        extent_widen(record_extent(r), record_extent(other)->min_ts, record_extent(other)->max_te);
    for (unsigned i = 0; i < s->measures && rc == 0; i++) {
        rc = merge_cell(into, &r->cells[i], from, &other->cells[i], shared);
        if (rc == 0 && s->samples[i])
            rc = sample_merge(&into->memory, &s->samples[i][to], &t->samples[i][g]);
    }
    for (unsigned i = 0; i < p->keep_count; i++)
        pick_merge(&s->picks[i][to], &t->picks[i][g], p->keeps[i].what == KEEP_LAST);
    return rc;
}

static int merge_distinct(struct aggregate_found *into, const struct aggregate_found *from,
                          const uint32_t *renamed)
{
    for (unsigned k = 0; k < into->plan->keep_count; k++) {
        const struct group_table *t = &from->distinct[k];
        for (uint32_t i = 0; i < t->count; i++) {
            const uint64_t *pair = group_table_keys(t, i);
            int64_t rc =
                group_table_add(&into->distinct[k], (uint64_t[]){renamed[pair[0]], pair[1]});
            if (rc < 0)
                return (int)rc;
        }
    }
    return 0;
}

int interval_add(struct aggregate_found *f, uint32_t group, int64_t from, int64_t to)
{
    int rc = vec_reserve(&f->intervals, 1);

    if (rc == 0)
        f->intervals.at[f->intervals.count++] = (struct interval){group, from, to};
    return rc;
}

/* Members of set 0 that are no arrays by group. */
static int merge_lists(struct aggregate_found *into, const struct aggregate_found *from,
                       const uint32_t *renamed)
{
    int rc = merge_distinct(into, from, renamed);

    for (size_t i = 0; i < from->intervals.count && rc == 0; i++)
        rc = interval_add(into, renamed[from->intervals.at[i].group], from->intervals.at[i].from,
                          from->intervals.at[i].to);
    return rc;
}

/* ---- by all threads -------------------------------------------------------------------------- */

enum { MERGE_BLOCK = 64, MERGE_RANGE = 512, MERGE_MANY = 1024 };

struct merge {
    struct aggregate_found *into, *from;
    unsigned set;
    uint32_t known; /* groups of `into` before; those from here on are new */
    uint32_t *to;   /* by group of `from` */
    pthread_mutex_t more;
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
    int rc = budget_check(m->into->plan->budget);

    if (rc < 0) {
        atomic_store(&m->error, rc);
        return;
    }
    group_map_rename(&m->from->set[m->set].map, first, range_end(m, range) - first);
    group_table_find_all(&m->into->set[m->set].map.table,
                         group_table_keys(&m->from->set[m->set].map.table, first),
                         range_end(m, range) - first, m->to + first);
}

/* A group that is new gets its keys and an empty record. */
static void begin_group(const struct merge *m, uint32_t to, uint32_t g)
{
    const struct aggregate_set *s = &m->into->set[m->set];
    const size_t width = s->map.table.width;

    memcpy(s->map.table.keys + (size_t)to * width,
           group_table_keys(&m->from->set[m->set].map.table, g),
           width * sizeof(*s->map.table.keys));
    record_begin(s, to);
}

static void merge_range(void *arg, unsigned range)
{
    struct merge *m = arg;
    const struct aggregate_set *s = &m->into->set[m->set];
    int rc = budget_check(m->into->plan->budget);

    for (uint32_t g = range * MERGE_RANGE, end = range_end(m, range); g < end && rc == 0; g++) {
        for (uint32_t i = g; g % MERGE_BLOCK == 0 && i < end && i < g + MERGE_BLOCK; i++) {
            if (m->to[i] < m->known)
                record_look(s, m->to[i]);
        }
        if (m->to[g] >= m->known)
            begin_group(m, m->to[g], g);
        rc = merge_group(m->into, m->from, m->set, m->to[g], g, &m->more);
    }
    if (rc < 0)
        atomic_store(&m->error, rc);
}

/* Lists of percentiles share their memory, and parts of texts may make one group of several. */
static bool is_for_all(const struct aggregate_found *into, const struct aggregate_found *from,
                       unsigned set)
{
    const struct aggregate_plan *p = into->plan;
    bool ret = from->set[set].map.table.count >= MERGE_MANY && !p->parts && !p->tally &&
               query_environment(p->query)->pool;

    for (unsigned i = 0; i < into->set[set].measures; i++)
        ret &= !p->measures[i].sample;
    return ret;
}

/* Numbers of the groups that are new. */
static int number_new(struct merge *m)
{
    struct aggregate_set *s = &m->into->set[m->set];
    uint32_t fresh = 0;

    m->known = s->map.table.count;
    for (uint32_t g = 0; g < m->from->set[m->set].map.table.count; g++) {
        if (m->to[g] == GROUP_NONE)
            m->to[g] = m->known + fresh++;
    }
    int rc = group_table_append(&s->map.table, fresh);
    rc = rc < 0 ? rc : set_room(m->into, m->set);
    s->ready = rc < 0 ? s->ready : s->map.table.count;
    return rc;
}

static void for_ranges(struct merge *m, void (*job)(void *arg, unsigned range))
{
    unsigned ranges = (m->from->set[m->set].map.table.count + MERGE_RANGE - 1) / MERGE_RANGE;

    if (pool_run(query_environment(m->into->plan->query)->pool, ranges, job, m) == 0)
        return;
    for (unsigned i = 0; i < ranges; i++)
        job(m, i);
}

static int merge_by_all(struct merge *m)
{
    int rc = group_table_place(&m->into->set[m->set].map.table);

    pthread_mutex_init(&m->more, NULL);
    if (rc == 0) {
        for_ranges(m, find_range);
        rc = atomic_load(&m->error);
        rc = rc < 0 ? rc : number_new(m);
    }
    if (rc == 0)
        for_ranges(m, merge_range);
    pthread_mutex_destroy(&m->more);
    return rc < 0 ? rc : atomic_load(&m->error);
}

/* ---- by one thread --------------------------------------------------------------------------- */

/* The numbers in `into` of n groups from `first` on. */
static int merge_keys(struct aggregate_found *into, struct aggregate_found *from, unsigned set,
                      uint32_t first, uint32_t n, uint32_t *ret)
{
    const struct aggregate_plan *p = into->plan;
    uint64_t told[MERGE_BLOCK * GROUP_KEYS_MAX];
    const uint64_t *keys = group_table_keys(&from->set[set].map.table, first);
    int rc = 0;

    group_map_rename(&from->set[set].map, first, n);

    for (uint32_t i = 0; p->parts && i < n && rc == 0; i++)
        rc = plan_keys(p, keys + (size_t)i * p->width, told + (size_t)i * p->width);
    if (rc == 0)
        rc = group_table_add_all(&into->set[set].map.table, p->parts ? told : keys, n, ret);
    return rc < 0 ? rc : set_grow(into, set);
}

/* renamed: NULL, or room for the numbers that the groups of `from` have in `into`. */
static int merge_by_one(struct aggregate_found *into, struct aggregate_found *from, unsigned set,
                        uint32_t *renamed)
{
    const struct aggregate_plan *p = into->plan;
    const struct group_table *t = &from->set[set].map.table;
    uint32_t to[MERGE_BLOCK];
    int rc = 0;

    for (uint32_t first = 0; first < t->count && rc == 0; first += MERGE_BLOCK) {
        uint32_t n = t->count - first < MERGE_BLOCK ? t->count - first : MERGE_BLOCK;
        rc = first % 0x10000 ? 0 : budget_check(p->budget);
        rc = rc < 0 ? rc : merge_keys(into, from, set, first, n, to);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            record_look(&into->set[set], to[i]);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = merge_group(into, from, set, to[i], first + i, NULL);
        if (renamed)
            memcpy(renamed + first, to, n * sizeof(*to));
    }
    return rc;
}

static int merge_set(struct aggregate_found *into, struct aggregate_found *from, unsigned set)
{
    const struct aggregate_plan *p = into->plan;
    bool all = is_for_all(into, from, set);
    size_t count = from->set[set].map.table.count;
    uint32_t *renamed = all || p->general ? malloc((count + 1) * sizeof(*renamed)) : NULL;
    struct merge m = {.into = into, .from = from, .set = set, .to = renamed};
    int rc = (all || p->general) && !renamed ? -ENOMEM : 0;

    if (rc == 0 && count > 0)
        rc = group_map_join(&into->set[set].map, &from->set[set].map);
    if (rc == 0)
        rc = all ? merge_by_all(&m) : merge_by_one(into, from, set, renamed);
    if (rc == 0 && p->general && set == 0)
        rc = merge_lists(into, from, renamed);
    free(renamed);
    return rc;
}

int aggregate_merge(struct aggregate_found *into, struct aggregate_found *from)
{
    int rc = 0;

    for (unsigned i = 0; i < SETS && rc == 0; i++)
        rc = merge_set(into, from, i);
    return rc;
}
