/* top_boundary.h - the order of rows by a column, and which rows of a batch may be among the first.
 *
 * The boundary is the value of the last row that is still among the first ones. In each chunk it is
 * translated once to a range of numbers or to a set of codes, so that rows are compared without
 * decoding their values.
 * Used by:   top_find.c.
 * Threads:   a filter belongs to one worker.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_TOP_BOUNDARY_H
#define DFTRACERD_ENGINE_CURSOR_TOP_BOUNDARY_H

#include "engine/scan/scan.h"

struct top_order {
    struct query *query;
    const struct source *by;
    bool descending;
};
/* Returns a negative number if a comes before b. Null comes last in both directions. */
int top_compare(const struct top_order *o, const struct value *a, const struct value *b);

/* Rows that come after it are not among the first: it is the value of a row that was scanned.
 * `value` is borrowed from the query. */
struct top_boundary {
    bool set; /* false: all rows pass */
    struct value value;
    size_t position; /* of the row, in scan_places */
};

enum { TOP_CODES = 256 }; /* larger dictionaries are compared row by row */

struct top_filter {
    const struct top_order *order;
    uint64_t limit; /* wanted rows */
    struct top_boundary boundary;
    struct scan_chunk *chunk;
    enum scan_shape shape;
    bool nano, coded;
    bool nulls, others;  /* rows without a value may be among the first; rows with one */
    int64_t low, high;   /* range of numbers that pass; doubles as order_of_double */
    uint32_t code_count; /* values of the dictionary */
    const uint64_t *keys;
    uint32_t passes[TOP_CODES / 32]; /* one bit for each code */
};
/* The first value of the chunk in this order; false if it is not known without reading rows. */
bool top_best_of_chunk(const struct top_order *o, struct scan_chunk *c, struct value *ret);
/* For chunk_plan: selects no row of the chunk. `memory` is reused from chunk to chunk. */
int top_no_rows(struct scratch *memory, struct scan_chunk *c);
/* Whether a row of that place with the value, not scanned yet, passes the boundary. */
bool top_passes(const struct top_order *o, const struct top_boundary *boundary,
                const struct value *v, size_t position);
/* Prepares the filter for a chunk, before its first batch. */
void top_filter_chunk(struct top_filter *f, struct scan_chunk *c);
/* Sets another boundary for the rest of the chunk. */
void top_filter_set_boundary(struct top_filter *f, const struct top_boundary *boundary);
/* For chunk_plan, after top_filter_chunk: deselects rows that do not pass, as far as that is known
 * without decoding. */
int top_filter_plan(struct top_filter *f, struct scratch *memory);
/* Whether no row of the chunk passes. */
static inline bool top_filter_is_empty(const struct top_filter *f)
{
    return !f->nulls && !f->others;
}
/* Fills ret (SCAN_BATCH + 64 elements) with the numbers, in the batch, of the selected rows that
 * pass; returns their count. */
uint32_t top_filter_batch(struct top_filter *f, struct scan_batch *b, uint16_t *ret);

#endif
