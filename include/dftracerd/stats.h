/* stats.h - /stats: counts, sums and percentiles of the selected objects and of groups of them.
 *
 * Used by:   format, http; answer/timeline, answer/lines, answer/compare, answer/small.
 * Path:      stats_run reads the summaries of the index if they suffice, else scans once -> struct
 *            stats -> format_stats.
 * Memory:    the answer is in its arena, charged to the budget of the query until stats_free.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_STATS_H
#define DFTRACERD_STATS_H

#include "dftracerd/member.h"

enum stats_report {
    STATS_SUMMARY,
    STATS_CATEGORIES,
    STATS_NAMES,
    STATS_PID_TIDS,
    STATS_TIME_RANGE,
    STATS_DURATION,
    STATS_TOP_NAMES,
    STATS_TOP_CATEGORIES,
    STATS_DETAILED
};
extern const char *const stats_report_names[]; /* by enum stats_report, NULL at the end */

#define STATS_QUANTILES 7 /* 0.10 0.25 0.50 0.75 0.90 0.95 0.99 */
struct stats_options {
    enum stats_report report;
    /* paths; none: `name` for STATS_DETAILED, no groups for others. Groups are added to
     * any report: text of a summary by cat,name has the tables of each category */
    const char *const *group_by;
    size_t group_by_count;
    bool exact;                    /* percentiles from all values */
    uint64_t top_n, top_n_pid_tid; /* 0 = all */
    bool no_summary;               /* scan although a summary could answer (tests) */
};
/* A measured quantity in us, bytes or bytes/s. Without values (count 0), all but sum are null; std
 * is null if count < 2. */
struct measured {
    uint64_t count;
    struct value sum, mean, std, min, max, quantiles[STATS_QUANTILES];
};
struct stats_count {
    struct value cat, name, pid, tid, host;
    uint64_t count;
};
struct stats_group {
    struct value *keys;
    const char *const *key_names; /* group_by of the answer */
    size_t key_count;
    uint64_t count;
    struct measured duration, size, bandwidth, offset;
};
struct stats_bin {
    double lo, hi;
    uint64_t count;
};
struct stats {
    enum stats_report report;
    const char *query; /* as in the request; set by the caller of stats_run, borrowed */
    struct query_counters counters;
    bool complete;
    uint64_t failed_files; /* of the selected ones */
    int64_t elapsed_ns;
    uint64_t events; /* objects selected */
    struct value min_ts, max_te, span;
    /* In the report `detailed`, duration is set without has_duration: only texts contain it. */
    bool has_duration, has_categories, has_names, has_pid_tids, has_groups, has_histogram;
    struct measured duration;
    struct stats_count *categories, *names, *pid_tids;
    size_t category_count, name_count, pid_tid_count;
    uint64_t categories_total, names_total, pid_tids_total, groups_total; /* before cutting */
    const char **group_by; /* keys of groups, pid_tid expanded */
    size_t group_by_count, group_count;
    struct stats_group *groups;
    struct stats_bin *histogram;
    size_t histogram_count;
    struct arena arena;    /* owns everything above */
    struct budget *budget; /* of the query, borrowed: checked in long lists; may be NULL */
};
/* Returns *new*; ERR_PARAM (err.param), ERR_ROW_LIMIT, or another error of the query. */
int stats_run(struct query *q, const struct stats_options *options, struct err *err,
              struct stats **ret);
void stats_free(struct stats *s);

/* What it contains, and the rows of its reports: groups, counts, or one row of totals. */
extern const struct object_type stats_type, stats_bin_type;
extern const struct object_type stats_row_type; /* one of these: */
extern const struct object_type stats_group_row_type, stats_category_type, stats_name_type,
    stats_thread_type, stats_summary_row_type, stats_duration_row_type, stats_times_row_type;

#endif
