/* windows_scan.c - rows of one worker into windows of threads.
 *
 * Events of a thread mostly lie in the window of the event before: a thread sums up in its last two
 * windows, and any other is noted anew; in the end those that are the same are put together.
 */
#include "answer/compare/windows.h"
#include "engine/derived/times.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>

/* ---- memory ---------------------------------------------------------------------------------- */

int windows_grow(struct charge *c, void **array, uint32_t *cap, uint32_t count, size_t size)
{
    uint32_t more = *cap ? *cap : 256;

    if (count <= *cap)
        return 0;
    if (count > UINT32_MAX / 2)
        return ERR_MEMORY_LIMIT;
    while (more < count)
        more *= 2;
    int rc = charge_add(c, (more - *cap) * size);
    if (rc < 0)
        return rc;
    char *grown = aligned_alloc(64, more * size);
    if (!grown)
        return -ENOMEM;
    if (*cap)
        memcpy(grown, *array, *cap * size);
    memset(grown + *cap * size, 0, (more - *cap) * size);
    free(*array);
    *array = grown;
    *cap = more;
    return 0;
}

static int grow(struct windows *w, void **array, uint32_t *cap, uint32_t count, size_t size)
{
    return windows_grow(&w->charge, array, cap, count, size);
}

int windows_new(void *arg, void **ret)
{
    struct side_windows *job = arg;
    struct windows *w = *ret = calloc(1, sizeof(*w));
    const struct grouping *g = &job->side->grouping;

    if (!w)
        return -ENOMEM;
    w->job = job;
    w->charge.budget = g->budget;
    group_map_init(&w->threads, job->keys, job->width, g->limit, g->budget);
    return 0;
}

void windows_free(struct windows *w)
{
    if (!w)
        return;
    charge_done(&w->charge);
    group_map_done(&w->threads);
    free(w->all);
    free(w->present);
    free(w->before);
    free(w->group);
    free(w);
}

/* ---- the scan -------------------------------------------------------------------------------- */

/* What is read of a batch. */
struct values {
    const int64_t *time, *dur;
    const uint64_t *in_time, *has_dur;
    int64_t unit; /* of times, in ns */
    bool nano;
};

int64_t windows_number(const struct side_windows *job, __int128 ns)
{
    __int128 length = job->window_ns;
    int64_t near = (int64_t)ns;

    if (job->window_ns == UINT64_MAX)
        return 0;
    if (near != ns)
        return clamp_ns(floor_to(ns, length) / length);
    int64_t number = near / (int64_t)job->window_ns;
    return number - (number * (int64_t)job->window_ns > near);
}

static int add_window(struct windows *w, const struct window *add)
{
    int rc = add->events ? grow(w, (void **)&w->all, &w->cap, w->count + 1, sizeof(*w->all)) : 0;

    if (rc == 0 && add->events)
        w->all[w->count++] = *add;
    return rc;
}

/* Windows that threads are still in are noted, too. */
static int flush(struct windows *w)
{
    uint32_t threads = w->before ? w->threads.table.count : 0;
    int rc = 0;

    for (uint32_t t = 0; t < threads && t < w->before_cap && rc == 0; t++) {
        struct present *p = &w->present[t];
        rc = add_window(w, &w->before[t]);
        rc = rc < 0 ? rc : add_window(w, &p->now);
        w->before[t] = (struct window){0};
        *p = (struct present){.rows = p->rows};
    }
    return rc;
}

int windows_chunk(void *state, struct scan_chunk *c)
{
    struct windows *w = state;
    const struct side_windows *job = w->job;
    int64_t least, most, limit = INT64_MAX / 1000;
    int rc = w->far ? flush(w) : 0; /* what begins far away has no from_ns */

    w->far = w->skip = false;
    if (scan_shape(c, job->time) == SHAPE_TIME) {
        bool nano = scan_is_nano(c, job->time), ranged = scan_range(c, job->time, &least, &most);
        __int128 unit = nano ? 1 : 1000;
        w->far = !nano && (!ranged || least < -limit || most > limit);
        w->skip = ranged && (windows_number(job, most * unit) < job->first ||
                             windows_number(job, least * unit) > job->last);
    }
    return rc < 0 ? rc : group_map_chunk(&w->threads, c);
}

static struct values read_values(const struct windows *w, struct scan_batch *b)
{
    struct values v;
    bool nano;

    v.time = batch_i64(b, w->job->time, &v.in_time, &nano);
    v.dur = batch_i64(b, w->job->side->dur, &v.has_dur, &v.nano);
    v.unit = nano ? 1 : 1000;
    return v;
}

/* Another window than that of the thread's event before. *ret: whether it is wanted. */
static int change_window(struct windows *w, uint32_t thread, __int128 ns, bool *ret)
{
    const struct side_windows *job = w->job;
    struct present *p = &w->present[thread];
    int64_t number = windows_number(job, ns);
    struct window next = w->before[thread];
    int rc = 0;

    *ret = number >= job->first && number <= job->last;
    if (!*ret || (p->now.events && p->now.number == number))
        return 0;
    if (next.events == 0 || next.number != number) {
        rc = add_window(w, &next);
        next = (struct window){.number = number, .thread = thread};
    }
    w->before[thread] = p->now;
    p->now = next;
    p->from_ns = job->window_ns == UINT64_MAX ? 0 : (int64_t)((uint64_t)number * job->window_ns);
    return rc;
}

