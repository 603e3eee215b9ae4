/* compare_windows_told.c - from the windows of a scan to peaks, threads and hosts of a side. */
#include "clocks.h"
#include "compare_windows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- in order ---------------------------------------------------------------------------------------------- */

static int compare_begins(const void *a, const void *b)
{
    const struct window *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* first[t]: how many windows the threads before t have. */
static void sort_by_thread(const struct windows *w, uint32_t *first, struct window *to)
{
    uint32_t threads = w->threads.table.count;

    for (uint32_t i = 0; i < w->count; i++)
        first[w->all[i].thread + 1]++;
    for (uint32_t t = 0; t < threads; t++)
        first[t + 1] += first[t];
    for (uint32_t i = 0; i < w->count; i++)
        to[first[w->all[i].thread]++] = w->all[i];
    memmove(first + 1, first, threads * sizeof(*first));
    first[0] = 0;
}

/* Those of a thread are mostly in order already. */
static void sort_thread(struct window *all, size_t count)
{
    size_t i = 1;

    while (i < count && all[i - 1].ns <= all[i].ns)
        i++;
    if (i < count)
        qsort(all, count, sizeof(*all), compare_begins);
}

/* Puts those that are the same together. */
static int unite(struct windows *w)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->count; i++) {
        const struct window *from = &w->all[i];
        struct window *to = n ? &w->all[n - 1] : NULL;
        if (!to || to->thread != from->thread || to->ns != from->ns) {
            w->all[n++] = *from;
            continue;
        }
        to->events += from->events;
        to->measured += from->measured;
        if (__builtin_add_overflow(to->dur, from->dur, &to->dur))
            return -EDOM;
    }
    w->count = n;
    return 0;
}

int windows_order(struct windows *w)
{
    const struct stats_plan *p = &w->job->side->plan;
    struct window *sorted = NULL;
    uint32_t threads = w->threads.table.count, cap = 0,
             *first = calloc(threads + 2, sizeof(*first));
    int rc = first ? windows_grow(w, (void **)&sorted, &cap, w->count, sizeof(*sorted)) : -ENOMEM;

    if (rc == 0 && w->count) {
        sort_by_thread(w, first, sorted);
        free(w->all);
        w->all = sorted;
        for (uint32_t t = 0; t < threads; t++)
            sort_thread(sorted + first[t], first[t + 1] - first[t]);
        rc = unite(w);
    }
    free(first);
    return rc == 0 && p->max_groups && w->count > p->max_groups ? -EDOM : rc;
}

/* ---- peaks ------------------------------------------------------------------------------------------------- */

/* A window of a group: the most of its threads. */
struct peak {
    uint64_t group; /* place in side->groups */
    int64_t ns;
    double most[PEAKS];
};

static int compare_peaks(const void *a, const void *b)
{
    const struct peak *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* *new* array: the place in side->groups of each thread's group. */
static int places_of(const struct windows *w, uint32_t **ret)
{
    const struct side *s = w->job->side;
    const struct group_table *groups = &s->found.groups.map.table, *threads = &w->threads.table;
    uint32_t *by_number = calloc(groups->count + 1, sizeof(*by_number)),
             *places = *ret = calloc(threads->count + 1, sizeof(*places));
    int rc = by_number && places ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < s->group_count && rc == 0; i++)
        by_number[s->groups[i].number] = i;
    for (uint32_t i = 0; i < threads->count && rc == 0; i++) {
        int64_t group = group_table_find(groups, group_table_keys(threads, i));
        rc = group < 0 ? ERR_CORRUPT : 0;
        places[i] = group < 0 ? 0 : by_number[group];
    }
    free(by_number);
    return rc;
}

static void see_window(struct peak *p, const struct windows *w, const struct window *at)
{
    struct moments m = {.count = at->measured, .nano = w->unit == UNIT_NANO, .sum = at->dur};
    double mean = at->measured ? moments_mean(&m) : NAN, events = (double)at->events;

    p->most[PEAK_COUNT] = p->most[PEAK_COUNT] >= events ? p->most[PEAK_COUNT] : events;
    if (!isnan(mean) && !(p->most[PEAK_MEAN] >= mean))
        p->most[PEAK_MEAN] = mean;
}

static int collect_peaks(struct windows *w, const uint32_t *places, struct group_table *table,
                         struct peak **peaks)
{
    uint32_t cap = 0;

