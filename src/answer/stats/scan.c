/* scan.c - one pass over the selected rows fills everything a report needs. */
#include "answer/stats/scan.h"
#include "answer/stats/times.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

struct entry {
    uint32_t group, quantity;
    struct chunk_f64 moments;
};
/* Moments of doubles of the present chunk: entries of the groups touched. */
struct chunk_doubles {
    VEC(uint32_t) at[QUANTITIES]; /* by group: entry + 1, 0 = none */
    VEC(struct entry) entries;
};

struct worker {
    struct stats_found found;
    struct job *job;
    void *finer; /* state of plan->finer */
    struct stats_times times;
    struct chunk_doubles doubles;
    uint64_t rows;                     /* since the last fold */
    uint32_t group[SCAN_BATCH];        /* of the selected rows */
    uint32_t group_of_row[SCAN_BATCH]; /* the same by row */
    /* Selected rows that have a value: their numbers in the batch, groups, values. */
    const struct source *picked_source; /* whose rows they are in this batch, NULL: nobody's */
    uint32_t picked_count;
    uint16_t picked_row[SCAN_BATCH];
    uint32_t picked_group[SCAN_BATCH];
    int64_t picked[SCAN_BATCH];
    double picked_f64[SCAN_BATCH];
};

/* What the last chunks of a job gave, in order. */
struct job {
    const struct stats_plan *plan;
    struct stats_found *found;
    struct doubles *doubles;
    bool first; /* `found` is still empty */
    struct stats_known known;
};

/* ---- begin and end of workers and chunks ----------------------------------------------------- */

static int worker_begin(void *arg, unsigned worker, void **ret_state)
{
    struct job *job = arg;
    struct worker *w = calloc(1, sizeof(*w));
    (void)worker;

    if (!w)
        return -ENOMEM;
    int rc = found_init(&w->found, job->plan);
    if (rc == 0 && job->plan->finer)
        rc = job->plan->finer->begin(job->plan->finer->arg, &w->finer);
    if (rc < 0) {
        free(w);
        return rc;
    }
    w->job = job;
    times_begin(&w->times, &job->known, &w->found);
    *ret_state = w;
    return 0;
}

static int worker_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct job *job = arg;
    struct worker *w = state;
    const struct stats_finer *finer = job->plan->finer;
    int rc = finer ? finer->end(finer->arg, w->finer, w->found.groups.counts.at, failed) : 0;
    (void)worker;

    failed = failed || rc < 0;
    for (unsigned i = 0; i < QUANTITIES; i++)
        vec_done(&w->doubles.at[i]);
    vec_done(&w->doubles.entries);
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

    for (unsigned i = 0; i < COUNT_TABLES && rc == 0; i++) {
        if (plan->count[i])
            rc = group_map_chunk(&w->found.count[i].map, c);
    }
    if (plan->groups && rc == 0)
        rc = plan->finer ? plan->finer->chunk(w->finer, c)
                         : group_map_chunk(&w->found.groups.map, c);
    times_chunk(&w->times, c);
    if (w->rows >= SAMPLE_FOLD_ROWS && rc == 0) {
        w->rows = 0;
        rc = sample_fold(&w->found.memory);
    }
    return rc;
}

/* The double moments of a chunk on their way to their place in (file, chunk) order. */
struct part {
    uint32_t count, width;
    struct entry *entries;
    uint64_t *keys;
};

static struct part *part_new(const struct worker *w)
{
    const struct group_table *t = &w->found.groups.map.table;
    uint32_t count = (uint32_t)w->doubles.entries.count;
    size_t entry_bytes = count * sizeof(struct entry),
           key_bytes = (size_t)count * t->width * sizeof(uint64_t);
    struct part *p = malloc(sizeof(*p) + entry_bytes + key_bytes);

