/* report.c - /dlio-config: times by rank, samples of them, fits, and the simulation. */
#include "answer/dlio/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 1000000 }; /* samples of a simulated batch */

/* Arrays of seconds, in the order of the events. */
struct dlio_work {
    struct dlio_events events;
    struct dlio_rank *ranks;
    double *blocks, *iters; /* seconds, in the order of the events */
    struct dlio_simulation simulation;
};

static size_t count_of(const struct dlio_events *e, int kind)
{
    return e->begin[kind + 1] - e->begin[kind];
}

static double seconds(const struct dlio_event *event)
{
    return (double)event->dur_ns / 1e9;
}

/* Returns a *new* array of the durations, in the order of the events. */
static double *seconds_of(const struct dlio_events *e, int kind)
{
    size_t n = count_of(e, kind);
    double *values = malloc((n + 1) * sizeof *values);
    for (size_t i = 0; values && i < n; i++)
        values[i] = seconds(&e->all.at[e->begin[kind] + i]);
    return values;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int64_t interval_of(const struct dlio_event *event, int64_t interval_ns)
{
    int64_t n = event->ts_ns / interval_ns;
    return n - (event->ts_ns % interval_ns < 0);
}

/* Keeps at most samples_per_entry values of each process and interval; returns their number. */
static size_t thin_samples(const struct dlio_events *e, int kind, const struct dlio_options *o,
                           struct dlio_random *random, double *values)
{
    const struct dlio_event *events = e->all.at + e->begin[kind];
    size_t n = count_of(e, kind), kept = 0;
    uint64_t max = o->samples_per_entry ? o->samples_per_entry : UINT64_MAX;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t interval = interval_of(&events[i], o->interval_ns);
        for (end = i + 1; end < n && events[end].process == events[i].process &&
                          interval_of(&events[end], o->interval_ns) == interval;)
            end++;
        size_t keep = end - i < max ? end - i : (size_t)max;
        if (keep < end - i)
            dlio_random_keep(random, values + i, end - i, keep);
        memmove(values + kept, values + i, keep * sizeof *values);
        kept += keep;
    }
    return kept;
}

static int collect_samples(const struct dlio_events *e, struct dlio_report *r)
{
    struct dlio_random random = {r->options.seed};
    int rc = 0;
    for (int kind = 0; kind < DLIO_KINDS && rc == 0; kind++) {
        struct dlio_times *t = &r->times[kind];
        t->kind = (enum dlio_kind)kind;
        for (size_t i = e->begin[kind]; i < e->begin[kind + 1]; i++)
            t->processes += i == e->begin[kind] || e->all.at[i].process != e->all.at[i - 1].process;
        t->samples = seconds_of(e, kind);
        if (!t->samples)
            return -ENOMEM;
        t->count = kind == DLIO_BLOCK || kind == DLIO_PREPROCESS
                       ? thin_samples(e, kind, &r->options, &random, t->samples)
                       : count_of(e, kind);
        rc = dlio_sort(t->samples, t->count, r->budget);
    }
    return rc;
}

