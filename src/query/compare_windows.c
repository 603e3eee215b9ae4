/* compare_windows.c - what windows, threads and hosts say of a side, from one scan with whole durations.
 *
 * Events of a thread mostly lie in the window of the event before: a thread (of a group: keys, host, pid, tid) knows its last two
 * windows, and any other is noted anew; in the end those that are the same are put together. What this cannot do (durations
 * that are no whole numbers or in several units, more windows than memory has room for) is left to compare_peaks.c.
 */
#include "compare_windows.h"
#include "plan.h"

#include <errno.h>
#include <stdlib.h>

/* ---- memory ---------------------------------------------------------------------------------------------- */

int windows_grow(struct windows *w, void **array, uint32_t *cap, uint32_t count, size_t size)
{
    uint32_t more = *cap ? *cap : 256;

    if (count <= *cap)
        return 0;
    while (more < count)
        more *= 2;
    int rc = budget_charge(w->job->side->plan.budget, (more - *cap) * size);
    if (rc < 0)
        return rc;
    w->charged += (more - *cap) * size;
    char *grown = realloc(*array, more * size);
    if (!grown)
        return -ENOMEM;
    memset(grown + *cap * size, 0, (more - *cap) * size);
    *array = grown;
    *cap = more;
    return 0;
}

static int windows_new(struct job *job, struct windows **ret)
{
    struct windows *w = calloc(1, sizeof(*w));
    const struct stats_plan *p = &job->side->plan;

    if (!w)
        return -ENOMEM;
    w->job = job;
    group_map_init(&w->threads, job->keys, job->width, p->max_groups, p->budget);
    *ret = w;
    return 0;
}

static void windows_free(struct windows *w)
{
    if (!w)
        return;
    budget_release(w->job->side->plan.budget, w->charged);
    group_map_done(&w->threads);
    free(w->all);
    free(w->present);
    free(w);
}

/* ---- the scan --------------------------------------------------------------------------------------------- */

/* What is read of a batch. */
struct values {
    const int64_t *time, *dur;
    const uint64_t *in_time, *has_dur;
    int64_t unit; /* of times, in ns */
    bool timed;
};

static int worker_begin(void *arg, unsigned worker, void **ret_state)
{
    (void)worker;
    return windows_new(arg, (struct windows **)ret_state);
}

/* -EDOM: windows that 64 bits do not hold, or durations that are not whole. */
static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct windows *w = state;
    enum scan_shape shape = scan_shape(c, w->job->side->plan.dur);
    const struct source *time = w->job->time;
    int64_t least, most, limit = INT64_MAX / 1000;

    if (shape == SHAPE_DOUBLE || shape == SHAPE_MIXED)
        return -EDOM;
    if (scan_shape(c, time) == SHAPE_TIME && !scan_is_nano(c, time) &&
        (!scan_range(c, time, &least, &most) || least < -limit || most > limit))
        return -EDOM;
    return group_map_chunk(&w->threads, c);
}

static int read_durations(struct windows *w, struct scan_batch *b, struct values *v)
{
    const struct source *dur = w->job->side->plan.dur;
    enum scan_shape shape = scan_shape(b->chunk, dur);
    bool nano;

    v->dur = NULL;
    if (shape != SHAPE_INT && shape != SHAPE_TIME)
        return 0;
    int rc = batch_i64(b, dur, &v->dur, &v->has_dur, &nano);
    if (rc < 0)
        return rc;
    if (w->unit != UNIT_NONE && w->unit != (nano ? UNIT_NANO : UNIT_MICRO))
        return -EDOM;
    w->unit = nano ? UNIT_NANO : UNIT_MICRO;
    return 0;
}

static int read_values(struct windows *w, struct scan_batch *b, struct values *v)
{
    const struct source *time = w->job->time;
    bool nano = false;

    v->timed = scan_shape(b->chunk, time) == SHAPE_TIME;
    int rc = v->timed ? batch_i64(b, time, &v->time, &v->in_time, &nano) : 0;
    v->unit = nano ? 1 : 1000;
    return rc < 0 ? rc : read_durations(w, b, v);
}

static int add_window(struct windows *w, const struct window *add)
{
    int rc = w->count == UINT32_MAX / 2
                 ? -EDOM
                 : windows_grow(w, (void **)&w->all, &w->cap, w->count + 1, sizeof(*w->all));

    if (rc == 0)
        w->all[w->count++] = *add;
    return rc;
}

