/* compare.h - the data of /compare: scans of the sides, groups with equal keys, their metrics.
 *
 * Used by:   the files of answer/compare.
 * Path:      compare.c goes through the nodes -> side.c scans each side as /stats does, all sides
 *            at once, and windows.c sums up by windows and threads in the same scan -> table.c
 *            joins groups with equal keys -> metric.c measures them, with statistics.c -> compare.c
 *            corrects for the number of tests.
 * Threads:   one, but for the scans inside. Memory: charged to the budget of the request.
 */
#ifndef DFTRACERD_ANSWER_COMPARE_COMPARE_H
#define DFTRACERD_ANSWER_COMPARE_COMPARE_H

#include "dftracerd/compare.h"
#include "dftracerd/vec.h"

#include "engine/group/quantile.h"
#include "answer/compare/statistics.h"
#include "answer/stats/scan.h"

/* Values whose maximum over the threads is a peak of a window. */
enum { PEAK_EVENTS, PEAK_MEAN_DUR, PEAKS };

/* A group of one side. */
struct side_group {
    struct value *keys;
    uint32_t number;                 /* its number in the scan */
    struct moments_f64 peaks[PEAKS]; /* over the windows: the maximum of all threads */
};
enum { SIDE_GROUPS, SIDE_THREADS, SIDE_SETS }; /* sets of a side; threads: see windows.h */
/* Accumulators of the groups of a side. Durations and sizes have percentiles; SIDE_TRANSFER_BYTES
 * and SIDE_TRANSFER_TIME are the bytes and the durations of the events that have bytes. */
enum {
    SIDE_DUR,
    SIDE_SIZE,
    SIDE_MEASURES,
    SIDE_TRANSFER_BYTES = SIDE_MEASURES,
    SIDE_TRANSFER_TIME,
    SIDE_ACCS
};
struct side {
    struct query *query;
    struct budget *budget;
    const struct source *ts, *dur, *keys[GROUP_KEYS_MAX];
    unsigned width;
    struct acc_spec accs[SIDE_ACCS];
    struct group_set sets[SIDE_SETS];
    struct grouping grouping;
    struct side_windows *windows; /* NULL after they were added to `groups` */
    /* What the scan finds: groups and windows, or, if memory does not suffice, one after the
     * other. */
    enum { SIDE_ALL, SIDE_ONLY_GROUPS, SIDE_ONLY_WINDOWS } scope;
    int scanned;               /* 0, or the error of the scan */
    struct shared_times times; /* of all events */
    struct groups *found;
    struct side_group *groups; /* sorted by their keys */
    size_t group_count;
    bool missing[GROUP_KEYS_MAX]; /* columns of the groups that no event of the side has */
    struct compare_meta meta;     /* files, events, makespan, processes, threads, skewed */
};

struct kept_test {
    struct compare_test *test;
    size_t variant;
};
struct compare_run {
    const struct query_env *env;
    struct snapshot *snapshot;
    const struct compare_options *options;
    struct budget *budget;
    struct err *err;
    struct comparison *result;
    VEC(struct kept_test) tests;
    size_t node_count;
};

/* One node on all sides while it is computed. */
struct node_work {
    struct compare_run *run;
    const struct compare_node_options *options;
    struct compare_node *node; /* group_by and query are set */
    bool top;
    struct side *sides;
    struct quantile *quantiles; /* ascending, without duplicates */
    size_t quantile_count;
    struct sample_memory memory; /* for sums over groups */
};

/* The source of metrics: one group of one side, or several together. */
struct part {
    uint64_t count;
    struct quantity of[SIDE_ACCS];
    struct moments_f64 peaks[PEAKS];
    bool no_peak_std;            /* `peaks` are of the means of groups, whose std says nothing */
    struct compare_meta *totals; /* of the side; metrics_make adds bytes and io_time; NULL: none */
};

/* Borrows its arguments. Call side_done even if it fails. */
int side_open(struct node_work *w, const struct selection *s, struct side *ret);
void side_done(struct side *s);
/* Scans all sides of the node at once, and sets side.scanned. A side that lacked memory has no
 * result. */
int sides_scan(struct node_work *w);
/* Returns true if memory did not suffice for groups and windows at once. */
bool side_lacks_memory(const struct side *s);
/* Sets groups, in order and with their peaks, and meta. A side that lacked memory is scanned
 * again: call it for the other sides first, because it frees their windows. */
int side_groups(struct node_work *w, struct side *s);

/* windows.c: the windows of threads, found in the scan of the side's plan. */
int side_windows_new(struct node_work *w, struct side *s);
void side_windows_free(struct side *s);
/* Computes peaks from the windows that the scan found, and frees these. Any thread, one for each
 * side. */
int side_windows_sum(struct side *s);
/* Scans the windows of one part of the time after another. */
int side_windows_scan(struct side *s);
/* Returns PEAKS of a group by its number in the scan; the side's windows must still exist. */
const struct moments_f64 *side_windows_peaks(const struct side *s, uint32_t group);
/* Makes summary, groups and children of the node by its columns. */
int table_make(struct node_work *w);
/* Computes the metrics of `parts`, one for each side, into `ret`. */
int metrics_make(struct node_work *w, struct part *parts, struct compare_group *ret);

static inline struct value value_of_f64(double d)
{
    return (struct value){.type = VALUE_DOUBLE, .d = d};
}
/* Returns sum / count; 0 without values. The running mean may be off by one bit, which would be
 * reported as a change. */
static inline double peak_mean(const struct moments_f64 *m)
{
    return m->count ? (m->sum + m->comp) / (double)m->count : 0;
}

#endif
