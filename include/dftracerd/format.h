/* format.h - writes answers as JSON, NDJSON, CSV, text, Perfetto traces, Arrow, collapsed stacks.
 *
 * May use:   base, trace, index, engine, answer.    Used by: rewrite, http, tools.
 * Threads:   each writer is used by one thread at a time.
 * All writers append to a struct buf, whose error is sticky: check buf.error once. Numbers are
 * exact integers and the shortest doubles that read back equal, times as decimal microseconds, NaN
 * and infinity as null.
 */
#ifndef DFTRACERD_FORMAT_H
#define DFTRACERD_FORMAT_H

#include "dftracerd/member.h"

struct aggregate;
struct call_tree;
struct comparison;
struct dlio_report;
struct info;
struct process_list;
struct rows;
struct rows_writer;
struct stats;
struct view_options;

enum format {
    FORMAT_JSON,
    FORMAT_NDJSON,
    FORMAT_CSV,
    FORMAT_TEXT,
    FORMAT_PFW,
    FORMAT_PERFETTO,
    FORMAT_ARROW,
    FORMAT_ARROW_STREAM,
    FORMAT_COLLAPSED,
    FORMAT_TAR,
    FORMAT_MARKDOWN,
    FORMAT_COLLAPSED_DIFF,
    FORMAT_YAML,
    FORMAT_COUNT
};
const char *format_name(enum format f);         /* "json" */
const char *format_content_type(enum format f); /* "application/json" */
int format_parse(struct text name, enum format *ret);

/* The JSON writer adds commas and nesting (`jw`, because jansson has the prefix json_). */

enum { JW_DEPTH_MAX = 96 }; /* nodes of /compare: 33 levels of a list and an object */
struct jw {
    struct buf *out;
    bool pretty;
    unsigned depth;
    bool nonempty[JW_DEPTH_MAX]; /* by depth: something was written */
    bool after_key;
    struct budget *budget; /* checked in long lists of objects; NULL: not checked */
};
void jw_init(struct jw *j, struct buf *out, bool pretty);
void jw_begin(struct jw *j, char bracket); /* '{' or '[' */
void jw_end(struct jw *j, char bracket);   /* '}' or ']' */
void jw_key(struct jw *j, const char *key);
void jw_key_text(struct jw *j, struct text key);
void jw_text(struct jw *j, struct text t); /* invalid UTF-8 becomes U+FFFD */
void jw_str(struct jw *j, const char *s);  /* NULL is null */
void jw_uint(struct jw *j, uint64_t u);
void jw_int(struct jw *j, int64_t i);
void jw_double(struct jw *j, double d);
void jw_bool(struct jw *j, bool b);
void jw_null(struct jw *j);
void jw_time_ns(struct jw *j, __int128 ns); /* decimal microseconds */
void jw_value(struct jw *j, const struct value *v);
/* Writes `n` numbers (MEMBER_UINT32, UINT64, TIME) that are `stride` bytes apart, as a list. */
void jw_numbers(struct jw *j, enum member_kind kind, const void *from, size_t stride, size_t n);
/* jw_put_* write a key and its value. */
void jw_put_text(struct jw *j, const char *key, struct text t);
void jw_put_str(struct jw *j, const char *key, const char *s);
void jw_put_uint(struct jw *j, const char *key, uint64_t u);
void jw_put_int(struct jw *j, const char *key, int64_t i);
void jw_put_double(struct jw *j, const char *key, double d);
void jw_put_bool(struct jw *j, const char *key, bool b);
void jw_put_time(struct jw *j, const char *key, __int128 ns);
void jw_put_value(struct jw *j, const char *key, const struct value *v);
void jw_finish(struct jw *j);                   /* writes the newline at the end */
void jw_escape(struct buf *out, struct text t); /* with the quotes */

/* ---- objects that tables of members describe (member.h) -------------------------------------- */