static int fit_times(struct dlio_report *r, int kind)
{
    struct dlio_times *t = &r->times[kind];
    int rc =
        t->count > 0 ? dlio_fit(t->samples, t->count, r->options.families, r->budget, &t->fit) : 0;
    for (int i = 0; i < DLIO_FAMILIES; i++)
        t->candidate_count += t->fit.candidates[i].valid;
    return rc;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* A process with events of the loop body is a rank. */
static int make_ranks(struct dlio_work *w, struct dlio_report *r)
{
    const struct dlio_events *e = &w->events;
    size_t at = e->begin[DLIO_ITER];
    r->ranks = r->times[DLIO_BLOCK].processes;
    w->ranks = calloc(r->ranks + 1, sizeof *w->ranks);
    w->blocks = seconds_of(e, DLIO_BLOCK);
    w->iters = seconds_of(e, DLIO_ITER);
    if (!w->ranks || !w->blocks || !w->iters)
        return -ENOMEM;
    r->steps = UINT64_MAX;
    struct dlio_rank *rank = w->ranks;
    for (size_t i = e->begin[DLIO_BLOCK], end; i < e->begin[DLIO_BLOCK + 1]; i = end, rank++) {
        uint32_t process = e->all.at[i].process;
        for (end = i; end < e->begin[DLIO_BLOCK + 1] && e->all.at[end].process == process; end++)
            rank->blocks++;
        rank->block = w->blocks + (i - e->begin[DLIO_BLOCK]);
        while (at < e->begin[DLIO_ITER + 1] && e->all.at[at].process < process)
            at++;
        rank->iter = w->iters + (at - e->begin[DLIO_ITER]);
        for (; at < e->begin[DLIO_ITER + 1] && e->all.at[at].process == process; at++)
            rank->iters++;
        r->steps = rank->blocks < r->steps ? rank->blocks : r->steps;
        r->steps_most = rank->blocks > r->steps_most ? rank->blocks : r->steps_most;
    }
    return 0;
}

static int measure_trace(const struct dlio_work *w, struct dlio_report *r)
{
    const struct dlio_events *e = &w->events;
    size_t n = e->begin[DLIO_ITER + 1]; /* DLIO_BLOCK and DLIO_ITER are the first kinds */
    struct dlio_interval *spans = malloc((n + 1) * sizeof *spans);
    double *sums = calloc(r->ranks + 1, sizeof *sums);
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        first = e->all.at[i].ts_ns < first ? e->all.at[i].ts_ns : first;
    for (size_t i = 0; spans && i < n; i++) {
        spans[i].from = (double)(e->all.at[i].ts_ns - (__int128)first) / 1e9;
        spans[i].to = spans[i].from + seconds(&e->all.at[i]);
    }
    for (size_t i = 0; sums && i < r->ranks; i++) {
        for (size_t k = 0; k < w->ranks[i].blocks; k++)
            sums[i] += w->ranks[i].block[k];
        for (size_t k = 0; k < w->ranks[i].iters; k++)
            sums[i] += w->ranks[i].iter[k];
    }
    if (spans && sums) {
        r->traced_e2e = dlio_union(spans, n);
        r->traced_variance = dlio_variance(sums, r->ranks);
    }
    int rc = spans && sums ? 0 : -ENOMEM;
    free(spans);
    free(sums);
    return rc;
}

/* ---- the simulation -------------------------------------------------------------------------- */

/* Counts events of `kind` that begin in a wait of their own process: the samples of a rank that
 * loads its batches itself, without those of a batch that the loop did not use any more. */
static uint64_t count_in_waits(const struct dlio_events *e, int kind)
{
    const struct dlio_event *wait = e->all.at + e->begin[DLIO_ITER],
                            *last = e->all.at + e->begin[DLIO_ITER + 1];
    uint64_t n = 0;
    for (size_t i = e->begin[kind]; i < e->begin[kind + 1]; i++) {
        const struct dlio_event *item = &e->all.at[i];
        while (wait < last && (wait->process < item->process ||
                               (wait->process == item->process &&
                                (__int128)wait->ts_ns + wait->dur_ns <= item->ts_ns)))
            wait++;
        n += wait < last && wait->process == item->process && wait->ts_ns <= item->ts_ns;
    }
    return n;
}

static double mean_sample(const struct dlio_times *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->count; i++)
        sum += t->samples[i];
    return t->count > 0 ? sum / (double)t->count : 0;
}

/* Finds the samples of a batch, and the cost of taking a batch that is ready: the shortest wait. If
 * ranks load their batches themselves, it is the part of the mean wait that exceeds loading. */
static void plan_batches(const struct dlio_events *e, struct dlio_report *r,
                         struct dlio_simulation *s)
{
    const struct dlio_times *iter = &r->times[DLIO_ITER];
    int kind = r->times[DLIO_ITEM].events ? DLIO_ITEM : DLIO_PREPROCESS;
    const struct dlio_times *item = &r->times[kind];
    uint64_t in_waits = count_in_waits(e, kind), loaded = in_waits ? in_waits : item->events;
    uint64_t batches = iter->events ? iter->events : r->times[DLIO_BLOCK].events;
    r->batch_items = (loaded + batches / 2) / batches;
    if (loaded > 0 && r->batch_items == 0)
        r->batch_items = 1;
    s->batch_items = (unsigned)(r->batch_items < BATCH_MAX ? r->batch_items : BATCH_MAX);
    s->overhead = iter->count > 0 ? iter->samples[0] : 0;
    if (in_waits > 0 && kind == DLIO_ITEM)
        s->overhead = fmax(0, mean_sample(iter) - (double)r->batch_items * mean_sample(item));
}

