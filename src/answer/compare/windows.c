/* windows.c - windows, threads and hosts of a side, from the scan that finds its groups.
 *
 * A row is looked up once, by the keys of its group and of its thread (host, pid, tid); a thread
 * has the number of its group. If memory does not suffice for all windows, a first scan finds the
 * groups, and further ones find the windows of one part of the time after another.
 */
#include "answer/compare/windows.h"

#include <errno.h>
#include <stdlib.h>

/* Scans windows [first, last], or one half after the other if memory does not suffice. The first
 * and the last window of all are open-ended: with negative durations, ts may be outside of the
 * span. */
static int scan_part(struct side_windows *job, int64_t first, int64_t last)
{
    const struct time_span *span = &job->side->times.span;
    struct groups *found;

    job->first = first <= windows_number(job, span->min_ts) ? INT64_MIN : first;
    job->last = last >= windows_number(job, span->max_te) ? INT64_MAX : last;
    int rc = groups_scan(&job->side->grouping, &found, NULL);
    rc = rc < 0 ? rc : windows_peaks(job, &found->set[SIDE_THREADS]);
    groups_free(found);
    if ((rc != ERR_MEMORY_LIMIT && rc != ERR_ROW_LIMIT) || first >= last)
        return rc;
    int64_t middle = (int64_t)(((__int128)first + last) >> 1);
    rc = scan_part(job, first, middle);
    return rc < 0 ? rc : scan_part(job, middle + 1, last);
}

int side_windows_new(struct node_work *work, struct side *s)
{
    static const char *const places[THREAD_KEYS] = {"host", "pid", "tid"};
    struct side_windows *job = s->windows = calloc(1, sizeof(*job));

    if (!job)
        return -ENOMEM;
    *job = (struct side_windows){.work = work, .side = s, .first = INT64_MIN, .last = INT64_MAX};
    job->hosts.budget = job->peaks.budget = s->budget;
    s->sets[SIDE_THREADS] = windows_set(job, s->width + THREAD_KEYS);
    for (unsigned k = 0; k < THREAD_KEYS; k++)
        group_table_init(&job->found[k], k + 1, 0, s->budget);
    int64_t interval = work->run->options->interval_ns;
    int rc = interval > 0 ? 0 : query_source_bucket(s->query, 0, 0, &job->time);
    if (interval > 0)
        job->time = s->ts;
    job->window_ns = interval > 0 ? (uint64_t)interval : UINT64_MAX;
    memcpy(job->keys, s->keys, s->width * sizeof(*job->keys));
    for (unsigned i = 0; i < THREAD_KEYS && rc == 0; i++)
        rc = query_source(s->query, text_of(places[i]), &job->keys[s->width + i]);
    return rc;
}

void side_windows_free(struct side *s)
{
    struct side_windows *job = s->windows;

    if (!job)
        return;
    for (unsigned k = 0; k < THREAD_KEYS; k++)
        group_table_done(&job->found[k]);
    vec_done(&job->hosts);
    vec_done(&job->peaks);
    free(job);
    s->windows = NULL;
}

int side_windows_sum(struct side *s)
{
    int rc = windows_peaks(s->windows, &s->found->set[SIDE_THREADS]);

    groups_drop(s->found, SIDE_THREADS);
    return rc;
}

int side_windows_scan(struct side *s)
{
    struct side_windows *job = s->windows;
    const struct time_span *span = &s->times.span;

    s->scope = SIDE_ONLY_WINDOWS;
    return scan_part(job, windows_number(job, span->min_ts), windows_number(job, span->max_te));
}

const struct moments_f64 *side_windows_peaks(const struct side *s, uint32_t group)
{
    static const struct moments_f64 none[PEAKS];
    const struct side_windows *job = s->windows;

    return group < job->peaks.count ? job->peaks.at[group].of : none;
}
