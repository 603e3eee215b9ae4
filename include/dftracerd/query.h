/* query.h - questions: which events, and what about them.
 *
 * May use:   base, measure, trace, index; PCRE2 (src/engine/lang/pattern.c only). Used by: format,
 *            rewrite, http, tools.
 * Way:       selection -> query_open (files pruned by catalog, DSL compiled, chunks pruned by zone
 *            maps, dictionaries and bloom filters) -> scan (chunks are morsels, batches of 2,048
 *            rows, selection vectors) -> stats, view or rows.
 * Threads:   a query and its cursors belong to one thread at a time; inside, work is spread with
 *            pool_run over query_env.pool. budget.cancelled may be set from any thread.
 * Determinism: the same selection on the same generation gives the same answer whatever the number
 * of threads.
 * Transactions: none is open between calls: a cursor keeps a position and its snapshot only.
 */
#ifndef DFTRACERD_QUERY_H
#define DFTRACERD_QUERY_H

#include "dftracerd/index.h"

/* ---- values as answers tell them ------------------------------------------------------------- */

enum value_type {
    VALUE_NULL,
    VALUE_INT,    /* .i */
    VALUE_UINT,   /* .u: counts and sizes of ours */
    VALUE_WIDE,   /* .wide: exact sums beyond 64 bits */
    VALUE_TIME,   /* .wide in ns, told as decimal microseconds */
    VALUE_DOUBLE, /* .d; NaN and infinity are told as null */
    VALUE_BOOL,   /* .i 0 or 1 */
    VALUE_TEXT,   /* .text UTF-8 */
    VALUE_JSON,   /* .text is JSON already (arrays, {}, integers beyond 64 bits) */
};
struct value {
    enum value_type type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        struct text text;
    };
    __int128 wide;
};
/* Order of answers: null first, then numbers by value, then booleans, then texts by bytes. */
int value_cmp(const struct value *a, const struct value *b);
/* What comes first in that order: null, numbers, booleans, texts, other JSON. */
enum { VALUE_RANK_TEXT = 3 };
int value_rank(const struct value *v);
/* Of whole numbers and times, in units of 1/1000: two that have it are in its order. False: no such
 * value, or it is too large. */
bool value_whole(const struct value *v, __int128 *ret);
/* The nearest double, of times in us; `other` for what is not a number. */
double value_double(const struct value *v, double other);

/* ---- columns --------------------------------------------------------------------------------- */

/* The columns that a query knows by name in every trace. Any other name is that of an argument. */
enum column_unit { UNIT_NONE, UNIT_US, UNIT_BYTES };
struct query_column {
    const char *name;
    const char *type; /* of its values, as /schema writes it; "mixed": texts and numbers */
    enum column_unit unit;
    bool derived;     /* computed: there even if /schema, which lists what is stored, has none */
    bool event;       /* a member of `columns` in answers of /event */
    const char *help; /* half a sentence */
};
size_t query_column_count(void);
/* i < query_column_count(); static memory. */
const struct query_column *query_column(size_t i);
/* NULL: no column of this name. */
const struct query_column *query_column_find(struct text name);

/* ---- which events ---------------------------------------------------------------------------- */

enum {
    PHASE_EVENTS = 1 << TRACE_EVENT,
    PHASE_COUNTERS = 1 << TRACE_COUNTER,
    PHASE_AGGREGATED = 1 << TRACE_AGGREGATED,
    PHASE_METADATA = 1 << TRACE_METADATA,
    PHASE_DATA = 7,
    PHASE_ANY = 15
};

/* The parameters by which all queries select events. Zero means "not given"; texts borrowed for the
 * life of the query. selection_init sets defaults. */