    if (!p)
        return NULL;
    p->count = count;
    p->width = t->width;
    p->entries = (struct entry *)(p + 1);
    p->keys = (uint64_t *)((char *)(p + 1) + entry_bytes);
    memcpy(p->entries, w->doubles.entries.at, entry_bytes);
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
    if (d->entries.count == 0)
        return 0;
    *ret_part = part_new(w);
    for (size_t i = 0; i < d->entries.count; i++)
        d->at[d->entries.at[i].quantity].at[d->entries.at[i].group] = 0;
    d->entries.count = 0;
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
        int64_t group = group_table_add(&d->table, p->keys + (size_t)i * p->width);
        rc = group < 0 ? (int)group : i % STATS_LOOKED ? 0 : budget_check(job->plan->budget);
        rc = rc < 0 ? rc : vec_extend(&d->moments, (size_t)group + 1);
        if (rc < 0)
            break;
        chunk_f64_moments(&p->entries[i].moments, &m);
        moments_f64_merge(&d->moments.at[group].of[p->entries[i].quantity], &m);
    }
    free(p);
    return rc;
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Selected rows that have a value, and their groups; rows picked for the same source in this batch
 * are kept. */
static uint32_t pick_rows(struct worker *w, const struct scan_batch *b, const struct source *s,
                          const uint64_t *valid)
{
    uint64_t mask[SCAN_WORDS];

    if (w->picked_source == s)
        return w->picked_count;
    w->picked_source = s;
    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        mask[i] = valid ? b->mask[i] & valid[i] : b->mask[i];
    w->picked_count = mask_to_select(mask, b->rows, w->picked_row);
    for (uint32_t i = 0; i < w->picked_count; i++)
        w->picked_group[i] = w->group_of_row[w->picked_row[i]];
    return w->picked_count;
}

/* Makes group_of_row from `group`, the groups of the selected rows. */
static void spread_groups(struct worker *w, const struct scan_batch *b)
{
    if (!b->select) {
        memcpy(w->group_of_row, w->group, b->count * sizeof(w->group[0]));
        return;
    }
    for (uint32_t j = 0; j < b->count; j++)
        w->group_of_row[b->select[j]] = w->group[j];
}

/* `groups`: by w->group; else all go to all[0]. */
static int add_i64(struct worker *w, struct scan_batch *b, const struct source *s,
                   struct tally *all, bool groups)
{
    const uint64_t *valid;
    bool nano;
    const int64_t *v = batch_i64(b, s, &valid, &nano);

    if (!b->select && !valid)
        return tally_add_i64(&w->found.memory, all, groups ? w->group : NULL, v, b->count, nano);
    uint32_t n = pick_rows(w, b, s, valid);
    for (uint32_t i = 0; i < n; i++)
        w->picked[i] = v[w->picked_row[i]];
    return tally_add_i64(&w->found.memory, all, groups ? w->picked_group : NULL, w->picked, n,
                         nano);
}

static struct chunk_f64 *chunk_entry(struct chunk_doubles *d, unsigned quantity, uint32_t group)
{
    uint32_t at = group < d->at[quantity].count ? d->at[quantity].at[group] : 0;

