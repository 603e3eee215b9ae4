/* scan.c - one pass over the selected rows: groups, counts, spans and measures. */
#include "answer/aggregate/scan.h"
#include "answer/aggregate/passes.h"
#include "answer/aggregate/worker.h"
#include "engine/derived/batch_times.h"

#include <errno.h>
#include <stdlib.h>

struct job {
    const struct aggregate_plan *plan;
    struct aggregate_found *found; /* NULL: nothing yet */
    struct aggregate_fine *fine;
};

/* ---- doubles of the present chunk ------------------------------------------------------------ */

/* The doubles of a chunk on their way to their place in (file, chunk) order. */
struct part {
    uint32_t count;
    struct fine_entry *entries;
    uint64_t *keys;
};

static int chunk_end(void *state, struct scan_chunk *c, void **ret_part)
{
    struct aggregate_worker *w = state;
    unsigned width = w->plan->width;

    *ret_part = NULL;
    if (w->filter)
        pass_filter_chunk_end(w->filter, c->position);
    if (w->entries.count == 0)
        return 0;
    size_t entry_bytes = w->entries.count * sizeof(*w->entries.at);
    struct part *p =
        malloc(sizeof(*p) + entry_bytes + w->entries.count * (width + 1) * sizeof(uint64_t));
    if (!p)
        return -ENOMEM;
    *p = (struct part){(uint32_t)w->entries.count, (struct fine_entry *)(p + 1),
                       (uint64_t *)((char *)(p + 1) + entry_bytes)};
    memcpy(p->entries, w->entries.at, entry_bytes);
    for (uint32_t i = 0; i < p->count; i++) {
        struct aggregate_set *s = &w->found->set[p->entries[i].set];
        group_map_keys(&s->map, p->entries[i].group, p->keys + (size_t)i * width);
        s->fine_at[p->entries[i].measure].at[p->entries[i].group] = 0;
    }
    w->entries.count = 0;
    *ret_part = p;
    return 0;
}

static int merge_entry(struct job *job, const struct fine_entry *e, const uint64_t *keys)
{
    const struct aggregate_plan *plan = job->plan;
    struct aggregate_fine *d = job->fine;
    uint64_t told[GROUP_KEYS_MAX];
    int rc = plan->parts ? plan_keys(plan, keys, told) : 0;
    int64_t group = rc < 0 ? rc : group_table_add(&d->table[e->set], plan->parts ? told : keys);

    rc = group < 0 ? (int)group : fine_grow(plan, d, e->set, d->table[e->set].count);
    if (rc == 0)
        fine_merge(fine_at(plan, d, e->set, group, e->measure), &e->fine);
    return rc;
}

static int merge_part(void *arg, size_t position, void *part, bool failed)
{
    struct job *job = arg;
    struct part *p = part;
    int rc = 0;
    (void)position;

    for (uint32_t i = 0; p && !failed && i < p->count && rc == 0; i++)
        rc = merge_entry(job, &p->entries[i], p->keys + (size_t)i * job->plan->width);
    free(p);
    return rc;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Adds the values of the rows from `j` on, up to the first that needs another way; what is read for
 * each row is kept in locals, for the compiler must take every store into a record as one that may
 * change the set. */
static uint32_t add_plainly(const struct aggregate_worker *w, const struct scan_batch *b,
                            unsigned set, unsigned measure, const int64_t *v, const uint64_t *valid,
                            bool nano, uint32_t j)
{
    const struct aggregate_set *s = &w->found->set[set];
    char *cells =
        s->records + s->head + offsetof(struct record, cells) + measure * sizeof(struct cell);
    const uint16_t *select = b->select;
    const size_t stride = s->stride;

    for (const uint32_t n = b->count; j < n; j++) {
        uint32_t row = select ? select[j] : j;
        struct cell *c = (struct cell *)(cells + w->group[j] * stride);
        if (batch_is_valid(valid, row) && !cell_add_quickly(c, v[row], nano))
            break;
    }
    return j;
}

/* also: the rows that count, NULL: all. */
static int add_i64(struct aggregate_worker *w, struct scan_batch *b, unsigned set, unsigned measure,
                   const struct batch_numbers *of, const uint64_t *also)
{
    bool plain = !w->found->set[set].samples[measure] && !w->plan->shape && !also;
    const bool nano = of->nano;
    const int64_t *v = of->i;
    const uint64_t *valid = of->valid;
    int rc = 0;

    for (uint32_t j = 0, n = b->count; j < n && rc == 0; j++) {
        if (plain && (j = add_plainly(w, b, set, measure, v, valid, nano, j)) == n)
            break;
        uint32_t row = batch_row(b, j);
        if (batch_is_valid(valid, row) && batch_is_valid(also, row))
            rc = value_add(w, set, measure, w->group[j], v[row], nano);
    }
    return rc;
}

static int add_f64(struct aggregate_worker *w, struct scan_batch *b, unsigned set, unsigned measure,
                   const struct batch_numbers *of, const uint64_t *also)
{
    const double *v = of->d;
    const uint64_t *valid = of->valid;
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        if (batch_is_valid(valid, row) && batch_is_valid(also, row))
            rc = value_add_f64(w, set, measure, w->group[j], v[row]);
    }
    return rc;
}

