/* aggregate_found.c - groups and what they sum up: made, grown, merged. */
#include "aggregate.h"
#include "plan.h"

#include <errno.h>
#include <stdlib.h>

static size_t head_of(const struct aggregate_plan *p)
{
    return p->general ? 0 : sizeof(struct extent);
}

static size_t stride_of(const struct aggregate_plan *p, unsigned measures)
{
    size_t bytes = head_of(p) + sizeof(struct record) + measures * sizeof(struct cell);

    return p->general ? bytes : (bytes + 15) & ~(size_t)15;
}

int found_new(const struct aggregate_plan *p, struct aggregate_found **ret)
{
    struct aggregate_found *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->plan = p;
    sample_memory_init(&f->memory, p->budget, p->exact);
    for (unsigned i = 0; i < SETS; i++) {
        struct aggregate_set *s = &f->set[i];
        group_map_init(&s->map, p->key_sources, p->width, p->max_groups, p->budget);
        s->measures = i == SET_SYSTEM ? p->measure_count : p->plain_measures;
        s->head = head_of(p);
        s->stride = stride_of(p, s->measures);
        s->samples = calloc(s->measures + 1, sizeof(*s->samples));
        s->fine_at = calloc(s->measures + 1, sizeof(*s->fine_at));
        s->fine_cap = calloc(s->measures + 1, sizeof(*s->fine_cap));
        s->picks = calloc(p->keep_count + 1, sizeof(*s->picks));
    }
    f->distinct = calloc(p->keep_count + 1, sizeof(*f->distinct));
    for (unsigned i = 0; f->distinct && i < p->keep_count; i++)
        group_table_init(&f->distinct[i], 2, UINT32_MAX - 1, p->budget);
    for (unsigned i = 0; i < SETS; i++) {
        const struct aggregate_set *s = &f->set[i];
        if (!s->samples || !s->fine_at || !s->fine_cap || !s->picks || !f->distinct) {
            found_free(f);
            return -ENOMEM;
        }
    }
    *ret = f;
    return 0;
}

static void set_done(const struct aggregate_plan *p, struct aggregate_set *s)
{
    group_map_done(&s->map);
    free(s->records);
    for (unsigned i = 0; i < s->measures; i++) {
        if (s->samples)
            free(s->samples[i]);
        if (s->fine_at)
            free(s->fine_at[i]);
    }
    for (unsigned i = 0; s->picks && i < p->keep_count; i++)
        free(s->picks[i]);
    free(s->samples);
    free(s->fine_at);
    free(s->fine_cap);
    free(s->picks);
}

void found_free(struct aggregate_found *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < SETS; i++)
        set_done(f->plan, &f->set[i]);
    for (unsigned i = 0; f->distinct && i < f->plan->keep_count; i++)
        group_table_done(&f->distinct[i]);
    free(f->distinct);
    free(f->intervals);
    free(f->more);
    sample_memory_done(&f->memory);
    budget_release(f->plan->budget, f->charged);
    free(f);
}

static int grow_zeroed(void **array, size_t each, uint32_t before, uint32_t cap)
{
    char *grown = realloc(*array, cap * each);

    if (!grown)
        return -ENOMEM;
    memset(grown + before * each, 0, (cap - before) * each);
    *array = grown;
    return 0;
}

/* Without its keys; `listed`: bytes of values for each list of percentiles. */
static size_t bytes_of_group(const struct aggregate_plan *p, unsigned measures, size_t listed)
{
    size_t bytes = stride_of(p, measures) + p->keep_count * sizeof(struct pick);

    for (unsigned i = 0; i < measures; i++)
        bytes += p->measures[i].sample ? sizeof(struct sample) + listed : 0;
    return bytes;
}

/* Of a table half full, and copied while it grows. */
size_t found_group_bytes(const struct aggregate_plan *p)
{
    enum { VALUES = 16 }; /* of a list for percentiles */
    size_t bytes = bytes_of_group(p, p->measure_count, VALUES * sizeof(uint64_t)) +
                   (p->width + 2) * sizeof(uint64_t);

    return 3 * bytes + p->intervals * 4 * sizeof(struct interval);
}

static int grow_arrays(struct aggregate_found *f, struct aggregate_set *s, uint32_t cap)
{
    const struct aggregate_plan *p = f->plan;
    size_t bytes = (cap - s->cap) * bytes_of_group(p, s->measures, 0);
    int rc = budget_charge(p->budget, bytes);

    if (rc < 0)
        return rc;
    f->charged += bytes;
    char *records = realloc(s->records, cap * s->stride);
    if (!records)
        return -ENOMEM;
    s->records = records;
    for (unsigned i = 0; i < s->measures && rc == 0; i++) {
        if (p->measures[i].sample)
            rc = grow_zeroed((void **)&s->samples[i], sizeof(struct sample), s->cap, cap);
    }
    for (unsigned i = 0; i < p->keep_count && rc == 0; i++)
        rc = grow_zeroed((void **)&s->picks[i], sizeof(struct pick), s->cap, cap);
    s->cap = rc < 0 ? s->cap : cap;
    return rc;
}