    for (uint32_t i = 0; i < w->count; i++) {
        const struct window *from = &w->all[i];
        uint32_t before = table->count, group = places[from->thread];
        int64_t at = group_table_add(table, (uint64_t[]){group, (uint64_t)from->ns});
        int rc =
            at < 0 ? (int)at : windows_grow(w, (void **)peaks, &cap, table->count, sizeof(**peaks));
        if (rc < 0)
            return rc;
        if (table->count > before)
            (*peaks)[at] = (struct peak){group, from->ns, {NAN, NAN}};
        see_window(&(*peaks)[at], w, from);
    }
    return 0;
}

static void tell_peaks(struct side *s, struct peak *peaks, size_t count)
{
    if (count)
        qsort(peaks, count, sizeof(*peaks), compare_peaks);
    for (size_t i = 0; i < count; i++) {
        for (unsigned k = 0; k < PEAKS; k++) {
            if (!isnan(peaks[i].most[k]))
                moments_f64_add(&s->groups[peaks[i].group].peaks[k], peaks[i].most[k]);
        }
    }
}

static int find_peaks(struct windows *w)
{
    struct side *s = w->job->side;
    struct group_table table;
    struct peak *peaks = NULL;
    uint32_t *places = NULL;
    int rc = places_of(w, &places);

    group_table_init(&table, 2, s->plan.max_groups, s->plan.budget);
    rc = rc < 0 ? rc : collect_peaks(w, places, &table, &peaks);
    if (rc == 0)
        tell_peaks(s, peaks, table.count);
    group_table_done(&table);
    free(places);
    free(peaks);
    return rc;
}

/* ---- threads and hosts ---------------------------------------------------------------------------------------- */

/* Fills the tables of hosts, processes and threads, and `host` with the number of each thread's host. */
static int number_hosts(const struct windows *w, uint32_t *host, struct group_table tables[PLACES])
{
    const struct group_table *t = &w->threads.table;

    for (uint32_t i = 0; i < t->count; i++) {
        const uint64_t *keys = group_table_keys(t, i) + t->width - PLACES;
        for (unsigned k = 0; k < PLACES; k++) {
            int64_t at = group_table_add(&tables[k], keys);
            if (at < 0)
                return (int)at;
            host[i] = k == 0 ? (uint32_t)at : host[i];
        }
    }
    return 0;
}

static void widen_host(struct clock_host *h, const struct window *w, int64_t interval_ns)
{
    int64_t to = clamp_ns((__int128)w->ns + interval_ns);

    h->from_ns = h->events == 0 || w->ns < h->from_ns ? w->ns : h->from_ns;
    h->to_ns = h->events == 0 || to > h->to_ns ? to : h->to_ns;
    h->events += w->events;
}

/* Hosts with a name that have windows, and how many. */
static int find_hosts(const struct windows *w, const uint32_t *host,
                      const struct group_table *names, struct clock_host *hosts, size_t *ret)
{
    struct node_work *work = w->job->work;
    int rc = 0;

    for (uint32_t i = 0; i < w->count; i++)
        widen_host(&hosts[host[w->all[i].thread]], &w->all[i], work->run->options->interval_ns);
    *ret = 0;
    for (uint32_t i = 0; i < names->count && rc == 0; i++) {
        uint64_t key = *group_table_keys(names, i);
        if (key == QUERY_KEY_NULL || hosts[i].events == 0)
            continue;
        query_key_value(w->job->side->query, key, &hosts[i].name);
        rc = compare_keep_value(work->run->result, &hosts[i].name);
        hosts[(*ret)++] = hosts[i];
    }
    return rc;
}

static int find_threads(struct windows *w)
{
    struct side *s = w->job->side;
    struct group_table tables[PLACES];
    uint32_t *host = calloc(w->threads.table.count + 1, sizeof(*host));
    size_t named = 0;

    for (unsigned k = 0; k < PLACES; k++)
        group_table_init(&tables[k], k + 1, 0, s->plan.budget);
    int rc = host ? number_hosts(w, host, tables) : -ENOMEM;
    struct clock_host *hosts = rc < 0 ? NULL : calloc((size_t)tables[0].count + 1, sizeof(*hosts));
    rc = rc < 0 ? rc : hosts ? find_hosts(w, host, &tables[0], hosts, &named) : -ENOMEM;
    rc = rc < 0 ? rc : side_clocks(w->job->work, s, hosts, named);
    if (rc == 0) {
        s->meta.processes = tables[1].count;
        s->meta.threads = tables[2].count;
    }
    for (unsigned k = 0; k < PLACES; k++)
        group_table_done(&tables[k]);
    free(hosts);
    free(host);
    return rc;
}

int windows_tell(struct windows *w)
{
    int rc = find_threads(w);

    return rc < 0 ? rc : find_peaks(w);
}