static int measure_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set,
                       unsigned measure)
{
    const struct measure *m = &w->plan->measures[measure];
    const struct batch_numbers n = batch_numbers(b, m->source);
    const uint64_t *also = m->also ? batch_numbers(b, m->also).valid : NULL;

    if (n.i)
        return add_i64(w, b, set, measure, &n, also);
    return n.d ? add_f64(w, b, set, measure, &n, also) : 0;
}

/* ---- counts and times ------------------------------------------------------------------------ */

/* Records beyond the caches are looked at some rows ahead, so that they come side by side. */
static void count_rows(const struct aggregate_set *s, const uint32_t *group, uint32_t n)
{
    enum { AHEAD = 32, CACHED = 2 << 20 };
    bool far = s->cap * s->stride > CACHED;
    char *records = s->records + s->head;
    const size_t stride = s->stride;

    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t k = j; far && j % AHEAD == 0 && k < n && k < j + AHEAD; k++)
            record_look(s, group[k]);
        ((struct record *)(records + group[j] * stride))->count++;
    }
}

static void span_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set)
{
    struct aggregate_set *s = &w->found->set[set];

    count_rows(s, w->group, b->count);
    if (w->plan->general)
        return; /* it does not tell spans */
    const struct batch_times t = batch_times(b, w->plan->ts, w->plan->dur);
    int64_t ts_unit = t.ts_nano ? 1 : 1000, dur_unit = t.dur_nano ? 1 : 1000;
    for (uint32_t j = 0, n = b->count; j < n; j++) {
        uint32_t row = batch_row(b, j);
        struct record *r = set_record(s, w->group[j]);
        if (!batch_is_valid(t.ts_valid, row))
            continue;
        __int128 from = (__int128)t.ts[row] * ts_unit, to = from + (__int128)t.dur[row] * dur_unit;
        extent_widen(record_extent(r), from, to);
    }
}

/* ---- values that are kept -------------------------------------------------------------------- */

static int intervals_add(struct aggregate_worker *w, struct scan_batch *b)
{
    const struct batch_times t = batch_times(b, w->plan->ts, w->plan->dur);
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(t.ts_valid, row) || !batch_is_valid(t.dur_valid, row) ||
            t.dur[row] <= 0)
            continue;
        __int128 from = (__int128)t.ts[row] * (t.ts_nano ? 1 : 1000);
        __int128 to = from + (__int128)t.dur[row] * (t.dur_nano ? 1 : 1000);
        rc = interval_add(w->found, w->group[j], clamp_ns(from), clamp_ns(to));
    }
    return rc;
}

static void picks_add(struct aggregate_worker *w, struct scan_batch *b, unsigned keep,
                      const uint64_t *keys)
{
    struct pick *picks = w->found->set[0].picks[keep];
    bool last = w->plan->keeps[keep].what == KEEP_LAST, nano;
    const uint64_t *valid;
    const int64_t *ts = batch_i64(b, w->plan->ts, &valid, &nano);

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (keys[row] == QUERY_KEY_NULL || !batch_is_valid(valid, row))
            continue;
        struct pick p = {.ts = (__int128)ts[row] * (nano ? 1 : 1000),
                         .key = keys[row],
                         .place = (uint32_t)b->chunk->position,
                         .row = batch_place(b, row),
                         .has = true};
        pick_merge(&picks[w->group[j]], &p, last);
    }
}