/* Another window than that of the thread's event before. */
static int change_window(struct windows *w, uint32_t thread, int64_t ns)
{
    const uint64_t length = w->job->window_ns;
    __int128 from = length == UINT64_MAX ? 0 : floor_to(ns, length);
    struct present *p = &w->present[thread], was = *p;
    int rc = from < INT64_MIN ? -EDOM : 0;

    *p = (struct present){{(int64_t)from, was.from_ns[0]}, {was.window[1], was.window[0]}};
    if (rc < 0 || (was.window[1] && was.from_ns[1] == p->from_ns[0]))
        return rc;
    p->window[0] = w->count + 1;
    return add_window(w, &(struct window){.ns = p->from_ns[0], .thread = thread});
}

static int add_events(struct windows *w, const struct scan_batch *b, const struct values *v)
{
    const struct present *present = w->present;
    const uint64_t length = w->job->window_ns;
    bool overflow = false;

    for (uint32_t j = 0, n = b->count; j < n; j++) {
        uint32_t row = batch_row(b, j), thread = w->thread[j];
        int64_t ns = v->time[row] * v->unit;
        if (!batch_is_valid(v->in_time, row))
            continue;
        uint64_t into = (uint64_t)ns - (uint64_t)present[thread].from_ns[0];
        if (into >= length || present[thread].window[0] == 0) {
            int rc = change_window(w, thread, ns);
            if (rc < 0)
                return rc;
        }
        struct window *at = &w->all[present[thread].window[0] - 1];
        at->events++;
        if (!v->dur || !batch_is_valid(v->has_dur, row))
            continue;
        at->measured++;
        overflow |= __builtin_add_overflow(at->dur, v->dur[row], &at->dur);
    }
    return overflow ? -EDOM : 0;
}

static int batch(void *state, struct scan_batch *b)
{
    struct windows *w = state;
    struct values v;
    int rc = group_map_batch(&w->threads, b, w->thread);

    rc = rc < 0 ? rc
                : windows_grow(w, (void **)&w->present, &w->present_cap, w->threads.table.count,
                               sizeof(*w->present));
    rc = rc < 0 ? rc : read_values(w, b, &v);
    return rc == 0 && v.timed ? add_events(w, b, &v) : rc;
}

static int merge(struct windows *into, const struct windows *from)
{
    int rc = 0;

    if (into->unit != UNIT_NONE && from->unit != UNIT_NONE && into->unit != from->unit)
        return -EDOM;
    into->unit = into->unit == UNIT_NONE ? from->unit : into->unit;
    for (uint32_t i = 0; i < from->threads.table.count && rc == 0; i++) {
        int64_t thread =
            group_table_add(&into->threads.table, group_table_keys(&from->threads.table, i));
        from->present[i].window[0] = (uint32_t)thread; /* from now on its number there */
        rc = thread < 0 ? (int)thread : 0;
    }
    for (uint32_t i = 0; i < from->count && rc == 0; i++) {
        from->all[i].thread = from->present[from->all[i].thread].window[0];
        rc = add_window(into, &from->all[i]);
    }
    return rc;
}

static int worker_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct job *job = arg;
    struct windows *w = state;
    (void)worker;

    if (!failed && !job->sum) {
        job->sum = w;
        return 0;
    }
    int rc = failed ? 0 : merge(job->sum, w);
    windows_free(w);
    return rc;
}

/* ---- all ---------------------------------------------------------------------------------------------------- */

static int choose_sources(struct job *job)
{
    static const char *const places[PLACES] = {"host", "pid", "tid"};
    const struct side *s = job->side;
    int64_t interval = job->work->run->options->interval_ns;
    int rc = interval > 0 ? 0 : query_source_bucket(s->query, 0, 0, &job->time);

    if (interval > 0)
        job->time = s->plan.ts;
    job->window_ns = interval > 0 ? (uint64_t)interval : UINT64_MAX;
    memcpy(job->keys, s->plan.group_keys, s->plan.group_width * sizeof(*job->keys));
    job->width = s->plan.group_width;
    for (unsigned i = 0; i < PLACES && rc == 0; i++)
        rc = query_source(s->query, text_of(places[i]), &job->keys[job->width++]);
    return rc;
}

int side_windows(struct node_work *work, struct side *s)
{
    struct job job = {.work = work, .side = s};
    struct scan_sink sink = {.arg = &job,
                             .gathers = true,
                             .worker_begin = worker_begin,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .worker_end = worker_end};
    struct err err = {0};
    int rc = choose_sources(&job);

    rc = rc < 0 ? rc : scan_run(s->query, &sink, &err);
    rc = rc < 0 || !job.sum ? rc : windows_order(job.sum);
    rc = rc < 0 || !job.sum ? rc : windows_tell(job.sum);
    windows_free(job.sum);
    if (rc == ERR_MEMORY_LIMIT || rc == ERR_ROW_LIMIT)
        rc = -EDOM;
    if (rc < 0 && rc != -EDOM)
        err_set(work->run->err, rc, "%s", err.text);
    err_done(&err);
    return rc;
}
