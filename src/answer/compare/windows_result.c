/* windows_result.c - computes peaks, threads and hosts of a side from the windows of a scan. */
#include "answer/compare/windows.h"
#include "answer/stats/result.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>

/* The windows of all threads. */
struct windows {
    struct side_windows *job;
    const struct group_table *threads;
    VEC(struct window) all;
};

/* ---- sorting --------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const struct window *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Groups the windows by thread. first[t]: set to the number of windows of the threads before t. */
static void sort_by_thread(const struct windows *w, size_t *first, struct window *to)
{
    uint32_t threads = w->threads->count;

    for (size_t i = 0; i < w->all.count; i++)
        first[w->all.at[i].thread + 1]++;
    for (uint32_t t = 0; t < threads; t++)
        first[t + 1] += first[t];
    for (size_t i = 0; i < w->all.count; i++)
        to[first[w->all.at[i].thread]++] = w->all.at[i];
    memmove(first + 1, first, threads * sizeof(*first));
    first[0] = 0;
}

/* The windows of a thread are mostly sorted already. */
static void sort_windows(struct window *all, size_t count)
{
    size_t i = 1;

    while (i < count && all[i - 1].number <= all[i].number)
        i++;
    if (i < count)
        qsort(all, count, sizeof(*all), compare_numbers);
}

/* Adds a window. The sum of durations is in ns if one of the two is. */
static void merge_window(struct window *to, const struct window *from)
{
    __int128 dur = from->dur;

    if (to->nano != from->nano)
        *(to->nano ? &dur : &to->dur) *= 1000;
    to->nano = to->nano || from->nano;
    to->events += from->events;
    to->measured += from->measured;
    to->dur += dur;
}

/* Merges windows of the same thread and number, which are next to each other. */
static void merge_windows(struct windows *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->all.count; i++) {
        const struct window *from = &w->all.at[i];
        struct window *to = n ? &w->all.at[n - 1] : NULL;
        if (to && to->thread == from->thread && to->number == from->number)
            merge_window(to, from);
        else
            w->all.at[n++] = *from;
    }
    w->all.count = n;
}

/* Sorts the windows by thread and number, and merges equal ones. */
static int order_windows(struct windows *w)
{
    VEC(struct window) sorted = {.budget = w->all.budget};
    uint32_t threads = w->threads->count;
    size_t *first = calloc(threads + 2, sizeof(*first));
    int rc = first ? vec_reserve(&sorted, w->all.count) : -ENOMEM;

    if (rc == 0 && w->all.count) {
        sort_by_thread(w, first, sorted.at);
        sorted.count = w->all.count;
        vec_done(&w->all);
        w->all.vec = sorted.vec;
        for (uint32_t t = 0; t < threads; t++)
            sort_windows(w->all.at + first[t], first[t + 1] - first[t]);
        merge_windows(w);
    }
    free(first);
    return rc;
}

/* ---- peaks ----------------------------------------------------------------------------------- */

/* A window of a group: the maximum of its threads. */
struct peak {
    uint64_t group; /* number of the group in the scan */
    int64_t number;
    uint64_t events;
    const struct window *longest; /* by mean duration; NULL: none has durations */
};
struct peaks {
    VEC(struct peak);
};

static int compare_places(const void *a, const void *b)
{
    const struct peak *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Makes a *new* array with the group number of each thread. */
static int groups_of(const struct windows *w, uint32_t **ret)
{
    const struct side *s = w->job->side;
    const struct group_table *groups = &s->found->set[SIDE_GROUPS].map.table;
    const struct group_table *threads = w->threads;
    uint32_t *numbers = *ret = calloc(threads->count + 1, sizeof(*numbers));
    int rc = numbers ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < threads->count && rc == 0; i++) {
        int64_t group = group_table_find(groups, group_table_keys(threads, i));
        rc = group < 0 ? ERR_CORRUPT : 0;
        numbers[i] = (uint32_t)group;
    }
    return rc;
}

static double mean_of(const struct window *w)
{
    struct moments m = {.count = w->measured, .nano = w->nano, .sum = w->dur};

    return moments_mean(&m);
}

/* Compares the means. Fractions are compared without division, which is faster and exact. */
static bool is_less(const struct window *a, const struct window *b)
{
    bool small = a->dur == (int64_t)a->dur && b->dur == (int64_t)b->dur;

    if (!small || a->nano != b->nano)
        return mean_of(a) < mean_of(b);
    return a->dur * (__int128)b->measured < b->dur * (__int128)a->measured;
}

/* Finds the maxima of the threads of each group and window. table: the number of a (group,
 * window) is its position in `peaks`. */
static int collect_peaks(const struct windows *w, const uint32_t *groups, struct group_table *table,
                         struct peaks *peaks)
{
    for (size_t i = 0; i < w->all.count; i++) {
        const struct window *from = &w->all.at[i];
        struct peak fresh = {.group = groups[from->thread], .number = from->number};
        int64_t at = group_table_add(table, (uint64_t[]){fresh.group, (uint64_t)fresh.number});
        int rc = at < 0 ? (int)at : (size_t)at < peaks->count ? 0 : vec_push(peaks, fresh);
        if (rc < 0)
            return rc;
        struct peak *p = &peaks->at[at];
        p->events = p->events >= from->events ? p->events : from->events;
        if (from->measured && (!p->longest || is_less(p->longest, from)))
            p->longest = from;
    }
    return 0;
}

