/* format.h - answers to bytes: JSON, NDJSON, CSV, text tables; later Perfetto, Arrow, collapsed stacks.
 *
 * May use:   base, measure, trace, index, query.    Used by: rewrite, http, tools.
 * Threads:   values; one thread at a time each.
 * All writers append to a struct buf, whose error is sticky: check buf.error once. Numbers follow API.md section 1: exact
 * integers, shortest doubles, times as decimal microseconds, NaN and infinity as null.
 */
#ifndef DFTRACERD_FORMAT_H
#define DFTRACERD_FORMAT_H

#include "dftracerd/query.h"

enum format { FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT, FORMAT_PFW, FORMAT_PERFETTO, FORMAT_ARROW,
              FORMAT_ARROW_STREAM, FORMAT_COLLAPSED, FORMAT_COUNT };
const char *format_name(enum format f);            /* "json"                         */
const char *format_content_type(enum format f);    /* "application/json"             */
int format_parse(struct text name, enum format *ret);

/* ---- JSON writer: commas and nesting are its business --------------------------------------------------- */

struct json { struct buf *out; bool pretty; unsigned depth; uint64_t nonempty; bool after_key; };
void json_init(struct json *j, struct buf *out, bool pretty);
void json_begin(struct json *j, char bracket);     /* '{' or '[' */
void json_end(struct json *j, char bracket);       /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_key_text(struct json *j, struct text key);
void json_text(struct json *j, struct text t);     /* invalid UTF-8 becomes U+FFFD */
void json_str(struct json *j, const char *s);      /* NULL is null */
void json_uint(struct json *j, uint64_t u);
void json_int(struct json *j, int64_t i);
void json_double(struct json *j, double d);
void json_bool(struct json *j, bool b);
void json_null(struct json *j);
void json_time_ns(struct json *j, __int128 ns);    /* decimal microseconds */
void json_value(struct json *j, const struct value *v);
void json_finish(struct json *j);                  /* the newline at the end */
void json_escape(struct buf *out, struct text t);  /* with the quotes */

/* ---- flat rows --------------------------------------------------------------------------------------------- */

/* JSON: {"rows":[ ... ]<members of `tail`>}\n ; NDJSON: an object a row; CSV: RFC 4180 with header; TEXT: aligned columns
 * (needs all rows: format_table collects up to 1,000 rows to find widths, then goes on with these widths). */
struct format_table;
int format_table_new(enum format f, const char *const *columns, size_t count, struct format_table **ret);
void format_table_row(struct format_table *t, const struct value *values, struct buf *out);
void format_table_end(struct format_table *t, struct buf *out);
void format_table_free(struct format_table *t);

/* ---- whole answers --------------------------------------------------------------------------------------------- */

/* /stats as API.md section 5 has it: JSON, NDJSON (groups or counts, a row each), CSV (likewise), TEXT (the tables of commands-behaviour 5.3). */
int format_stats(const struct stats *s, const char *query, enum format f, bool pretty, struct buf *out);
/* /info. `detail`: 0 totals, 1 with files, 2 with chunks and columns. */
struct format_info_options { unsigned detail; bool pretty; const char *const *root_labels, *const *root_paths; size_t root_count; };
int format_info(struct index *ix, struct snapshot *s, const uint32_t *files, size_t count,
                const struct format_info_options *options, enum format f, struct buf *out);

#endif
