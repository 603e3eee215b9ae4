/* stats_scan.c - one pass over the selected rows fills everything a report needs. */
#include "stats.h"

#include <errno.h>
#include <stdlib.h>

/* Moments of doubles of the present chunk: entries of the groups touched. */
struct chunk_doubles {
    uint32_t *at[QUANTITIES], cap[QUANTITIES]; /* by group: entry + 1, 0 = none */
    struct entry { uint32_t group, quantity; struct chunk_f64 moments; } *entries;
    uint32_t count, room;
};

struct worker {
    struct stats_found found;
    struct chunk_doubles doubles;
    uint64_t rows;                             /* since the last fold */
    bool nano;                                 /* unit of ts and te in this chunk */
    bool any;
    int64_t min_ts, max_te;
    uint32_t group[SCAN_BATCH], picked_group[SCAN_BATCH];
    int64_t picked[SCAN_BATCH];
    double picked_f64[SCAN_BATCH];
};

/* What the last chunks of a job gave, in order. */
struct job {
    const struct stats_plan *plan;
    struct stats_found *found;
    struct doubles *doubles;
    bool first;                                /* `found` is still empty */
};

static inline bool is_valid(const uint64_t *valid, uint32_t row)
{
    return !valid || (valid[row / 64] >> (row % 64) & 1);
}

/* ---- begin and end of workers and chunks ------------------------------------------------------------- */

static int worker_begin(void *arg, unsigned worker, void **ret_state)
{
    struct job *job = arg;
    struct worker *w = calloc(1, sizeof(*w));
    (void)worker;

    if (!w)
        return -ENOMEM;
    int rc = found_init(&w->found, job->plan);
    if (rc < 0) {
        free(w);
        return rc;
    }
    *ret_state = w;
    return 0;
}

static int worker_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct job *job = arg;
    struct worker *w = state;
    int rc = 0;
    (void)worker;

    for (unsigned i = 0; i < QUANTITIES; i++)
        free(w->doubles.at[i]);
    free(w->doubles.entries);
    if (!failed && job->first) {
        found_done(job->found);
        *job->found = w->found;
        job->first = false;
    } else {
        if (!failed)
            rc = found_merge(job->found, &w->found);
        found_done(&w->found);
    }
    free(w);
    return rc;
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct worker *w = state;
    const struct stats_plan *plan = w->found.plan;
    int rc = 0;

    w->any = false;
    w->min_ts = INT64_MAX;
    w->max_te = INT64_MIN;
    w->nano = scan_is_nano(c, plan->te);
    for (unsigned i = 0; i < COUNT_TABLES && rc == 0; i++) {
        if (plan->count[i])
            rc = group_map_chunk(&w->found.count[i].map, c);
    }
    if (plan->groups && rc == 0)
        rc = group_map_chunk(&w->found.groups.map, c);
    if (w->rows >= SAMPLE_FOLD_ROWS && rc == 0) {
        w->rows = 0;
        rc = sample_fold(&w->found.memory);
    }
    return rc;
}

/* The double moments of a chunk on their way to their place in (file, chunk) order. */
struct part { uint32_t count, width; struct entry *entries; uint64_t *keys; };

static struct part *part_new(const struct worker *w)
{
    const struct group_table *t = &w->found.groups.map.table;
    uint32_t count = w->doubles.count;
    size_t entry_bytes = count * sizeof(struct entry), key_bytes = (size_t)count * t->width * sizeof(uint64_t);
    struct part *p = malloc(sizeof(*p) + entry_bytes + key_bytes);

    if (!p)
        return NULL;
    p->count = count;
    p->width = t->width;
    p->entries = (struct entry *)(p + 1);
    p->keys = (uint64_t *)((char *)(p + 1) + entry_bytes);
    memcpy(p->entries, w->doubles.entries, entry_bytes);
    for (uint32_t i = 0; i < count && t->width; i++)
        memcpy(p->keys + (size_t)i * t->width, group_table_keys(t, p->entries[i].group),
               t->width * sizeof(uint64_t));
    return p;
}

static int chunk_end(void *state, struct scan_chunk *c, void **ret_part)
{
    struct worker *w = state;
    struct chunk_doubles *d = &w->doubles;
    (void)c;

    *ret_part = NULL;
    if (w->any) {
        struct time_span *span = &w->found.span;
        __int128 unit = w->nano ? 1 : 1000, min = w->min_ts * unit, max = w->max_te * unit;
        span->min_ts = !span->any || min < span->min_ts ? min : span->min_ts;
        span->max_te = !span->any || max > span->max_te ? max : span->max_te;
        span->any = true;
    }
    if (d->count == 0)
        return 0;
    *ret_part = part_new(w);
    for (uint32_t i = 0; i < d->count; i++)
        d->at[d->entries[i].quantity][d->entries[i].group] = 0;
    d->count = 0;
    return *ret_part ? 0 : -ENOMEM;
}