struct selection {
    /* root-relative, label/..., or absolute; globs in files */
    const char *const *dirs, *const *files;
    size_t dir_count, file_count;
    const uint32_t *positions; /* in the snapshot: these files, whatever dirs and files; or NULL */
    size_t position_count;
    bool not_recursive;
    struct text query;                /* DSL; empty = everything */
    const char *preset;               /* "io", "compute", "dlio" or NULL */
    bool has_time_range, overlap;     /* overlap: [ts, ts+dur] meets the window */
    int64_t time_from_ns, time_to_ns; /* both inclusive */
    bool has_min_duration, has_max_duration;
    int64_t min_duration_ns, max_duration_ns; /* inclusive */
    unsigned phases;                          /* PHASE_ bits */
    /* ptr not NULL: only what shares time with an event of these files that
     * matches this query (empty: any event) */
    struct text within;
    /* ... in the same one */
    enum within_scope { WITHIN_PROCESS, WITHIN_THREAD, WITHIN_HOST, WITHIN_ALL } within_scope;
    bool clip;       /* dur: what lies inside of such events; ts: from where on */
    bool may_vanish; /* a `file` or `dir` that does not exist is an empty choice */
};
void selection_init(struct selection *s); /* all files, recursive, PHASE_DATA */

/* What all queries share. Borrowed by each query for its life. */
struct query_env {
    struct index *index;
    struct pool *pool; /* query workers; NULL = only the calling thread */
    const char *const *root_paths,
        *const *root_labels; /* to understand absolute dir/file; labels "" with one root */
    size_t root_count;
    uint64_t max_groups;           /* 0 = 10 M; more is ERR_ROW_LIMIT */
    struct covered_cache *covered; /* see below; NULL = found again by each query */
};
/* Which calls of a file the column bytes leaves out, from query to query: at most 16 MiB. *new*;
 * NULL without memory. */
struct covered_cache *covered_cache_new(void);
void covered_cache_free(struct covered_cache *c);

struct query;
/* Takes a reference to the snapshot. ERR_QUERY_SYNTAX (err.position, err.source), ERR_PARAM
 * (err.param), ERR_NOT_FOUND (a `file` without glob, or a `dir`, that does not exist), -ENOMEM,
 * ERR_PATTERN_LIMIT. budget borrowed. */
int query_open(const struct query_env *env, struct snapshot *snapshot,
               const struct selection *selection, struct budget *budget, struct err *err,
               struct query **ret);
void query_close(struct query *q);
struct snapshot *query_snapshot(const struct query *q); /* borrowed */
struct index *query_index(const struct query *q);
/* Files selected, ordered by name: positions in the snapshot. */
size_t query_files(const struct query *q, const uint32_t **ret);
/* none of them pending, indexing or growing, nor perhaps unseen */
bool query_complete(const struct query *q);
/* True when nothing but dir/file/phase restricts the objects, so that summaries can answer. */
bool query_unfiltered(const struct query *q);

struct query_counters {
    uint64_t files, damaged_files, chunks_total, chunks_scanned, chunks_skipped,
        chunks_from_summary, rows_scanned, rows_selected, name_conflicts;
    uint64_t generation;
};
void query_counters(const struct query *q, struct query_counters *ret);

/* Objects selected of each file of query_files, in that order: *exact*, from the catalog where
 * nothing is filtered. */
int query_count_files(struct query *q, struct err *err, uint64_t *ret_counts);
/* Of the first QUERY_LOOKED_AT columns that the filter names (not its preset) those that no object
 * of the selected files has, as written. `ret`: room for so many; texts borrowed from the query. A
 * count, -ENOMEM, or an error of the budget or store. Between scans. */
enum { QUERY_LOOKED_AT = 16 };
int query_unknown(struct query *q, struct text *ret);

/* Only the choice of files (for /info): positions in the snapshot, *new* array. */
int query_select_files(const struct query_env *env, struct snapshot *snapshot,
                       const struct selection *selection, struct err *err, uint32_t **ret,
                       size_t *ret_count);