int set_grow(struct aggregate_found *f, unsigned set)
{
    struct aggregate_set *s = &f->set[set];
    uint32_t cap = s->cap ? s->cap : 64;
    static const __int128 most = (__int128)(~(unsigned __int128)0 >> 1);
    int rc = 0;

    while (cap < s->map.table.count)
        cap *= 2;
    if (s->map.table.count > s->cap)
        rc = grow_arrays(f, s, cap);
    for (; rc == 0 && s->ready < s->map.table.count; s->ready++) {
        struct record *r = set_record(s, s->ready);
        r->count = 0;
        if (s->head)
            *record_extent(r) = (struct extent){most, -most};
        for (unsigned i = 0; i < s->measures; i++)
            r->cells[i] = (struct cell){.min = INT64_MAX, .max = INT64_MIN};
    }
    return rc;
}

/* ---- parts of texts as keys ------------------------------------------------------------------------ */

static struct text dirname_of(struct text path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

    if (!slash)
        return TEXT(".");
    return slash == path.ptr ? TEXT("/") : (struct text){path.ptr, (size_t)(slash - path.ptr)};
}

static struct text basename_of(struct text path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;

    return slash ? (struct text){slash + 1, (size_t)(path.ptr + path.len - slash - 1)} : path;
}

int plan_keys(const struct aggregate_plan *p, const uint64_t *keys, uint64_t *ret)
{
    for (unsigned i = 0; i < p->width; i++) {
        struct value v;
        ret[i] = keys[i];
        if (p->keys[i].part == KEY_WHOLE)
            continue;
        query_key_value(p->query, keys[i], &v);
        if (v.type != VALUE_TEXT)
            continue;
        struct column_entry e = {.type = TRACE_TEXT,
                                 .text_id = INDEX_NO_TEXT,
                                 .text = p->keys[i].part == KEY_DIRNAME ? dirname_of(v.text)
                                                                        : basename_of(v.text)};
        int rc = key_of_entry(p->query, &e, &ret[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- merging ---------------------------------------------------------------------------------------- */

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

int merge_group(struct aggregate_found *into, struct aggregate_found *from, unsigned set,
                uint32_t to, uint32_t g)
{
    const struct aggregate_plan *p = into->plan;
    struct aggregate_set *s = &into->set[set], *t = &from->set[set];
    struct record *r = set_record(s, to);
    struct record *other = set_record(t, g);
    int rc = 0;

    r->count += other->count;
    if (s->head)
        extent_widen(record_extent(r), record_extent(other)->min_ts, record_extent(other)->max_te);
    for (unsigned i = 0; i < s->measures && rc == 0; i++) {
        rc = cell_merge(into, &r->cells[i], from, &other->cells[i]);
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
    if (f->interval_count == f->interval_cap) {
        size_t cap = f->interval_cap ? f->interval_cap * 2 : 1024;
        size_t more = (cap - f->interval_cap) * sizeof(*f->intervals);
        int rc = budget_charge(f->plan->budget, more);
        if (rc < 0)
            return rc;
        f->charged += more;
        struct interval *grown = realloc(f->intervals, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        f->intervals = grown;
        f->interval_cap = cap;
    }
    f->intervals[f->interval_count++] = (struct interval){group, from, to};
    return 0;
}

/* Members of set 0 that are no arrays by group. */
static int merge_lists(struct aggregate_found *into, const struct aggregate_found *from,
                       const uint32_t *renamed)
{
    int rc = merge_distinct(into, from, renamed);

    for (size_t i = 0; i < from->interval_count && rc == 0; i++)
        rc = interval_add(into, renamed[from->intervals[i].group], from->intervals[i].from,
                          from->intervals[i].to);
    return rc;
}

enum { MERGE_BLOCK = 64 };

/* The numbers in `into` of n groups from `first` on. */
static int merge_keys(struct aggregate_found *into, const struct group_table *t, unsigned set,
                      uint32_t first, uint32_t n, uint32_t *ret)
{
    const struct aggregate_plan *p = into->plan;
    uint64_t told[MERGE_BLOCK * GROUP_KEYS_MAX];
    const uint64_t *keys = group_table_keys(t, first);
    int rc = 0;

    for (uint32_t i = 0; p->parts && i < n && rc == 0; i++)
        rc = plan_keys(p, keys + (size_t)i * p->width, told + (size_t)i * p->width);
    if (rc == 0)
        rc = group_table_add_all(&into->set[set].map.table, p->parts ? told : keys, n, ret);
    return rc < 0 ? rc : set_grow(into, set);
}

static int merge_set(struct aggregate_found *into, struct aggregate_found *from, unsigned set)
{
    const struct aggregate_plan *p = into->plan;
    const struct group_table *t = &from->set[set].map.table;
    uint32_t *renamed = p->general ? malloc((t->count + 1) * sizeof(*renamed)) : NULL;
    uint32_t to[MERGE_BLOCK];
    int rc = p->general && !renamed ? -ENOMEM : 0;

    for (uint32_t first = 0; first < t->count && rc == 0; first += MERGE_BLOCK) {
        uint32_t n = t->count - first < MERGE_BLOCK ? t->count - first : MERGE_BLOCK;
        rc = first % 0x10000 ? 0 : budget_check(p->budget);
        rc = rc < 0 ? rc : merge_keys(into, t, set, first, n, to);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            record_look(&into->set[set], to[i]);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = merge_group(into, from, set, to[i], first + i);
        if (renamed)
            memcpy(renamed + first, to, n * sizeof(*to));
    }
    if (rc == 0 && renamed && set == 0)
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