static int distinct_add(struct aggregate_worker *w, struct scan_batch *b, unsigned keep,
                        const uint64_t *keys)
{
    struct group_table *t = &w->found->distinct[keep];

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (keys[row] == QUERY_KEY_NULL)
            continue;
        int64_t rc = group_table_add(t, (uint64_t[]){w->group[j], keys[row]});
        if (rc < 0)
            return (int)rc;
    }
    return 0;
}

static int keeps_add(struct aggregate_worker *w, struct scan_batch *b)
{
    int rc =
        w->plan->intervals && !w->plan->split ? intervals_add(w, b) : 0; /* else piece by piece */

    for (unsigned i = 0; i < w->plan->keep_count && rc == 0; i++) {
        const uint64_t *keys = batch_keys(b, w->plan->keeps[i].source);
        if (w->plan->keeps[i].what == KEEP_DISTINCT)
            rc = distinct_add(w, b, i, keys);
        else
            picks_add(w, b, i, keys);
    }
    return rc;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* How many rows each group has; of system rows also which measures have values. */
static int tally_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set)
{
    struct aggregate_set *s = &w->found->set[set];
    int rc = 0;

    for (uint32_t j = 0; j < b->count; j++)
        set_record(s, w->group[j])->count++;
    for (unsigned i = w->plan->plain_measures; set == SET_SYSTEM && i < s->measures && rc == 0; i++)
        rc = measure_add(w, b, set, i);
    return rc;
}

static int rows_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set)
{
    const struct aggregate_plan *p = w->plan;
    struct aggregate_set *s = &w->found->set[set];
    struct scan_batch some;
    int of_pass = w->filter ? pass_filter_batch(w->filter, b, set, &some) : 1;

    if (of_pass <= 0)
        return of_pass;
    b = of_pass == 2 ? &some : b;
    int rc = s->bound ? 0 : group_map_chunk(&s->map, b->chunk);

    s->bound = true;
    if (rc == 0 && slots_want(w, b))
        return slots_add(w, b);
    if (rc == 0)
        rc = group_map_batch(&s->map, b, w->group);
    if (rc == 0)
        rc = set_grow(w->found, set);
    if (rc < 0)
        return rc;
    if (p->tally)
        return tally_add(w, b, set);
    bool split = p->split && set == SET_EVENT;
    if (split)
        rc = split_add(w, b, set);
    else if (set == SET_EVENT)
        span_add(w, b, set);
    else
        rc = counters_add(w, b, set);
    for (unsigned i = set == SET_EVENT ? 0 : p->plain_measures;
         i < s->measures && rc == 0 && !split; i++)
        rc = measure_add(w, b, set, i);
    return rc == 0 && p->general ? keeps_add(w, b) : rc;
}

/* Some rows of a batch. It has no mask: what was decoded for a few rows may not be enough. */
static int some_rows_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set,
                         uint32_t count)
{
    struct scan_batch some = *b;

    if (count == 0)
        return 0;
    some.mask = NULL;
    some.select = w->rows_of[set];
    some.count = count;
    return rows_add(w, &some, set);
}

