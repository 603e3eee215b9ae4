/* aggregate.h - /aggregate: one row per time bucket and key, or per group of any columns.
 *
 * Used by:   format, http; answer/processes, answer/small, answer/dlio, answer/compare.
 * Path:      http/endpoints/aggregate.c reads the parameters and writes the rows, with
 *            format_aggregate_* -> answer/aggregate/aggregate.c: aggregate_open plans, scans and
 *            orders; aggregate_next returns rows as values, aggregate_next_block as columns, until
 *            ERR_END -> engine/group/groups.h: the groups of the scan.
 * Memory:    all groups, or, where memory does not suffice for them, one part after another;
 *            charged to the budget of the query until aggregate_close.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_AGGREGATE_H
#define DFTRACERD_AGGREGATE_H

#include "dftracerd/table.h"

/* Rows per time bucket and key. Two forms: the pipeline (`aggregates` empty), whose rows are one
 * per (class, cat, name, pid, tid, hhash, fhash, bucket, group_keys) and whose counters are
 * weighted: count = dft_cnt, else freq, else count, else 1 (aggregate/counters.c); and the general
 * one, which groups all chosen objects by `group_by` (none: one row) and tells `aggregates`. Texts
 * are borrowed for the call only. */
enum aggregate_time { AGGREGATE_TIME_US, AGGREGATE_TIME_MS, AGGREGATE_TIME_ISO };
struct aggregate_options {
    int64_t interval_ns; /* of the buckets; 0 = all in one */
    uint64_t max_points; /* not 0: the interval is chosen so that there are no more buckets */
    /* in this span; where it is empty in that of the selection */
    int64_t points_from_ns, points_to_ns;
    enum aggregate_time time_format; /* MS, ISO: the bucket is told as column `time` */
    bool relative; /* time_bucket, ts, te from the smallest ts of the selection on */
    bool split;    /* durations and sizes are shared out over the buckets they cover */
    /* pipeline: paths; a bare name is an argument */
    const char *const *group_keys, *const *metric_fields;
    size_t group_key_count, metric_field_count;
    const char *const *optional; /* of these, what no event needs to have: null then */
    size_t optional_count;
    const char *const *percentiles; /* decimal texts in [0, 1]: "0.999" is told as p99.9 */
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
/* Does the whole work but the telling; where memory does not suffice for all groups, aggregate_next
 * does it part after part, and may fail of it, too. Not so with sort or top. ERR_PARAM (err.param),
 * ERR_ROW_LIMIT, ERR_MEMORY_LIMIT ... */
int aggregate_open(struct query *q, const struct aggregate_options *options, struct err *err,
                   struct aggregate **ret);
/* Its rows; borrowed until close. A block has rows of one class and one pass. */
struct table *aggregate_table(struct aggregate *a);
__int128 aggregate_interval(const struct aggregate *a); /* of its buckets, in ns; 0: it has none */
/* Next rows, at most `want` (and TABLE_BLOCK): *ret_count * columns values, row by row,
 * borrowed until the next call. ERR_END. */
int aggregate_next(struct aggregate *a, size_t want, struct err *err, const struct value **ret,
                   size_t *ret_count);
/* Which values each output of `boundaries` may have, and from when to when over all processes: by
 * output, then by value. *new* array, its texts borrowed until close; -ENOMEM. */
struct aggregate_boundary {
    const char *output;
    struct text value;
    __int128 from_ns, to_ns;
};
int aggregate_boundaries(const struct aggregate *a, struct aggregate_boundary **ret,
                         size_t *ret_count);
void aggregate_close(struct aggregate *a);

#endif