void jw_object(struct jw *j, const struct object_type *type, const void *object);
void jw_members(struct jw *j, const struct object_type *type, const void *object);
/* Writes a line of NDJSON. */
void format_line(const struct object_type *type, const void *object, struct buf *out);
/* Writes the JSON Schema of an object; a named type is written where it is defined, and referenced
 * elsewhere. */
void jw_schema(struct jw *j, const struct object_type *type);

/* An object as a document, written in pieces of about 64 KiB, cut between members and between the
 * items of lists, to a depth of 16 objects. Type and object are borrowed until the end. */
enum { DOCUMENT_DEPTH_MAX = 16 };
struct document {
    struct jw jw; /* jw.budget may be set after document_begin */
    struct document_object {
        const struct object_type *type;
        const void *object;
        size_t member, item;
        bool begun, in_list, whole_items; /* whole_items: items have no lists */
    } open[DOCUMENT_DEPTH_MAX];           /* the objects around the current position */
    unsigned depth;
    int64_t node; /* depth of the last item, in a list whose items nest; -1: none */
};
void document_begin(struct document *d, const struct object_type *type, const void *object,
                    bool pretty);
int document_next(struct document *d, struct buf *out); /* 0 more, ERR_END, or out->error */
/* Writes the whole object. Returns ERR_END or out->error. */
int format_object(const struct object_type *type, const void *object, bool pretty, struct buf *out);
/* Does the same; long lists check the budget, which may be NULL. */
int format_document(const struct object_type *type, const void *object, bool pretty,
                    struct budget *budget, struct buf *out);

/* ---- flat rows ------------------------------------------------------------------------------- */

/* JSON: {"rows":[ ... ]}\n ; NDJSON: an object for each row; CSV: RFC 4180 with header; TEXT:
 * aligned columns, whose widths are found from the first 1,000 rows or 8 MiB, and are 256 at
 * most. */
struct format_table;
int format_table_new(enum format f, const char *const *columns, size_t count,
                     struct format_table **ret);
void format_table_row(struct format_table *t, const struct value *values, struct buf *out);
void format_table_end(struct format_table *t, struct buf *out);
void format_table_free(struct format_table *t);
/* *new*: a table whose columns are the members of a type, none of which is a list. A member `p95`
 * of an object `duration` is the column `duration_p95`. `like` has the names of
 * MEMBER_VALUES_NAMED. */
int format_table_of(enum format f, const struct object_type *type, struct format_table **ret);
int format_table_like(enum format f, const struct object_type *type, const void *like,
                      struct format_table **ret);
/* Writes an object as a row. */
void format_table_object(struct format_table *t, const struct object_type *type, const void *object,
                         struct buf *out);
/* Writes a whole table of `count` objects. */
int format_list(enum format f, const struct object_type *type, const void *items, size_t count,
                struct buf *out);

/* Rows of /view in the same formats except TEXT. The workers that find rows write their text, from
 * columns, and a value that many rows of a chunk have is formatted once. rows_open borrows the
 * writer. *new*; returns 0, ERR_FORMAT or -ENOMEM. */
struct format_rows;
int format_rows_new(enum format f, const char *const *columns, size_t count,
                    struct format_rows **ret);
const struct rows_writer *format_rows_writer(const struct format_rows *f);
/* as rows_next_text */
int format_rows_next(struct format_rows *f, struct rows *rows, struct err *err, struct buf *out,
                     size_t *ret_count);
void format_rows_end(struct format_rows *f, struct buf *out);
void format_rows_free(struct format_rows *f);

/* ---- Arrow: typed columns as an IPC file or stream ------------------------------------------- */

/* The file: begin, each dictionary once, then batches, end. A file without its end has no footer, a
 * stream none of its closing words: neither is taken for whole. Memory: 24 bytes a batch; `columns`
 * are borrowed. */