/* The choice of archives: those that are chosen themselves, and those that hold what is. */
int query_select_archives(const struct query_env *env, struct snapshot *snapshot,
                          const struct selection *selection, struct err *err, uint32_t **ret,
                          size_t *ret_count);

/* False where a directory that cannot be read may have files that would be chosen: those that are
 * known are answered. */
bool query_select_whole(const struct query_env *env, const struct snapshot *snapshot,
                        const struct selection *selection);

/* A directory as `dir` names it: *new* descriptor; -ENOENT: there is none in a root; -errno. */
int query_open_dir(const struct query_env *env, const char *dir);

/* DSL alone: parse, and print back in canonical form (fully parenthesised): for tests, keys of
 * caches, and fuzzing. */
int query_normalise(struct text dsl, struct err *err, struct buf *out);
/* The column in which the values of a path of the language stand ("ret": args.ret), in the arena.
 * -EINVAL where it is derived (te, host ...) or no path; -ENOMEM. */
int query_stored_path(struct text path, struct arena *arena, const char **ret);

/* ---- /stats ---------------------------------------------------------------------------------- */

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
int stats_report_parse(struct text name, enum stats_report *ret);
const char *stats_report_name(enum stats_report r);

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
/* A measured quantity; all null when count == 0, std when count < 2. In us, bytes, bytes/s. */
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
    uint64_t count;
    struct measured duration, size, bandwidth, offset;
};
struct stats_bin {
    double lo, hi;
    uint64_t count;
};
struct stats {
    enum stats_report report;
    struct query_counters counters;
    bool complete;
    uint64_t failed_files; /* of the selected ones */
    int64_t elapsed_ns;
    uint64_t events; /* objects selected */
    struct value min_ts, max_te, span;
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
    size_t charged;        /* of it to the budget, until stats_free */
    struct budget *budget; /* of the query, borrowed: who tells long lists asks it; may be NULL */
};
/* *new* */
int stats_run(struct query *q, const struct stats_options *options, struct err *err,
              struct stats **ret);
void stats_free(struct stats *s);

/* ---- /schema --------------------------------------------------------------------------------- */

struct schema_column {
    struct text path; /* as in queries */
    const char *type; /* "int", "float" (ints among them, too), "string", "bool", "mixed" */
    uint64_t rows, distinct;
    /* beyond 16,384 values: within some 3 %; the path has bloom filters */
    bool distinct_exact, bloom;
    struct value min, max; /* null where mixed */
};
/* by path; the arena owns all */
struct schema {
    struct schema_column *columns;
    size_t count;
    struct arena arena;
};
int schema_run(struct query *q, struct err *err, struct schema **ret); /* *new* */
void schema_free(struct schema *s);

/* ---- /processes ------------------------------------------------------------------------------ */

/* A process: (host, pid). What its selected objects come to, and what records of the selected files
 * say of it. */
struct process_info {
    struct value host, rank, command, exec, cwd;
    int64_t pid, parent_pid;
    /* NULL: unknown. "ppid" of its start, "fork" or "spawn" that returned its pid (also vfork,
     * also in other files); "file": a guess, it stands in a file named after another */
    const char *parent_by;
    uint32_t depth; /* below parents that have selected objects, too */
    /* objects; files: with any object of it, `file` is the first */
    uint64_t events, threads, files;
    const char *file;            /* borrowed from the snapshot */
    struct value first, last;    /* ts, te */
    struct value bytes, io_time; /* io_time: durations of cat POSIX and STDIO */
    struct value finished;       /* has an end record; null: neither that nor a start */
};
struct process_list {
    struct process_info *rows; /* parents before their children; else by host, pid */
    size_t count;
    uint64_t events, without_process; /* selected objects; of them: without a pid */
    struct query_counters counters;
    bool complete;
    struct budget *budget;
    size_t charged;
    struct arena arena;
};
/* *new*; needs the snapshot of q */
int processes_run(struct query *q, struct err *err, struct process_list **ret);
void processes_free(struct process_list *l);