    if (__builtin_expect(at > 0, 1))
        return &d->entries.at[at - 1].moments;
    if (vec_extend(&d->at[quantity], (size_t)group + 1) < 0 ||
        vec_push(&d->entries, {.group = group, .quantity = quantity}) < 0)
        return NULL;
    at = d->at[quantity].at[group] = (uint32_t)d->entries.count;
    return &d->entries.at[at - 1].moments;
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

static int add_f64(struct worker *w, struct scan_batch *b, const struct source *s,
                   unsigned quantity)
{
    const uint64_t *valid;
    const double *v = batch_f64(b, s, &valid);
    uint32_t n = pick_rows(w, b, s, valid);
    for (uint32_t i = 0; i < n; i++)
        w->picked_f64[i] = v[w->picked_row[i]];
    return add_picked_f64(w, quantity, n);
}

/* Rows that have a size or bytes, and their durations; that of a null row is 0. */
struct sized {
    const int64_t *dur;
    struct batch_numbers size;
    bool nano;
    uint32_t count; /* picked; none where no row has a duration */
};

static struct sized pick_sized(struct worker *w, struct scan_batch *b,
                               const struct stats_plan *plan, const struct source *of)
{
    struct sized s = {.size = batch_numbers(b, of)};

    s.dur = batch_i64(b, plan->dur, NULL, &s.nano);
    if (scan_shape(b->chunk, plan->dur) != SHAPE_NULL)
        s.count = pick_rows(w, b, of, s.size.valid);
    return s;
}

/* What is beyond 2^62 is no number of bytes. */
static __int128 fixed_point(double bytes)
{
    bytes = fmin(fmax(bytes, -0x1p62), 0x1p62);
    return (__int128)ldexp(bytes, MOVED_BITS);
}

static int add_moved(struct worker *w, struct scan_batch *b, const struct stats_plan *plan)
{
    const struct sized s = pick_sized(w, b, plan, plan->bytes);
    int rc = s.count ? vec_extend(&w->found.groups.moved, w->found.groups.map.table.count) : 0;

    if (rc < 0)
        return rc;
    struct moved *to = w->found.groups.moved.at;
    for (uint32_t i = 0; i < s.count; i++) {
        uint32_t row = w->picked_row[i];
        moved_add(&to[w->picked_group[i]],
                  &(struct moved){.bytes = s.size.i ? (__int128)s.size.i[row] << MOVED_BITS
                                                    : fixed_point(s.size.d[row]),
                                  .ns = (__int128)s.dur[row] * (s.nano ? 1 : 1000),
                                  .any = true});
    }
    return 0;
}

/* size * 1e6 / dur of the rows that have both, dur > 0. */
static int add_bandwidth(struct worker *w, struct scan_batch *b, const struct stats_plan *plan)
{
    const struct sized s = pick_sized(w, b, plan, plan->size);
    const int64_t *dur = s.dur;
    uint32_t kept = 0;
    double unit = s.nano ? 1e9 : 1e6;
    for (uint32_t i = 0; i < s.count; i++) {
        uint32_t row = w->picked_row[i];
        double bytes = s.size.i ? (double)s.size.i[row] : s.size.d[row];
        w->picked_f64[kept] = bytes * unit / (double)dur[row];
        w->picked_group[kept] = w->picked_group[i];
        kept += dur[row] > 0; /* that of a null row is 0 */
    }
    w->picked_source = NULL;
    return add_picked_f64(w, Q_BANDWIDTH, kept);
}

static int add_quantity(struct worker *w, struct scan_batch *b, unsigned quantity,
                        const struct source *s)
{
    enum scan_shape shape = scan_shape(b->chunk, s);
    bool whole = shape == SHAPE_INT || shape == SHAPE_TIME;

    if (!whole && shape != SHAPE_DOUBLE && shape != SHAPE_MIXED)
        return 0;
    int rc = tallies_need(&w->found, quantity, w->found.groups.map.table.count);
    if (rc < 0)
        return rc;
    return whole ? add_i64(w, b, s, w->found.groups.tally[quantity], true)
                 : add_f64(w, b, s, quantity);
}

static int add_groups(struct worker *w, struct scan_batch *b, const struct stats_plan *plan)
{
    struct group_tallies *g = &w->found.groups;
    int rc = plan->finer ? plan->finer->batch(w->finer, b, &g->map.table, w->group)
                         : group_map_batch(&g->map, b, w->group);

    rc = rc < 0 ? rc : vec_extend(&g->counts, g->map.table.count);
    if (rc < 0)
        return rc;
    uint64_t *counts = g->counts.at;
    for (uint32_t j = 0, n = plan->finer ? 0 : b->count; j < n; j++)
        counts[w->group[j]]++;
    spread_groups(w, b);
    w->picked_source = NULL; /* rows picked before now have groups of the batch before */
    rc = add_quantity(w, b, Q_DURATION, plan->dur);
    rc = rc < 0 ? rc : add_quantity(w, b, Q_SIZE, plan->size);
    if (rc < 0 || plan->no_rates)
        return rc < 0 ? rc : add_moved(w, b, plan);
    if (scan_shape(b->chunk, plan->size) != SHAPE_NULL) {
        rc = tallies_need(&w->found, Q_BANDWIDTH, g->map.table.count);
        rc = rc < 0 ? rc : add_bandwidth(w, b, plan);
    }
    return rc < 0 ? rc : add_quantity(w, b, Q_OFFSET, plan->offset);
}

static int add_rows(struct worker *w, struct scan_batch *b, struct count_table *t)
{
    int rc = group_map_batch(&t->map, b, w->group);

    rc = rc < 0 ? rc : vec_extend(&t->counts, t->map.table.count);
    for (uint32_t j = 0; rc == 0 && j < b->count; j++)
        t->counts.at[w->group[j]]++;
    return rc;
}

static int add_few(struct scan_batch *b, struct count_table *t)
{
    struct group_rows few[GROUP_TALLY_MOST];
    int n = group_map_tally(&t->map, b, few),
        rc = n < 0 ? n : vec_extend(&t->counts, t->map.table.count);

    for (int i = 0; rc == 0 && i < n; i++)
        t->counts.at[few[i].group] += few[i].rows;
    return rc;
}

/* By the first way that there is. */
static int add_counts(struct worker *w, struct scan_batch *b, unsigned table)
{
    struct count_table *t = &w->found.count[table];
    int rc = add_few(b, t);

    return rc == -EDOM ? add_rows(w, b, t) : rc;
}

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    const struct stats_plan *plan = w->found.plan;
    int rc = 0;