/* All in the finer of two units. */
static __attribute__((noinline)) void add_other_unit(struct window *at, int64_t value, bool nano)
{
    if (at->measured && nano)
        at->dur *= 1000;
    at->dur += at->measured && !nano ? (__int128)value * 1000 : value;
    at->nano = nano || at->measured;
    at->measured++;
}

static inline void add_duration(struct window *at, int64_t value, bool nano)
{
    if (__builtin_expect(at->nano != nano, 0)) {
        add_other_unit(at, value, nano);
        return;
    }
    at->dur += value;
    at->measured++;
}

static int add_events(struct windows *w, struct scan_batch *b)
{
    struct present *const present = w->present;
    const struct values read = read_values(w, b), v = read; /* a copy that nothing points to */
    const uint16_t *const select = b->select;
    const uint32_t *const threads = w->thread, n = b->count;
    const uint64_t length = w->job->window_ns, unit = (uint64_t)v.unit;
    const bool far = w->far;

    for (uint32_t j = 0; j < n; j++) {
        uint32_t row = select ? select[j] : j;
        struct present *p = &present[threads[j]];
        bool wanted = true;
        p->rows++;
        if (!batch_is_valid(v.in_time, row))
            continue;
        if (far || p->now.events == 0 ||
            (uint64_t)v.time[row] * unit - (uint64_t)p->from_ns >= length) {
            int rc = change_window(w, threads[j], (__int128)v.time[row] * v.unit, &wanted);
            if (rc < 0)
                return rc;
        }
        p->now.events += wanted;
        if (wanted && batch_is_valid(v.has_dur, row))
            add_duration(&p->now, v.dur[row], v.nano);
    }
    return 0;
}

/* w->thread of the batch's rows is set. */
static int add_batch(struct windows *w, struct scan_batch *b)
{
    int rc =
        grow(w, (void **)&w->present, &w->present_cap, w->threads.table.count, sizeof(*w->present));

    rc = rc < 0 ? rc
                : grow(w, (void **)&w->before, &w->before_cap, w->threads.table.count,
                       sizeof(*w->before));
    return rc < 0 ? rc : add_events(w, b);
}

int windows_batch(void *state, struct scan_batch *b)
{
    struct windows *w = state;
    int rc = w->skip ? 0 : group_map_batch(&w->threads, b, w->thread);

    return rc < 0 || w->skip ? rc : add_batch(w, b);
}

/* Keys of a group are the first ones of its threads. */
static int add_groups(struct windows *w, struct group_table *groups)
{
    const struct group_table *t = &w->threads.table;
    int rc = grow(w, (void **)&w->group, &w->group_cap, t->count, sizeof(*w->group));

    while (rc == 0 && w->grouped < t->count) {
        int64_t group = group_table_add(groups, group_table_keys(t, w->grouped));
        rc = group < 0 ? (int)group : 0;
        if (rc == 0)
            w->group[w->grouped++] = (uint32_t)group;
    }
    return rc;
}

int windows_with_groups(void *state, struct scan_batch *b, struct group_table *groups,
                        uint32_t *group)
{
    struct windows *w = state;
    int rc = group_map_batch(&w->threads, b, w->thread);

    rc = rc < 0 ? rc : add_groups(w, groups);
    for (uint32_t j = 0; rc == 0 && j < b->count; j++)
        group[j] = w->group[w->thread[j]];
    return rc < 0 ? rc : add_batch(w, b);
}

static int merge(struct windows *into, const struct windows *from)
{
    const struct group_table *t = &from->threads.table;
    uint32_t *thread = malloc((t->count + 1) * sizeof(*thread)); /* their numbers there */
    int rc = thread ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < t->count && rc == 0; i++) {
        int64_t at = group_table_add(&into->threads.table, group_table_keys(t, i));
        thread[i] = (uint32_t)at;
        rc = at < 0 ? (int)at : 0;
    }
    for (uint32_t i = 0; i < from->count && rc == 0; i++) {
        from->all[i].thread = thread[from->all[i].thread];
        rc = add_window(into, &from->all[i]);
    }
    free(thread);
    return rc;
}

int windows_end(void *arg, void *state, const struct groups_of_set *groups, bool failed)
{
    struct side_windows *job = arg;
    struct windows *w = state;
    int rc = failed ? 0 : flush(w);

    /* What failed may have stopped between finding groups and making room for their counts. */
    for (uint32_t t = 0; t < w->grouped && t < w->present_cap && groups && !failed; t++)
        *group_count(groups, w->group[t]) += w->present[t].rows;
    if (rc == 0 && !failed && !job->sum) {
        job->sum = w;
        return 0;
    }
    rc = rc < 0 || failed ? rc : merge(job->sum, w);
    windows_free(w);
    return rc;
}
