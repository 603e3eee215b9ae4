/* aggregate.h - /aggregate: one row per time bucket and key, or per group of any columns.
 *
 * Used by:   format, http; answer/processes, answer/small, answer/dlio, answer/compare.
 * Path:      http/endpoints/aggregate.c reads the parameters and writes the rows, with
 *            format_aggregate_* -> answer/aggregate/aggregate.c: aggregate_open plans, scans and
 *            orders; aggregate_next returns rows as values, aggregate_next_block as columns, until
 *            ERR_END -> engine/group/group.h: the groups of the scan.
 * Memory:    all groups, or, where memory does not suffice for them, one part after another;
 *            charged to the budget of the query until aggregate_close.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_AGGREGATE_H
#define DFTRACERD_AGGREGATE_H

#include "dftracerd/query.h"

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
enum aggregate_unit { AGGREGATE_PLAIN, AGGREGATE_US, AGGREGATE_BYTES, AGGREGATE_BYTES_PER_S };
struct aggregate_column {
    const char *name;
    /* for formats with types, whatever its values: TEXT, TIME, DOUBLE, UINT (not negative) */
    enum value_type type;
    enum aggregate_unit unit;
    bool key;
    bool row_class; /* of the pipeline: event, profile, system */
    bool optional;  /* of some rows only: JSON leaves it out where it is null */
};
struct aggregate;
/* Does the whole work but the telling; where memory does not suffice for all groups, aggregate_next
 * does it part after part, and may fail of it, too. Not so with sort or top. ERR_PARAM (err.param),
 * ERR_ROW_LIMIT, ERR_MEMORY_LIMIT ... */
int aggregate_open(struct query *q, const struct aggregate_options *options, struct err *err,
                   struct aggregate **ret);
/* borrowed until close */
size_t aggregate_columns(const struct aggregate *a, const struct aggregate_column **ret);
__int128 aggregate_interval(const struct aggregate *a); /* of its buckets, in ns; 0: it has none */
/* so many rows are still to come, or more */
uint64_t aggregate_rows_least(const struct aggregate *a);
/* Next rows, at most `want` (and AGGREGATE_BLOCK): *ret_count * columns values, row by row,
 * borrowed until the next call. ERR_END. */
int aggregate_next(struct aggregate *a, size_t want, struct err *err, const struct value **ret,
                   size_t *ret_count);
/* From now on these columns (by number, borrowed) are not worked out and told as null; NULL: all
 * are told. */
void aggregate_leave_out(struct aggregate *a, const bool *columns);
/* Rows as columns, for formats that have columns: a block of rows, then those of its columns that
 * are known as such, then, if there are others, values. Keys are ranks: numbers of different keys
 * within a part of the answer (and a block is in one). */
enum { AGGREGATE_BLOCK = 512 };
enum aggregate_kind {
    AGGREGATE_RANK,
    AGGREGATE_CLASS, /* 0 event, 1 profile, 2 system */
    AGGREGATE_UINT,
    AGGREGATE_INT,
    AGGREGATE_WHOLE_US,
    AGGREGATE_NS
};
struct aggregate_vector {
    enum aggregate_kind kind;
    size_t nulls; /* of RANK not counted: keys may be null */
    int64_t *i;   /* all but RANK: AGGREGATE_BLOCK numbers, in room that the caller has set */
    uint32_t ranks[AGGREGATE_BLOCK];
    bool null[AGGREGATE_BLOCK]; /* not written without nulls; i is 0 there */
};
struct aggregate_block {
    size_t count;
    uint64_t part;
};
/* ERR_END; as aggregate_next */
int aggregate_next_block(struct aggregate *a, struct err *err, struct aggregate_block *ret);
/* Of the block at hand. False: *ret is anything, as are its numbers, and the column has to be told
 * as values. */
bool aggregate_block_column(struct aggregate *a, size_t column, struct aggregate_vector *ret);
/* Values as aggregate_next has them. */
int aggregate_block_values(struct aggregate *a, struct err *err, const struct value **ret);
/* Keys of a column by rank, in the part of the block at hand or in one below aggregate_whole_parts;
 * borrowed until the next block. How many. */
uint32_t aggregate_part_keys(const struct aggregate *a, uint64_t part, size_t column,
                             const uint64_t **ret);
/* Before the first row: all keys of these parts are told, and there are no other parts. 0: blocks
 * have to be looked at. */
unsigned aggregate_whole_parts(const struct aggregate *a);
/* What a column of whole numbers and times has, by column, without telling it. known: false where
 * it is not known. */
/* of a microsecond; any value but null */
enum { COLUMN_NUMBER = 1, COLUMN_FRACTION = 2, COLUMN_NEGATIVE = 4 };
int aggregate_survey(const struct aggregate *a, bool *known, unsigned *ret);
/* The value; its text is borrowed until close. */
int aggregate_key_value(const struct aggregate *a, size_t column, uint64_t key, struct value *ret);
void aggregate_rewind(struct aggregate *a); /* the cursor starts again */
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
