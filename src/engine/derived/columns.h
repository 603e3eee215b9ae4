/* columns.h - the columns of a query, stored or derived, as answers read them.
 *
 * Used by:   engine/ and answers.
 * Way:       query_source finds a column of the query (before scanning); in a scan scan_shape and
 *            its like describe it in the chunk at hand, and batch_* read it for the batch at hand.
 * Threads:   query_source*: the query's thread. The rest: the thread of the worker.
 * Errors:    what is read of a chunk or batch returns none: the worker keeps the first one, all
 *            rows of all columns are null from then on, and the scan ends with the batch.
 *            -ENOMEM, ERR_CORRUPT, ERR_MEMORY_LIMIT, ERR_PATTERN_LIMIT.
 * Lifetime:  what a batch gives is borrowed until the next batch (arrays) or until the chunk ends
 *            (texts of values).
 */
#ifndef DFTRACERD_ENGINE_DERIVED_COLUMNS_H
#define DFTRACERD_ENGINE_DERIVED_COLUMNS_H

#include "engine/query.h"

/* ---- columns of a query: stored or derived --------------------------------------------------- */

/* Paths as in the DSL: name cat pid tid ts te dur ph id type hhash fhash shash args.x.y, file host
 * cmd exec size rank trace, any other bare name = args.<name>; besides "@class", "@gap", "@len",
 * "@repaired". dur of an X event without one is 0; te of an object without dur is its ts. */
struct source;
/* Borrowed from the query; the same path gives the same source. Before the first scan or between
 * scans. 0, -ENOMEM. */
int query_source(struct query *q, struct text path, const struct source **ret);
/* floor((ts - origin) / interval) * interval in time: a COLUMN_TIME source. interval_ns 0: all
 * objects (with a ts or not) are in one bucket 0. Objects without ts: null. */
int query_source_bucket(struct query *q, __int128 interval_ns, __int128 origin_ns,
                        const struct source **ret);
/* A source of its own that groups by less: of those in `kept` (width 1, all placed, borrowed while
 * the query scans) each, of all others QUERY_KEY_OTHERS; kept NULL: by powers of two, whose keys
 * are the integers of query_key_bin, what is no number QUERY_KEY_OTHERS. Null stays null. For keys
 * and codes, not for values. Between scans. */
struct group_table;
int query_source_folded(struct query *q, const struct source *s, const struct group_table *kept,
                        const struct source **ret);
struct text source_path(const struct source *s); /* as asked */
bool source_is_time(
    const struct source *s); /* ts, te, dur, a bucket: numbers are told as VALUE_TIME */

/* ---- one chunk ------------------------------------------------------------------------------- */

enum scan_shape {
    SHAPE_NULL,   /* no row of the chunk has it */
    SHAPE_INT,    /* int64: batch_i64 */
    SHAPE_TIME,   /* int64 in us, or ns where scan_is_nano */
    SHAPE_BOOL,   /* int64 0 or 1 */
    SHAPE_DOUBLE, /* batch_f64 */
    SHAPE_TEXT,   /* texts only */
    SHAPE_MIXED,  /* values of several types */
};

enum scan_shape scan_shape(struct scan_chunk *c, const struct source *s);
bool scan_is_nano(struct scan_chunk *c, const struct source *s); /* SHAPE_TIME in ns */
/* Bounds of the chunk's values (not always tight) of SHAPE_INT, SHAPE_TIME, SHAPE_BOOL; else false.
 */
bool scan_range(struct scan_chunk *c, const struct source *s, int64_t *ret_min, int64_t *ret_max);
/* True when all selected rows of the chunk have this one key (null included). */
bool scan_constant(struct scan_chunk *c, const struct source *s, uint64_t *ret_key);

/* ---- one batch ------------------------------------------------------------------------------- */

/* Arrays over all rows of the batch, decoded when first asked for; values of rows that are not
 * selected mean nothing; value of a null row is 0. *ret_valid (may be NULL): bitmap, NULL when no
 * row of the batch is null. A source that has another shape in this chunk is null in all rows. */
/* SHAPE_INT, SHAPE_TIME, SHAPE_BOOL; *ret_nano: see scan_is_nano (may be NULL). */
const int64_t *batch_i64(struct scan_batch *b, const struct source *s, const uint64_t **ret_valid,
                         bool *ret_nano);
/* Numbers as doubles, times in us; of SHAPE_MIXED the rows that are numbers. Not SHAPE_BOOL,
 * SHAPE_TEXT. */
const double *batch_f64(struct scan_batch *b, const struct source *s, const uint64_t **ret_valid);
/* Numbers and times as the chunk has them: SHAPE_INT, SHAPE_TIME in i, SHAPE_DOUBLE, SHAPE_MIXED in
 * d. Where valid has no row (s NULL, too), i and d may be NULL. */
struct batch_numbers {
    const int64_t *i;
    const double *d;
    const uint64_t *valid;
    bool nano;
};
struct batch_numbers batch_numbers(struct scan_batch *b, const struct source *s);
/* Rows with a value of any shape; NULL: all. */
const uint64_t *batch_valid(struct scan_batch *b, const struct source *s);
/* A key by row (those of rows that are not selected mean nothing), for any shape: equal values have
 * equal keys across chunks, files, types of numbers and units (the time 5 us equals 5000 ns; 5
 * equals 5.0; but a time never equals a plain number). QUERY_KEY_NULL = null. */
const uint64_t *batch_keys(struct scan_batch *b, const struct source *s);
/* The fast way of grouping: small dense codes within the chunk, 0 <= code < *ret_count, and
 * scan_code_keys() their keys (some codes may not occur; a null row has the code whose key is
 * QUERY_KEY_NULL; two codes may have the same key). Given for texts, mixed values, bools, and
 * integers and times that span at most `limit` values in this chunk; false otherwise or when there
 * would be more than `limit` codes. scan_codes decides, once a chunk and source; batch_codes then
 * gives them. *ret_keys is borrowed until the worker begins another chunk. */
bool scan_codes(struct scan_chunk *c, const struct source *s, uint32_t limit, uint32_t *ret_count,
                const uint64_t **ret_keys);
const uint32_t *batch_codes(struct scan_batch *b, const struct source *s);
/* After scan_codes of both: whether each row has the same code of the one as of the other (a rank,
 * which comes from the pid). */
bool scan_same_codes(struct scan_chunk *c, const struct source *a, const struct source *b);
/* Value of one row (number in the batch); texts are borrowed until the chunk ends. */
struct value batch_value(struct scan_batch *b, const struct source *s, uint32_t row);

#endif