static int merge_part(void *arg, size_t position, void *part, bool failed)
{
    struct job *job = arg;
    struct part *p = part;
    int rc = 0;
    (void)position;

    for (uint32_t i = 0; p && !failed && i < p->count && rc == 0; i++) {
        struct moments_f64 m;
        struct doubles *d = job->doubles;
        uint32_t cap = d->cap;
        int64_t group = group_table_add(&d->table, p->keys + (size_t)i * p->width);
        if (group < 0)
            rc = (int)group;
        while (rc == 0 && (uint64_t)group >= cap)
            cap = cap ? cap * 2 : 64;
        for (unsigned q = 0; rc == 0 && cap > d->cap && q < QUANTITIES; q++) {
            struct moments_f64 *grown = realloc(d->moments[q], cap * sizeof(*grown));
            if (!grown) {
                rc = -ENOMEM;
                break;
            }
            memset(grown + d->cap, 0, (cap - d->cap) * sizeof(*grown));
            d->moments[q] = grown;
        }
        if (rc < 0)
            break;
        d->cap = cap;
        chunk_f64_moments(&p->entries[i].moments, &m);
        moments_f64_merge(&d->moments[p->entries[i].quantity][group], &m);
    }
    free(p);
    return rc;
}

/* ---- a batch -------------------------------------------------------------------------------------------- */

static int add_times(struct worker *w, struct scan_batch *b)
{
    const struct stats_plan *plan = w->found.plan;
    const int64_t *ts, *te;
    const uint64_t *valid, *te_valid;
    bool ts_nano, te_nano;
    int rc = batch_i64(b, plan->ts, &ts, &valid, &ts_nano);

    if (rc == -EDOM)
        return 0;
    rc = rc < 0 ? rc : batch_i64(b, plan->te, &te, &te_valid, &te_nano);
    if (rc < 0)
        return rc;
    /* Both in the unit of te: that of ts, or finer where only dur has fractions. */
    int64_t unit = te_nano && !ts_nano ? 1000 : 1, min = INT64_MAX, max = w->max_te;
    bool any = false;
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = b->select ? b->select[j] : j;
        if (!is_valid(valid, row))
            continue;
        min = ts[row] < min ? ts[row] : min;
        max = te[row] > max ? te[row] : max;
        any = true;
    }
    if (!any)
        return 0;
    min *= unit;
    w->min_ts = min < w->min_ts ? min : w->min_ts;
    w->max_te = max;
    w->any = true;
    return 0;
}

/* Selected rows that have a value, and their groups (`group` may be NULL). */
static uint32_t pick_i64(struct worker *w, const struct scan_batch *b, const int64_t *v, const uint64_t *valid,
                         const uint32_t *group)
{
    uint32_t n = 0;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = b->select ? b->select[j] : j;
        w->picked[n] = v[row];
        w->picked_group[n] = group ? group[j] : 0;
        n += is_valid(valid, row);
    }
    return n;
}

static int add_i64(struct worker *w, struct scan_batch *b, const struct source *s, struct tally *all,
                   const uint32_t *group)
{
    const int64_t *v;
    const uint64_t *valid;
    bool nano;
    int rc = batch_i64(b, s, &v, &valid, &nano);

    if (rc < 0)
        return rc == -EDOM ? 0 : rc;
    if (!b->select && !valid)
        return tally_add_i64(&w->found.memory, all, group, v, b->count, nano);
    uint32_t n = pick_i64(w, b, v, valid, group);
    return tally_add_i64(&w->found.memory, all, group ? w->picked_group : NULL, w->picked, n, nano);
}

static struct chunk_f64 *chunk_entry(struct chunk_doubles *d, unsigned quantity, uint32_t group)
{
    uint32_t *at = d->at[quantity];

    if (__builtin_expect(group < d->cap[quantity] && at[group], 1))
        return &d->entries[at[group] - 1].moments;
    if (group >= d->cap[quantity]) {
        uint32_t cap = d->cap[quantity] ? d->cap[quantity] : 64;
        while (cap <= group)
            cap *= 2;
        at = realloc(at, cap * sizeof(*at));
        if (!at)
            return NULL;
        memset(at + d->cap[quantity], 0, (cap - d->cap[quantity]) * sizeof(*at));
        d->at[quantity] = at;
        d->cap[quantity] = cap;
    }
    if (d->count == d->room) {
        uint32_t room = d->room ? d->room * 2 : 64;
        struct entry *grown = realloc(d->entries, room * sizeof(*grown));
        if (!grown)
            return NULL;
        d->entries = grown;
        d->room = room;
    }
    d->entries[d->count] = (struct entry){.group = group, .quantity = quantity};
    at[group] = ++d->count;
    return &d->entries[d->count - 1].moments;
}