/* ---- /view: lines ---------------------------------------------------------------------------- */

struct view_options {
    bool order_ts;          /* merge all files by (ts, file, line); objects without ts first */
    bool no_metadata;       /* leave out the FH, HH, SH and process records events refer to */
    uint64_t limit, offset; /* in data objects; limit UINT64_MAX = all */
    /* NULL; else of follow_query: lines whose file has changed are left for later */
    struct follow *follow;
};
struct view;
int view_open(struct query *q, const struct view_options *options, struct err *err,
              struct view **ret);
/* Appends the next lines, each with '\n', at most about `want` bytes (at least one line). 0,
 * ERR_END, or an error. Reads text in parallel and ahead within the memory budget. */
int view_next(struct view *v, size_t want, struct buf *out, struct err *err);
/* data objects so far, without the records they needed */
uint64_t view_written(const struct view *v);
/* After ERR_END: goes on with the objects of another query (in file order only). Limit, offset and
 * the records that are written go on, too. False as result of view_may_go_on: the limit has been
 * reached. The query before is needed until it returns. */
int view_go_on(struct view *v, struct query *q, struct err *err);
bool view_may_go_on(const struct view *v);
/* Between calls, when the next one will not come soon: gives back the memory of what can be read
 * again. */
void view_rest(struct view *v);
void view_close(struct view *v);
/* count_only */
int view_count(struct query *q, uint64_t limit, uint64_t offset, struct err *err, uint64_t *ret);

/* ---- rows: select=name,dur,args.ret ---------------------------------------------------------- */

/* Rows as text: made column by column, on the threads that find them. */
enum rows_kind { ROWS_INT, ROWS_NS, ROWS_DOUBLE, ROWS_CODE, ROWS_VALUE };
struct rows_column {
    enum rows_kind kind;
    const int64_t *i; /* INT, NS (nanoseconds, told as decimal microseconds); by row of the batch */
    const double *d;  /* DOUBLE; likewise */
    const uint64_t *valid; /* of these: a bit a row, 0 = null; NULL: none is null */
    const uint32_t *code;  /* CODE: by row; < `codes`. query_key_value(keys[code]) is the value */
    const uint64_t *keys;
    uint32_t codes;
    const struct value *values; /* VALUE: by position among the selected rows */
};
struct rows_batch {
    struct query *query;
    const struct rows_column *columns; /* as many as were asked for; all borrowed for the call */
    const uint16_t *select;            /* rows of the batch, ascending; NULL: row k is number k */
    uint32_t count;                    /* selected rows */
    size_t most;                       /* out->len beyond it is ERR_MEMORY_LIMIT */
};
struct rows_writer {
    void *arg;
    /* A state for one thread and one chunk, whose codes mean the same in all its batches. `done`
     * also after errors. */
    int (*begin)(void *arg, struct budget *budget, void **ret_state);
    /* Appends a text a row; ret_end[k]: where that of row k ends in `out`. An error ends the
     * answer. */
    int (*write)(void *state, const struct rows_batch *b, struct buf *out, size_t *ret_end);
    void (*done)(void *state);
};
/* texts borrowed from the query */
void query_key_value(struct query *q, uint64_t key, struct value *ret);
struct rows_options {
    const char *const *columns;
    size_t column_count;
    bool order_ts;
    uint64_t limit, offset;
    const struct rows_writer *writer; /* borrowed until rows_close; NULL: values */
};
struct rows;
int rows_open(struct query *q, const struct rows_options *options, struct err *err,
              struct rows **ret);
/* Next batch: `*ret_values` holds count * column_count values, row by row, borrowed until the next
 * call. ERR_END. */
int rows_next(struct rows *r, struct err *err, const struct value **ret_values, size_t *ret_count);
/* With a writer instead: appends the texts of the next rows. */
int rows_next_text(struct rows *r, struct err *err, struct buf *out, size_t *ret_count);
/* As view_go_on: after ERR_END, in file order. */
int rows_go_on(struct rows *r, struct query *q, struct err *err);
bool rows_may_go_on(const struct rows *r);
void rows_rest(struct rows *r); /* as view_rest; what rows_next gave is gone */
void rows_close(struct rows *r);