static int simulate_steps(struct dlio_work *w, struct dlio_report *r)
{
    struct dlio_times *block = &r->times[DLIO_BLOCK], *preprocess = &r->times[DLIO_PREPROCESS];
    const struct dlio_times *items = &r->times[DLIO_ITEM];
    struct dlio_simulation *s = &w->simulation;
    *s = (struct dlio_simulation){.ranks = w->ranks,
                                  .rank_count = r->ranks,
                                  .block = &block->fit.best,
                                  .block_min = block->samples[0],
                                  .iters = r->times[DLIO_ITER].samples,
                                  .iter_count = r->times[DLIO_ITER].count,
                                  .seed = r->options.seed};
    plan_batches(&w->events, r, s);
    r->queued = r->options.has_queue && (items->count > 0 || preprocess->count > 0);
    s->queue = r->queued;
    s->workers = r->options.workers;
    s->prefetch = r->options.prefetch;
    s->items = items->samples;
    s->item_count = items->count;
    s->item = &preprocess->fit.best;
    s->item_min = preprocess->count > 0 ? preprocess->samples[0] : 0;
    int rc = dlio_refine(s, &r->options.refine, block->samples, block->count, preprocess->samples,
                         preprocess->count, r->traced_e2e, r->budget, &r->refined);
    block->max_bound = s->block_max;
    preprocess->max_bound = s->item_max;
    return rc;
}

static int compute_report(struct dlio_work *w, struct dlio_report *r)
{
    /* of an event at most: its sample, its seconds, its interval, and copies for sorting */
    size_t event_bytes = 5 * sizeof(double) + sizeof(struct dlio_interval);
    int rc = charge_add(&r->charge, w->events.all.count * event_bytes);
    rc = rc < 0 ? rc : collect_samples(&w->events, r);
    rc = rc < 0 ? rc : fit_times(r, DLIO_BLOCK);
    rc = rc < 0 ? rc : fit_times(r, DLIO_PREPROCESS);
    rc = rc < 0 ? rc : make_ranks(w, r);
    rc = rc < 0 ? rc : measure_trace(w, r);
    rc = rc < 0 ? rc : simulate_steps(w, r);
    if (rc < 0)
        return rc;
    r->time_count = DLIO_KINDS;
    r->block = &r->times[DLIO_BLOCK];
    r->preprocess = r->times[DLIO_PREPROCESS].count ? &r->times[DLIO_PREPROCESS] : NULL;
    dlio_curves(r);
    return 0;
}

int dlio_report_run(const struct query_env *env, struct snapshot *snapshot,
                    const struct selection *selection, const struct dlio_options *o,
                    struct budget *budget, struct err *err, struct dlio_report **ret)
{
    struct dlio_work w = {0};
    struct arena arena = {0};
    struct selection chosen = *selection;
    struct buf ignored = {0};
    struct query *q = NULL, *all = NULL;
    struct dlio_report *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->options = *o;
    r->budget = r->charge.budget = budget;
    /* Errors in `selection` are reported for its own text, not for the appended one. */
    int rc = selection->query.len ? query_normalise(selection->query, err, &ignored) : 0;
    buf_done(&ignored);
    rc = rc < 0 ? rc : dlio_events_query(&arena, selection->query, &chosen.query);
    rc = rc < 0 ? rc : query_open(env, snapshot, &chosen, budget, err, &q);
    rc = rc < 0 ? rc : dlio_events_read(q, r, err, &w.events);
    if (rc == 0) {
        query_counters(q, &r->counters);
        r->complete = query_complete(q);
    }
    if (rc == 0 && count_of(&w.events, DLIO_BLOCK) == 0) {
        rc = query_open(env, snapshot, selection, budget, err, &all);
        rc = rc < 0 ? rc : dlio_events_missing(all, r, err);
        query_close(all);
    }
    rc = rc < 0 ? rc : compute_report(&w, r);
    vec_done(&w.events.all);
    free(w.ranks);
    free(w.blocks);
    free(w.iters);
    query_close(q);
    arena_done(&arena);
    if (rc < 0) {
        dlio_report_free(r);
        return err_set_code(err, rc);
    }
    *ret = r;
    return 0;
}

void dlio_report_free(struct dlio_report *r)
{
    if (!r)
        return;
    for (int kind = 0; kind < DLIO_KINDS; kind++)
        free(r->times[kind].samples);
    dlio_simulated_done(&r->refined.simulated);
    charge_done(&r->charge);
    free(r);
}
