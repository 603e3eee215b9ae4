/* columns.h - the columns of a query, stored or derived, as answers read them.
 *
 * Used by:   engine/ and answers.
 * Path:      query_source finds a column of the query (before scanning); in a scan, scan_* describe
 *            it in the current chunk, and batch_* read it for the current batch.
 * Threads:   query_source*: the query's thread. The rest: the thread of the worker.
 * Errors:    scan_* and batch_* return none: the worker keeps the first error, all columns are null
 *            from then on, and the scan ends with the batch. Errors are -ENOMEM, ERR_CORRUPT,
 *            ERR_PATTERN_LIMIT and those of the budget.
 * Lifetime:  arrays are borrowed until the next batch, texts of values until the chunk ends.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_COLUMNS_H
#define DFTRACERD_ENGINE_DERIVED_COLUMNS_H

#include "engine/query.h"

/* ---- columns of a query: stored or derived --------------------------------------------------- */

/* Paths as in the DSL: name cat pid tid ts te dur ph id type hhash fhash shash args.x.y, file host
 * cmd exec size bytes rank trace; any other bare name = the field of this name, or in objects
 * without it args.<name>; also "@class", "@gap", "@len", "@repaired". dur of an X event without one
 * is 0; te of an object without dur is its ts. */
struct source;
/* Sets *ret to the source of a path, borrowed from the query; equal paths have the same source.
 * Must not be called while a scan runs. Returns 0 or -ENOMEM. */
int query_source(struct query *q, struct text path, const struct source **ret);
/* Sets *ret to a new source of times: floor((ts - origin) / interval) * interval, null for objects
 * without ts. interval_ns 0: all objects, with a ts or not, are in bucket 0. */
int query_source_bucket(struct query *q, __int128 interval_ns, __int128 origin_ns,
                        const struct source **ret);
/* Sets *ret to a new source with the values of `s` that groups by fewer keys: all keys that are not
 * in `kept` (one key each, after group_table_place; borrowed while the query scans) become
 * QUERY_KEY_OTHERS. kept NULL: the key of a number is that of query_key_bin; other values become
 * QUERY_KEY_OTHERS. Null stays null. Only functions for keys and codes accept the source. Must not
 * be called while a scan runs. */
struct group_table;
int query_source_folded(struct query *q, const struct source *s, const struct group_table *kept,
                        const struct source **ret);
struct text source_path(const struct source *s); /* as passed to query_source */
/* Returns true for ts, te, dur and buckets, whose numbers are VALUE_TIME. */
bool source_is_time(const struct source *s);

/* ---- chunks ---------------------------------------------------------------------------------- */

enum scan_shape {
    SHAPE_NULL,   /* no row of the chunk has it */
    SHAPE_INT,    /* int64: batch_i64 */
    SHAPE_TIME,   /* int64 in us, or in ns if scan_is_nano */
    SHAPE_BOOL,   /* int64 0 or 1 */
    SHAPE_DOUBLE, /* batch_f64 */
    SHAPE_TEXT,   /* texts only */
    SHAPE_MIXED,  /* values of several types */
};

enum scan_shape scan_shape(struct scan_chunk *c, const struct source *s);
bool scan_is_nano(struct scan_chunk *c, const struct source *s); /* SHAPE_TIME in ns */
/* Sets limits of the chunk's values, which are not always tight. Returns false if the shape is not
 * SHAPE_INT, SHAPE_TIME or SHAPE_BOOL. */
bool scan_range(struct scan_chunk *c, const struct source *s, int64_t *ret_min, int64_t *ret_max);
/* Returns true if all selected rows of the chunk have the same key, which may be null. */
bool scan_constant(struct scan_chunk *c, const struct source *s, uint64_t *ret_key);

/* ---- batches --------------------------------------------------------------------------------- */

/* These functions return arrays by row of the batch, which are decoded at the first call. Values of
 * rows that are not selected are undefined; the value of a null row is 0. *ret_valid (may be NULL):
 * a bitmap, or NULL if no row of the batch is null. If the source has another shape in this chunk,
 * it is null in all rows. */

/* For SHAPE_INT, SHAPE_TIME, SHAPE_BOOL. *ret_nano (may be NULL): see scan_is_nano. */
const int64_t *batch_i64(struct scan_batch *b, const struct source *s, const uint64_t **ret_valid,
                         bool *ret_nano);
/* Returns numbers as doubles, times in us; for SHAPE_MIXED, rows that are no numbers are null. Not
 * for SHAPE_BOOL and SHAPE_TEXT. */
const double *batch_f64(struct scan_batch *b, const struct source *s, const uint64_t **ret_valid);
/* Numbers and times as the chunk has them: i for SHAPE_INT and SHAPE_TIME, d for SHAPE_DOUBLE and
 * SHAPE_MIXED. Both are NULL if no row has a number, or s is NULL. */
struct batch_numbers {
    const int64_t *i;
    const double *d;
    const uint64_t *valid;
    bool nano;
};
struct batch_numbers batch_numbers(struct scan_batch *b, const struct source *s);
/* Returns a bitmap of the rows with a value, of any shape; NULL: all have one. */
const uint64_t *batch_valid(struct scan_batch *b, const struct source *s);
/* Returns keys by row, for any shape (undefined for rows that are not selected). Equal values have
 * equal keys across chunks, files, types of numbers and units: 5 us equals 5000 ns, 5 equals 5.0;
 * but a time never equals a plain number. QUERY_KEY_NULL: null. */
const uint64_t *batch_keys(struct scan_batch *b, const struct source *s);
/* The fast path of grouping: dense codes within the chunk, 0 <= code < *ret_count. *ret_keys: keys
 * by code, borrowed until the worker begins another chunk. Some codes may not occur, and two codes
 * may have the same key; a null row has the code whose key is QUERY_KEY_NULL. Texts, mixed values
 * and bools have codes, and integers and times if they span at most `limit` values in this chunk.
 * Returns false if there are none, or more than `limit`. To be called once for each chunk and
 * source, before batch_codes. */
bool scan_codes(struct scan_chunk *c, const struct source *s, uint32_t limit, uint32_t *ret_count,
                const uint64_t **ret_keys);
const uint32_t *batch_codes(struct scan_batch *b, const struct source *s);
/* Returns true if each row has the same code in both sources, such as pid and rank, which
 * depends on the pid. Call scan_codes for both first. */
bool scan_same_codes(struct scan_chunk *c, const struct source *a, const struct source *b);
/* Returns the value of one row of the batch; texts are borrowed until the chunk ends. */
struct value batch_value(struct scan_batch *b, const struct source *s, uint32_t row);

#endif