/* ---- /aggregate ------------------------------------------------------------------------------ */

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
enum vector_kind {
    VECTOR_RANK,
    VECTOR_CLASS,
    /* 0 event, 1 profile, 2 system */ VECTOR_UINT,
    VECTOR_INT,
    VECTOR_US,
    VECTOR_NS
};
struct aggregate_vector {
    enum vector_kind kind;
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

/* ---- /timeline ------------------------------------------------------------------------------- */

/* What a window of time looks like: lanes (threads, unless asked otherwise) by columns of equal
 * width, and the longest objects one by one. Cost: one scan, however far the window reaches. An
 * object without dur takes no time; one without ts is in no window. Times are clamped to 64 bits of
 * ns. */
enum { TIMELINE_WIDTH_MAX = 8192, TIMELINE_EVENTS_MAX = 50000, TIMELINE_COLORS_MAX = 4096 };
struct timeline_options {
    const char *const *group_by; /* columns that tell lanes apart; none: one lane */
    size_t group_by_count;
    const char *color; /* a column */
    uint32_t colors;   /* so many of its values are told, see timeline_color; 0: all */
    /* these are told instead (VALUE_TEXT, INT, DOUBLE, BOOL); NULL: none are chosen */
    const struct value *color_values;
    size_t color_value_count;
    bool has_window;        /* else from the first begin to the last end of the selection */
    bool overlap;           /* the time_range selects what reaches into the window, too */
    int64_t from_ns, to_ns; /* both inclusive; the selection has to have this time_range, too */
    uint32_t width;         /* columns, about: those of whole ns that fit best */
    uint32_t events;        /* so many of the longest objects are told one by one */
    bool slices;            /* timeline_slice() is called */
};
struct timeline_facts {
    struct query_counters counters;
    bool complete;
    int64_t from_ns, to_ns;
    uint64_t column_ns; /* column i is [from + i * column, from + (i + 1) * column) */
    /* columns 0: nothing is selected and no window is given */
    uint32_t columns, lanes, colors, events;
    uint64_t objects, untimed;   /* in the window; selected ones without ts */
    __int128 busy_ns;            /* of all lanes */
    uint32_t names, slice_files; /* of slices */
    uint32_t slices_most;        /* of a lane and depth */
    bool slices_complete;        /* all objects were considered for slices ... */
    uint64_t slices_least_ns;    /* ... else those that are at least so long */
};
/* count: objects; busy_ns: the time that they take within the window (nested ones count each). */
/* before: those of `count` that began before the window. */
struct timeline_lane {
    const struct value *keys;
    uint64_t count, before;
    __int128 busy_ns;
};
/* Of more values than timeline_options.colors, null apart: if all of them are numbers each bin is
 * those of [value, below), both powers of two or 0 (times in us, VALUE_INT or VALUE_DOUBLE; null:
 * -inf, inf); else the most frequent ones, and the `others`, so many of them (0: color_values were
 * given, and nobody has counted), are one color without a value. */
struct timeline_color {
    struct value value, below;
    bool is_bin, is_others;
    uint64_t others, count;
    __int128 busy_ns;
};
/* count: objects that begin in the column (in the first one also those that began before), color:
 * that has most of busy_ns, then most of count, then the first. */
struct timeline_cell {
    uint32_t column, color;
    uint64_t count;
    __int128 busy_ns;
};
struct timeline_event {
    uint32_t lane, color;
    __int128 ts_ns, dur_ns; /* not cut at the window */
    bool has_dur;
    struct value name, cat;
    uint32_t file;   /* position in the snapshot */
    uint64_t object; /* of the file: how many stand before it */
};
/* An object as it is drawn. depth: how many objects of its lane are around it, the same in every
 * window with `overlap`. column: the first in which it is the longest of its depth; it is in all up
 * to the next slice or its end. others: objects of that depth that begin in these columns and are
 * no slices. In windows of few objects each is a slice. */
struct timeline_slice {
    /* name, file: positions in timeline_names, timeline_files */
    uint32_t depth, column, others, color, name, file;
    uint64_t object;
    /* from the window's start; neither is cut at it; dur: 0 where there is none */
    __int128 start_ns, dur_ns;
};
struct timeline_name {
    struct value name, cat;
};
struct timeline;
/* ERR_PARAM (err.param), ERR_MEMORY_LIMIT: too many lanes, colors or columns; ... Borrows the query
 * until close. */
int timeline_open(struct query *q, const struct timeline_options *o, struct err *err,
                  struct timeline **ret);
/* All borrowed until close. Lanes and colors are in the order of their keys, events the longest
 * first. */
const struct timeline_facts *timeline_facts(const struct timeline *t);
const struct timeline_lane *timeline_lanes(const struct timeline *t);
const struct timeline_color *timeline_colors(const struct timeline *t);
const struct timeline_event *timeline_events(const struct timeline *t);
/* Cells of a lane that are not empty, into room for `columns` of them; how many. */
size_t timeline_cells(struct timeline *t, size_t lane, struct timeline_cell *ret);
/* The same of objects that are shorter than slices_least_ns. */
size_t timeline_rest(const struct timeline *t, size_t lane, struct timeline_cell *ret);
/* Slices of a lane, by depth, then column, then start; and what they refer to: names, and files by
 * position in the snapshot. */
size_t timeline_slice_count(const struct timeline *t, size_t lane);
void timeline_slice(const struct timeline *t, size_t lane, size_t i, struct timeline_slice *ret);
const struct timeline_name *timeline_names(const struct timeline *t);
const uint32_t *timeline_files(const struct timeline *t);
void timeline_close(struct timeline *t);

/* ---- /histogram and /event ------------------------------------------------------------------- */

/* Of the numbers of a column; times in us. Bins that have any. */
struct value_histogram {
    struct query_counters counters;
    bool complete;
    uint64_t objects, values; /* selected; that have a number there */
    uint64_t outside;         /* powers of two: numbers below 0 or beyond 2^64 */
    struct stats_bin *bins;
    size_t count;
    struct arena arena;
};
/* bins 0: as struct histogram; else so many of equal width from the least to the greatest value,
 * both of which are in a bin (doubles: beyond 2^53 near the right ones). *new*. ERR_PARAM
 * (err.param "column"), ... */
int histogram_run(struct query *q, const char *column, uint32_t bins, struct err *err,
                  struct value_histogram **ret);
void histogram_free(struct value_histogram *h);

/* From now on the first object that is selected is this one, if it is selected: the `object`-th of
 * the file, from 0 on. Before the first scan. ERR_NOT_FOUND: the file does not have so many. */
int query_begin_at(struct query *q, uint32_t file, uint64_t object);

/* ---- /find ----------------------------------------------------------------------------------- */

/* Selected objects with ts in the order of time (those of one time by file and place): which comes
 * next, or came last. */
struct find_options {
    bool backward;  /* the last one before, not the first one after */
    bool has_at;    /* else the first or last of all */
    __int128 at_ns; /* this time counts as after and as before */
    bool has_place; /* has_at: strictly after or before the object there */
    uint32_t file;  /* position in the snapshot */
    uint64_t object;
};
struct find_found {
    uint64_t objects, untimed; /* selected ones with ts; without */
    uint64_t position;         /* of the found one among them, from 1 on; 0: there is none */
    uint32_t file;
    uint64_t object; /* of the file: how many stand before it */
    struct query_counters counters;
    bool complete;
};
/* One scan of what is selected. ERR_MEMORY_LIMIT ... */
int query_find(struct query *q, const struct find_options *o, struct find_found *ret,
               struct err *err);

/* ---- following: what comes after an answer --------------------------------------------------- */

/* What has been told of each file. Keeps the snapshot of the last query, and earlier ones as long
 * as a file that was in them is being read anew or is gone (two minutes at most, then it would be a
 * new one). One thread at a time. */
struct follow;
/* `want`: files that are pending are asked for (index_want), also those that come later. */
int follow_new(bool want, struct follow **ret);
void follow_free(struct follow *f);
/* Opens the query of what is new in `snapshot`: the first time everything, later the objects that
 * did not stand at the same byte of the text of the same file, after the same objects, when the
 * query before was opened, which counts as told. A file read anew with the same content has none,
 * one that was replaced those from the first difference on, and of X and X.gz with equal texts only
 * one has any. *ret NULL: nothing new. The budget is borrowed until follow_free. */
int follow_query(struct follow *f, const struct query_env *env, struct snapshot *snapshot,
                 const struct selection *selection, struct budget *budget, struct err *err,
                 struct query **ret);

/* ---- /organize: the text of files, shared out ------------------------------------------------ */

/* Every byte of the text of the files of `all`, in (file, text) order. An object of data (with the
 * lines it stands in) goes to the first group that selects it, else to the rest; a metadata record
 * with the next object of data of its chunk, else with the one before; lines without an object to
 * the rest, but short ones of brackets and blanks alone (at most four bytes and '\n') to
 * SHARE_BRACKETS. Each target's part is cut into output files, before whose objects the records
 * stand that they refer to. */
#define SHARE_GROUPS_MAX 256
#define SHARE_BRACKETS 0xFFFFu
struct share_options {
    struct query *all;           /* of PHASE_ANY, without a filter */
    struct query *const *groups; /* of the same snapshot and files */
    uint32_t group_count;        /* at most SHARE_GROUPS_MAX; as number of a target: the rest */
    uint64_t file_bytes;         /* text of an output file, one line at least */
};
/* Texts are borrowed until the next call. */
struct share {
    uint32_t file; /* position in the snapshot */
    uint32_t target;
    bool begins;       /* a new output file of the target begins */
    struct text added; /* lines of no source that stand before the text in the output */
    uint64_t added_lines;
    struct text text; /* as it stands in the source */
    uint64_t lines;   /* ended by '\n', and the last one if it is `cut` */
    uint64_t objects; /* of data */
    bool cut;         /* text ends without a '\n', which the output needs, the source has not */
};
struct sharing;
/* Borrows the queries until share_close; groups array copied. Memory: some pieces of 4 MiB of text
 * for each thread. */
int share_open(const struct share_options *o, struct err *err, struct sharing **ret);
/* ERR_END; ERR_STALE (a file changed), ERR_CORRUPT, ERR_MEMORY_LIMIT ... A line of many MiB comes
 * in several shares. */
int share_next(struct sharing *s, struct err *err, struct share *ret);
void share_close(struct sharing *s);

/* ---- /read: a part of one file's text -------------------------------------------------------- */

enum text_mode {
    TEXT_BYTES,      /* [start, end) */
    TEXT_LINE_BYTES, /* the lines that lie wholly in [start, end) */
    TEXT_LINES
}; /* lines start to end, both inclusive, the first is 1 */
struct text_range;
/* end UINT64_MAX = to the end of the text. snapshot, budget borrowed. ERR_STALE, ERR_CORRUPT,
 * -errno. */
int text_range_open(struct index *ix, struct snapshot *snapshot, const struct index_file *file,
                    enum text_mode mode, uint64_t start, uint64_t end, struct budget *budget,
                    struct err *err, struct text_range **ret);
/* at most 64 KiB; ERR_END */
int text_range_next(struct text_range *r, struct buf *out, struct err *err);
void text_range_close(struct text_range *r);

#endif
