/* aggregate.h - /aggregate: one row per time bucket and key, or per group of any columns.
 *
 * Used by:   format, http; answer/processes, answer/dlio, answer/compare.
 * Path:      aggregate_open plans, scans and orders (answer/aggregate/aggregate.c); aggregate_next
 *            returns rows as values, aggregate_table as vectors, until ERR_END.
 * Memory:    all groups, or, if memory does not suffice for them, those of one pass after another;
 *            charged to the budget of the query until aggregate_close.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_AGGREGATE_H
#define DFTRACERD_AGGREGATE_H

#include "dftracerd/table.h"

/* Rows for each time bucket and key, in one of two forms. The pipeline (`aggregates` empty) has one
 * row for each (class, cat, name, pid, tid, hhash, fhash, bucket, group_keys), and its counters are
 * weighted: count = dft_cnt, else freq, else count, else 1 (aggregate/counters.c). The general form
 * groups all selected objects by `group_by` (one row if empty) and computes `aggregates`. Texts are
 * borrowed for the call only. */
enum aggregate_time { AGGREGATE_TIME_US, AGGREGATE_TIME_MS, AGGREGATE_TIME_ISO };
struct aggregate_options {
    int64_t interval_ns; /* of the buckets; 0 = all in one */
    uint64_t max_points; /* not 0: chooses the interval so that there are at most that many */
    /* the span for max_points; empty: the span of the selection */
    int64_t points_from_ns, points_to_ns;
    enum aggregate_time time_format; /* MS, ISO: the bucket is column `time` */
    bool relative; /* time_bucket, ts, te are relative to the smallest ts of the selection */
    bool split;    /* divides durations and sizes among the buckets that they cover */
    /* pipeline: paths; a bare name is an argument */
    const char *const *group_keys, *const *metric_fields;
    size_t group_key_count, metric_field_count;
    /* those of both that may be missing in all events; they are null then */
    const char *const *optional;
    size_t optional_count;
    const char *const *percentiles; /* decimal texts in [0, 1]: "0.999" is column p99.9 */
    size_t percentile_count;
    bool exact, shape;             /* percentiles from all values; skew and kurtosis, too */
    const char *const *boundaries; /* "event:field:output": output is a column */
    size_t boundary_count;
    bool parents; /* columns parent_pid, root_pid */
    const char *const *group_by,
        *const *aggregates,
            *const *sort; /* "count", "p99:dur", "name=sum:size"; sort: "-x" descending */
    size_t group_by_count, aggregate_count, sort_count;
    const char *having; /* DSL over the columns of the rows; NULL */
    uint64_t top;       /* 0 = all; else that many rows by `top_by`, the rest as one "(other)" */
    const char *top_by;
    uint64_t limit, offset; /* in rows; limit UINT64_MAX = all */
};
struct aggregate;
/* Computes all groups. If they do not fit into memory, and there is neither `sort` nor `top`,
 * aggregate_next computes them in parts, and may fail with the same errors. ERR_PARAM (err.param),
 * ERR_ROW_LIMIT, ERR_MEMORY_LIMIT ... */
int aggregate_open(struct query *q, const struct aggregate_options *options, struct err *err,
                   struct aggregate **ret);
/* Returns the rows; borrowed until close. A block has rows of one class and one pass. */
struct table *aggregate_table(struct aggregate *a);
__int128 aggregate_interval(const struct aggregate *a); /* of the buckets, in ns; 0: none */
/* Returns the next rows, at most `want` (and TABLE_BLOCK): *ret_count * columns values, row by row,
 * borrowed until the next call. Returns 0, ERR_END, or an error of a pass. */
int aggregate_next(struct aggregate *a, size_t want, struct err *err, const struct value **ret,
                   size_t *ret_count);
/* Lists the values of each output of `boundaries`, with the time span of each over all processes,
 * ordered by output, then by value: a *new* array; its texts are borrowed until close. Returns 0 or
 * -ENOMEM. */
struct aggregate_boundary {
    const char *output;
    struct text value;
    __int128 from_ns, to_ns;
};
int aggregate_boundaries(const struct aggregate *a, struct aggregate_boundary **ret,
                         size_t *ret_count);
void aggregate_close(struct aggregate *a);

#endif