static int batch(void *state, struct scan_batch *b)
{
    struct aggregate_worker *w = state;
    uint32_t events = 0, others = 0, count[SETS];

    w->rows += b->count;
    if (!w->plan->classes || w->only_events)
        return rows_add(w, b, SET_EVENT);
    const int64_t *class = batch_i64(b, w->plan->class, NULL, NULL);
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        w->rows_of[SET_EVENT][events] = (uint16_t)row;
        w->rows_of[SETS][others] = (uint16_t)row;
        events += class[row] == TRACE_EVENT;
        others += class[row] == TRACE_COUNTER || class[row] == TRACE_AGGREGATED;
    }
    if (events == b->count)
        return rows_add(w, b, SET_EVENT);
    struct scan_batch all = *b;
    all.mask = NULL;
    for (unsigned i = 0; i < w->plan->width; i++) /* of all rows, not of some first */
        (void)batch_keys(&all, w->plan->key_sources[i]);
    int rc = some_rows_add(w, b, SET_EVENT, events);
    if (rc < 0 || others == 0)
        return rc;
    counters_sort(w, &all, w->rows_of[SETS], others, count);
    for (unsigned set = SET_PROFILE; set < SETS && rc == 0; set++)
        rc = some_rows_add(w, b, set, count[set]);
    return rc;
}

/* ---- workers and chunks ---------------------------------------------------------------------- */

/* Tuples of few keys are small enough, and parts of texts are taken from keys that are there. */
static int pack_keys(struct aggregate_worker *w)
{
    enum { SEVERAL = 4 };
    int rc = 0;

    for (unsigned i = 0; i < SETS && rc == 0; i++) {
        if (w->plan->width >= SEVERAL && !w->plan->parts && !w->plan->tally)
            rc = group_map_pack(&w->found->set[i].map);
    }
    return rc;
}

static int worker_begin(void *arg, unsigned worker, void **ret_state)
{
    struct job *job = arg;
    struct aggregate_worker *w = calloc(1, sizeof(*w));
    (void)worker;

    if (!w)
        return -ENOMEM;
    w->plan = job->plan;
    int rc = found_new(job->plan, &w->found);
    rc = rc < 0 ? rc : pack_keys(w);
    if (rc == 0 && job->plan->pass)
        rc = pass_filter_new(job->plan, &w->filter);
    if (rc == 0)
        rc = slots_new(job->plan, &w->slots);
    if (rc < 0) {
        pass_filter_free(w->filter);
        found_free(w->found);
        free(w);
        return rc;
    }
    *ret_state = w;
    return 0;
}

static int worker_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct job *job = arg;
    struct aggregate_worker *w = state;
    int rc = 0;
    (void)worker;

    if (!failed)
        rc = slots_end(w);
    failed |= rc < 0;
    vec_done(&w->entries);
    pass_filter_free(w->filter);
    slots_free(w->plan, w->slots);
    if (!failed && !job->found && job->plan->parts)
        rc = found_new(job->plan, &job->found);
    if (!failed && rc == 0 && !job->found) {
        job->found = w->found;
        w->found = NULL;
    } else if (!failed && rc == 0) {
        rc = aggregate_merge(job->found, w->found);
    }
    found_free(w->found);
    free(w);
    return rc;
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct aggregate_worker *w = state;

    for (unsigned i = 0; i < SETS; i++)
        w->found->set[i].bound = false;
    if (w->filter)
        pass_filter_chunk(w->filter);
    slots_chunk(w, c);
    w->only_events = c->file->counts.counters + c->file->counts.aggregated == 0 &&
                     !(query_phases(c->query) & PHASE_METADATA);
    if (w->rows < SAMPLE_FOLD_ROWS)
        return 0;
    w->rows = 0;
    return sample_fold(&w->found->memory);
}

static bool skip(void *arg, size_t position)
{
    const struct job *job = arg;

    return job->plan->pass && pass_skips(job->plan->pass, position);
}

int aggregate_scan(const struct aggregate_plan *plan, struct aggregate_found **found,
                   struct aggregate_fine *fine, struct err *err)
{
    struct job job = {.plan = plan, .fine = fine};
    struct scan_sink sink = {.arg = &job,
                             .gathers = true,
                             .worker_begin = worker_begin,
                             .skip = skip,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .chunk_end = chunk_end,
                             .merge = merge_part,
                             .worker_end = worker_end};

    memset(fine, 0, sizeof(*fine));
    for (unsigned i = 0; i < SETS; i++)
        group_table_init(&fine->table[i], plan->width, plan->max_groups, plan->budget);
    int rc = scan_run(plan->query, &sink, err);
    if (rc == 0 && !job.found)
        rc = found_new(plan, &job.found);
    *found = job.found;
    return rc;
}