static void add_peaks(struct side_windows *job, struct peaks *peaks)
{
    if (peaks->count)
        qsort(peaks->at, peaks->count, sizeof(*peaks->at), compare_places);
    for (size_t i = 0; i < peaks->count; i++) {
        const struct peak *p = &peaks->at[i];
        struct moments_f64 *of = job->peaks.at[p->group].of;
        moments_f64_add(&of[PEAK_EVENTS], (double)p->events);
        if (p->longest)
            moments_f64_add(&of[PEAK_MEAN_DUR], mean_of(p->longest));
    }
}

/* ---- threads and hosts ----------------------------------------------------------------------- */

/* Fills the tables of hosts, processes and threads, and `host` with the number of each thread's
 * host. */
static int add_threads(const struct windows *w, uint32_t *host)
{
    struct side_windows *job = w->job;
    const struct group_table *t = w->threads;

    for (uint32_t i = 0; i < t->count; i++) {
        const uint64_t *keys = group_table_keys(t, i) + t->width - THREAD_KEYS;
        for (unsigned k = 0; k < THREAD_KEYS; k++) {
            int64_t at = group_table_add(&job->found[k], keys);
            if (at < 0)
                return (int)at;
            host[i] = k == 0 ? (uint32_t)at : host[i];
        }
    }
    return vec_extend(&job->hosts, job->found[0].count);
}

static int add_to_side(struct windows *w)
{
    struct side_windows *job = w->job;
    struct side *s = job->side;
    struct group_table table;
    struct peaks peaks = {.budget = s->budget};
    uint32_t *groups = NULL, *host = calloc(w->threads->count + 1, sizeof(*host));
    int rc = host ? groups_of(w, &groups) : -ENOMEM;

    group_table_init(&table, 2, 0, s->budget);
    rc = rc < 0 ? rc : add_threads(w, host);
    rc = rc < 0 ? rc : vec_extend(&job->peaks, s->found->set[SIDE_GROUPS].map.table.count);
    rc = rc < 0 ? rc : collect_peaks(w, groups, &table, &peaks);
    if (rc == 0)
        add_peaks(job, &peaks);
    for (size_t i = 0; i < w->all.count && rc == 0; i++) {
        const struct window *at = &w->all.at[i];
        struct clock_host *h = &job->hosts.at[host[at->thread]];
        int64_t interval_ns = job->work->run->options->interval_ns;
        __int128 begin = (__int128)at->number * interval_ns;
        int64_t from = clamp_ns(begin), to = clamp_ns(begin + interval_ns);
        h->from_ns = h->events == 0 || from < h->from_ns ? from : h->from_ns;
        h->to_ns = h->events == 0 || to > h->to_ns ? to : h->to_ns;
        h->events += at->events;
    }
    group_table_done(&table);
    vec_done(&peaks);
    free(groups);
    free(host);
    return rc;
}

int windows_peaks(struct side_windows *job, struct groups_of_set *threads)
{
    struct vec *list = &threads->accs[0].list;
    struct windows w = {.job = job, .threads = &threads->map.table, .all.vec = *list};
    int rc = order_windows(&w);

    *list = w.all.vec;
    return rc < 0 ? rc : add_to_side(&w);
}

/* Moves the hosts that have a name and windows to the front. *ret: their number. */
static int name_hosts(struct side_windows *job, size_t *ret)
{
    int rc = 0;

    *ret = 0;
    for (uint32_t i = 0; i < job->found[0].count && rc == 0; i++) {
        struct clock_host *h = &job->hosts.at[i];
        uint64_t key = *group_table_keys(&job->found[0], i);
        if (key == QUERY_KEY_NULL || h->events == 0)
            continue;
        query_key_value(job->side->query, key, &h->name);
        rc = value_keep_text(&job->work->run->result->arena, &h->name);
        job->hosts.at[(*ret)++] = *h;
    }
    return rc;
}

/* Sets the skewed hosts of side.meta; reorders the hosts. */
static int put_skewed_hosts(struct side_windows *job, size_t count)
{
    struct compare_meta *meta = &job->side->meta;

    if (job->work->run->options->interval_ns == 0 || count < 2)
        return 0;
    meta->skewed_count = clocks_apart(job->hosts.at, count, false);
    meta->skewed = arena_alloc(&job->work->run->result->arena,
                               (meta->skewed_count + 1) * sizeof(*meta->skewed));
    if (!meta->skewed)
        return -ENOMEM;
    for (size_t i = 0; i < meta->skewed_count; i++)
        meta->skewed[i] =
            (struct compare_skew){job->hosts.at[i].name, stats_time(job->hosts.at[i].distance_ns)};
    return 0;
}

int windows_finish(struct side_windows *job)
{
    size_t named;
    int rc = name_hosts(job, &named);

    job->side->meta.processes = job->found[1].count;
    job->side->meta.threads = job->found[2].count;
    return rc < 0 ? rc : put_skewed_hosts(job, named);
}