enum arrow_type {
    ARROW_INT64,
    ARROW_UINT64,
    ARROW_DOUBLE,
    ARROW_BOOL, /* a bit a row */
    ARROW_TEXT  /* int32_t a row: position in the dictionary of the column */
};
struct arrow_column {
    const char *name;
    enum arrow_type type;
    const char *unit; /* stored as metadata; NULL: none */
};
struct arrow_data {
    const void *values; /* of all rows, including null ones */
    const void *valid;  /* a bit for each row, 0 = null, lowest first; not read without nulls */
    size_t nulls;
};
struct arrow;
/* Returns 0 or -ENOMEM. */
int arrow_new(const struct arrow_column *columns, size_t count, bool file, struct arrow **ret);
void arrow_begin(struct arrow *a, struct buf *out);
/* Writes texts 0 to count - 1 of an ARROW_TEXT column; invalid UTF-8 becomes U+FFFD. Returns 0,
 * ERR_MEMORY_LIMIT for 2 GiB and more, or -ENOMEM. */
int arrow_dictionary(struct arrow *a, size_t column, struct text (*text)(void *arg, uint32_t i),
                     void *arg, uint32_t count, struct buf *out);
/* Begins a batch of rows; then call arrow_batch_column for each of its columns, in order. Returns 0
 * or -ENOMEM. */
int arrow_batch(struct arrow *a, const struct arrow_data *data, size_t rows, struct buf *out);
void arrow_batch_column(struct arrow *a, size_t column, const struct arrow_data *data,
                        struct buf *out);
/* Does the same without a copy, if nothing is null and `out` is empty: *values, a malloced block of
 * `size` bytes, becomes owned by `out`, and is replaced by another block of that size with
 * undefined content. Returns false if nothing was done. */
bool arrow_batch_column_given(struct arrow *a, size_t column, void **values, size_t size,
                              struct buf *out);
void arrow_end(struct arrow *a, struct buf *out);
void arrow_free(struct arrow *a);

/* ---- whole answers --------------------------------------------------------------------------- */

/* Writes /stats as JSON, NDJSON or CSV (groups or counts, one row each), or TEXT (the tables of
 * dftracer_stats). */
int format_stats(const struct stats *s, enum format f, bool pretty, struct buf *out);
/* Writes one file with the keys of the old dftracer_stats --json, as a value; without `s` the
 * error. */
void format_stats_file(const struct stats *s, const char *path, const char *error, struct jw *j);
/* The JSON answer of format_stats, or a list of such files. */
extern const struct object_type stats_answer_type;
/* Writes /info as text. */
void format_info_text(const struct info *i, struct buf *out);

/* Writes /processes piece by piece: JSON (the tree), NDJSON and CSV (one row for each process, in
 * the order of the tree), TEXT (indented). */
struct format_processes_options {
    enum format format;
    bool pretty;
    uint64_t limit, offset; /* in rows; JSON has the whole tree */
};
struct format_processes;
/* *new*; borrows its arguments. Returns 0, ERR_FORMAT or -ENOMEM. */
int format_processes_new(const struct process_list *l, const struct format_processes_options *o,
                         struct format_processes **ret);
/* Returns 0 if there is more, ERR_END, or out->error. */
int format_processes_next(struct format_processes *f, struct buf *out);
void format_processes_free(struct format_processes *f);

/* Writes /compare as JSON, NDJSON and CSV (one row for each metric and variant), TEXT (a tree of
 * metrics) or MARKDOWN (a table). */
struct format_compare_options {
    enum format format;
    bool pretty, terminal, color; /* TEXT: box drawing, colours */
    struct budget *budget;        /* borrowed; checked in long lists; NULL: not checked */
};
int format_compare(const struct comparison *c, const struct format_compare_options *o,
                   struct buf *out);
extern const struct object_type compare_type, compare_row_type;

/* Writes /dlio-config as YAML (the configuration), JSON, or TEXT (the report). Returns 0,
 * ERR_FORMAT or -ENOMEM. */
int format_dlio(const struct dlio_report *r, enum format f, bool pretty, struct buf *out);

/* Writes /aggregate piece by piece: NDJSON, JSON ({"rows":[...], "files", "damaged_files", ...}),
 * CSV, TEXT, and PERFETTO (the pipeline only): strict JSON in which a pid is one process of one
 * host, and slices of a lane nest. */