    times_batch(&w->times, b);
    w->picked_source = NULL;
    w->found.events += b->count;
    w->rows += b->count;
    for (unsigned i = 0; i < COUNT_TABLES && rc == 0; i++) {
        if (plan->count[i])
            rc = add_counts(w, b, i);
    }
    if (plan->total_duration && rc == 0)
        rc = add_i64(w, b, plan->dur, &w->found.total, false);
    if (plan->groups && rc == 0)
        rc = add_groups(w, b, plan);
    return rc;
}

/* Durations alone, of a chunk whose times say nothing new. */
static int values(void *state, const struct scan_values *v)
{
    struct worker *w = state;

    if (!times_within(&w->times, v))
        return -EDOM;
    w->found.events += v->count;
    w->rows += v->count;
    return tally_add_i64(&w->found.memory, &w->found.total, NULL, v->values, v->count, v->nano);
}

static bool only_durations(const struct stats_plan *plan)
{
    bool counts = false;

    for (unsigned i = 0; i < COUNT_TABLES; i++)
        counts = counts || plan->count[i];
    return plan->total_duration && !plan->groups && !counts;
}

/* What can be done away with, whether there is a scan or not. */
static void begin_found(const struct stats_scan *s)
{
    const struct stats_plan *p = s->plan;

    *s->doubles = (struct doubles){.moments = {.budget = p->budget}};
    group_table_init(&s->doubles->table, p->group_width, p->max_groups, p->budget);
    found_init(s->found, p);
}

static void job_init(struct job *job, const struct stats_scan *s)
{
    *job = (struct job){.plan = s->plan, .found = s->found, .doubles = s->doubles, .first = true};
    pthread_mutex_init(&job->known.lock, NULL);
}

static struct scan_sink sink_of(struct job *job)
{
    return (struct scan_sink){.arg = job,
                              .ends_first = true,
                              .gathers = true,
                              .only = only_durations(job->plan) ? job->plan->dur : NULL,
                              .values = values,
                              .worker_begin = worker_begin,
                              .chunk_begin = chunk_begin,
                              .batch = batch,
                              .chunk_end = chunk_end,
                              .merge = merge_part,
                              .worker_end = worker_end};
}

int stats_scan_all(struct stats_scan *all, size_t count)
{
    struct job *jobs = calloc(count, sizeof(*jobs));
    struct scan_sink *sinks = calloc(count, sizeof(*sinks));
    struct scan_job *scans = calloc(count, sizeof(*scans));
    int rc = jobs && sinks && scans ? 0 : -ENOMEM;

    for (size_t i = 0; i < count; i++)
        begin_found(&all[i]);
    for (size_t i = 0; i < count && rc == 0; i++) {
        job_init(&jobs[i], &all[i]);
        sinks[i] = sink_of(&jobs[i]);
        scans[i] = (struct scan_job){.query = all[i].plan->query, .sink = &sinks[i]};
    }
    rc = rc < 0 ? rc : scan_run_all(scans, count);
    for (size_t i = 0; i < count && jobs && scans; i++) {
        all[i].error = scans[i].error;
        if (jobs[i].plan)
            pthread_mutex_destroy(&jobs[i].known.lock);
    }
    free(jobs);
    free(sinks);
    free(scans);
    return rc;
}

int stats_scan(const struct stats_plan *plan, struct stats_found *found, struct doubles *doubles,
               struct err *err)
{
    struct stats_scan one = {.plan = plan, .found = found, .doubles = doubles};
    int rc = stats_scan_all(&one, 1);

    rc = rc < 0 ? rc : one.error;
    return scan_tell(err, rc);
}