static int add_picked_f64(struct worker *w, unsigned quantity, uint32_t n)
{
    struct tally *all = w->found.groups.tally[quantity];

    for (uint32_t i = 0; i < n; i++) {
        double v = w->picked_f64[i];
        struct chunk_f64 *c = chunk_entry(&w->doubles, quantity, w->picked_group[i]);
        if (!c)
            return -ENOMEM;
        if (c->count++ == 0) {
            c->shift = c->min = c->max = v;
        }
        double offset = v - c->shift;
        c->sum += v;
        c->offsets += offset;
        c->squares += offset * offset;
        c->min = v < c->min ? v : c->min;
        c->max = v > c->max ? v : c->max;
        int rc = sample_add_f64(&w->found.memory, &all[w->picked_group[i]].sample, v);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int add_f64(struct worker *w, struct scan_batch *b, const struct source *s, unsigned quantity)
{
    const double *v;
    const uint64_t *valid;
    uint32_t n = 0;
    int rc = batch_f64(b, s, &v, &valid);

    if (rc < 0)
        return rc == -EDOM ? 0 : rc;
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = b->select ? b->select[j] : j;
        w->picked_f64[n] = v[row];
        w->picked_group[n] = w->group[j];
        n += is_valid(valid, row);
    }
    return add_picked_f64(w, quantity, n);
}

/* size * 1e6 / dur of the rows that have both, dur > 0. */
static int add_bandwidth(struct worker *w, struct scan_batch *b, const struct stats_plan *plan)
{
    const int64_t *dur;
    const double *size;
    const uint64_t *dur_valid, *size_valid;
    bool nano;
    uint32_t n = 0;
    int rc = batch_i64(b, plan->dur, &dur, &dur_valid, &nano);

    rc = rc < 0 ? rc : batch_f64(b, plan->size, &size, &size_valid);
    if (rc < 0)
        return rc == -EDOM ? 0 : rc;
    double unit = nano ? 1e9 : 1e6;
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = b->select ? b->select[j] : j;
        w->picked_f64[n] = size[row] * unit / (double)dur[row];
        w->picked_group[n] = w->group[j];
        n += is_valid(size_valid, row) && is_valid(dur_valid, row) && dur[row] > 0;
    }
    return add_picked_f64(w, Q_BANDWIDTH, n);
}

static int add_quantity(struct worker *w, struct scan_batch *b, unsigned quantity, const struct source *s)
{
    enum scan_shape shape = scan_shape(b->chunk, s);
    bool whole = shape == SHAPE_INT || shape == SHAPE_TIME;

    if (!whole && shape != SHAPE_DOUBLE && shape != SHAPE_MIXED)
        return 0;
    int rc = tallies_need(&w->found, quantity, w->found.groups.map.table.count);
    if (rc < 0)
        return rc;
    return whole ? add_i64(w, b, s, w->found.groups.tally[quantity], w->group) : add_f64(w, b, s, quantity);
}

static int add_groups(struct worker *w, struct scan_batch *b, const struct stats_plan *plan)
{
    struct group_tallies *g = &w->found.groups;
    int rc = group_map_batch(&g->map, b, w->group);

    rc = rc < 0 ? rc : grow_counts(plan->budget, &g->counts, &g->cap, g->map.table.count, &g->charged);
    if (rc < 0)
        return rc;
    for (uint32_t j = 0; j < b->count; j++)
        g->counts[w->group[j]]++;
    rc = add_quantity(w, b, Q_DURATION, plan->dur);
    rc = rc < 0 ? rc : add_quantity(w, b, Q_SIZE, plan->size);
    rc = rc < 0 ? rc : add_quantity(w, b, Q_OFFSET, plan->offset);
    if (rc < 0 || scan_shape(b->chunk, plan->size) == SHAPE_NULL)
        return rc;
    rc = tallies_need(&w->found, Q_BANDWIDTH, g->map.table.count);
    return rc < 0 ? rc : add_bandwidth(w, b, plan);
}

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    const struct stats_plan *plan = w->found.plan;
    int rc = add_times(w, b);

    w->found.events += b->count;
    w->rows += b->count;
    for (unsigned i = 0; i < COUNT_TABLES && rc == 0; i++) {
        struct count_table *t = &w->found.count[i];
        if (!plan->count[i])
            continue;
        rc = group_map_batch(&t->map, b, w->group);
        rc = rc < 0 ? rc : grow_counts(plan->budget, &t->counts, &t->cap, t->map.table.count,
                                       &w->found.groups.charged);
        for (uint32_t j = 0; rc == 0 && j < b->count; j++)
            t->counts[w->group[j]]++;
    }
    if (plan->total_duration && rc == 0)
        rc = add_i64(w, b, plan->dur, &w->found.total, NULL);
    if (plan->groups && rc == 0)
        rc = add_groups(w, b, plan);
    return rc;
}

int stats_scan(const struct stats_plan *plan, struct stats_found *found, struct doubles *doubles, struct err *err)
{
    struct job job = {.plan = plan, .found = found, .doubles = doubles, .first = true};
    struct scan_sink sink = {.arg = &job,
                             .worker_begin = worker_begin,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .chunk_end = chunk_end,
                             .merge = merge_part,
                             .worker_end = worker_end};

    memset(doubles, 0, sizeof(*doubles));
    group_table_init(&doubles->table, plan->group_width, plan->max_groups, plan->budget);
    int rc = found_init(found, plan);
    return rc < 0 ? rc : scan_run(plan->query, &sink, err);
}