enum aggregate_events {
    AGGREGATE_COUNTER,
    AGGREGATE_ASYNC,
    AGGREGATE_REGULAR,
    AGGREGATE_DFTRACER /* counters with all columns, as the old command wrote them */
};
/* How times are written for Perfetto, which reads doubles of microseconds. FITTING: absolute, or
 * relative to the first time if one would lose its fraction. ABSOLUTE: whole microseconds if
 * necessary. RELATIVE: to the first time. */
enum perfetto_times { PERFETTO_FITTING, PERFETTO_ABSOLUTE, PERFETTO_RELATIVE };
struct format_aggregate_options {
    enum format format;
    bool pretty, summary;         /* summary: a last line {"summary":{...}} (NDJSON) */
    enum aggregate_events events; /* of PERFETTO */
    enum perfetto_times times;    /* of PERFETTO */
    int64_t started_ns;           /* start of the request, for the summary */
    struct budget *budget;        /* borrowed */
};
struct format_aggregate;
/* *new*; borrows aggregate and query. Returns 0, ERR_FORMAT, ERR_PARAM or -ENOMEM. */
int format_aggregate_new(struct aggregate *a, struct query *q,
                         const struct format_aggregate_options *o, struct err *err,
                         struct format_aggregate **ret);
/* Returns the minimum number of bytes still to come; 0: unknown. */
uint64_t format_aggregate_min_bytes(const struct format_aggregate *f);
/* Returns 0 if there is more, ERR_END, or an error. */
int format_aggregate_next(struct format_aggregate *f, struct err *err, struct buf *out);
void format_aggregate_free(struct format_aggregate *f);
extern const struct object_type format_aggregate_type;

/* The events of /view as a trace for Perfetto: (host, pid) identifies a process, and slices nest in
 * lanes. Events with a dur are slices, counters and aggregated records are counters of their
 * numbers, all other objects with ts are instants; those without are omitted. query and budget are
 * borrowed; options as of view_open, without follow. Returns 0, ERR_CORRUPT, ERR_MEMORY_LIMIT, or
 * another error of the query. */
struct perfetto_view;
int perfetto_view_new(struct query *q, const struct view_options *options,
                      enum perfetto_times times, struct budget *budget, struct err *err,
                      struct perfetto_view **ret);
/* Returns 0 if there is more, ERR_END, or an error. */
int perfetto_view_next(struct perfetto_view *v, struct err *err, struct buf *out);
void perfetto_view_rest(struct perfetto_view *v); /* as view_pause */
void perfetto_view_free(struct perfetto_view *v); /* NULL-safe */

/* Writes /call-tree piece by piece: JSON (the folded tree), TEXT, COLLAPSED (stacks with the
 * microseconds of their own), NDJSON (one event for each row), PERFETTO (strict JSON; args id,
 * parent_id, depth). The last two need call_tree_options.events. */
struct format_call_tree_options {
    enum format format;
    bool pretty, summary;   /* as of /aggregate */
    const char *focus;      /* as requested, or NULL */
    bool callees, callers;  /* which parts, if there is a focus */
    uint64_t limit, offset; /* of NDJSON: in rows */
    int64_t started_ns;
    struct budget *budget; /* borrowed */
};
struct format_call_tree;
/* *new*; borrows the tree. Returns 0, ERR_FORMAT or -ENOMEM. */
int format_call_tree_new(struct call_tree *t, const struct format_call_tree_options *o,
                         struct format_call_tree **ret);
/* Returns 0 if there is more, ERR_END, or an error. */
int format_call_tree_next(struct format_call_tree *f, struct buf *out);
void format_call_tree_free(struct format_call_tree *f);
/* Writes the stacks of two folded trees, each once, as `stack before after`: those of the first
 * tree in its order, then those that only the second has. Returns 0, -ENOMEM, or an error of the
 * budget. */
int format_call_tree_diff(struct call_tree *const trees[2], struct budget *budget, struct buf *out);
extern const struct object_type format_call_tree_type, format_call_tree_line_type;

#endif
