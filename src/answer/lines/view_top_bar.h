/* view_top_bar.h - the order of rows by a column, and which rows of a batch may be among the first.
 *
 * The bar is the value of the last row that is still among the first ones. In a chunk it is
 * translated once: to a range of numbers, or to a set of codes, so that rows are compared without
 * making values of them.
 * Used by:   view_top_find.c.
 * Threads:   a filter belongs to one worker.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_TOP_BAR_H
#define DFTRACERD_ANSWER_LINES_VIEW_TOP_BAR_H

#include "engine/scan/scan.h"

struct top_order {
    struct query *query;
    const struct source *by;
    bool descending;
};
/* Negative: a comes before b. Null comes last in both directions. */
int top_compare(const struct top_order *o, const struct value *a, const struct value *b);

/* Rows that come after it are of no use: it is that of a row that was scanned. `value` is borrowed
 * from the query. */
struct top_bar {
    bool set; /* false: any row is */
    struct value value;
    size_t position; /* of its row, in scan_places */
};

enum { TOP_CODES = 256 }; /* values of larger dictionaries are compared row by row */

struct top_filter {
    const struct top_order *order;
    uint64_t most; /* rows that are wanted */
    struct top_bar bar;
    struct scan_chunk *chunk;
    enum scan_shape shape;
    bool nano, coded;
    bool nulls, others;  /* rows that have no value may be among the first; that have one */
    int64_t low, high;   /* not coded: of numbers, doubles as view_top_bar.c numbers them */
    uint32_t code_count; /* coded: */
    const uint64_t *keys;
    uint32_t passes[TOP_CODES / 32]; /* a bit a code */
};
/* The value that no row of the chunk comes before; false: it is not known without reading them. */
bool top_best_of_chunk(const struct top_order *o, struct scan_chunk *c, struct value *ret);
/* For chunk_plan: no row of the chunk is selected. `memory` is kept from chunk to chunk. */
struct top_mask {
    VEC(uint64_t) words;
};
int top_no_rows(struct top_mask *memory, struct scan_chunk *c);
/* That value passes the bar in a place, in rows that are not scanned yet. */
bool top_passes(const struct top_order *o, const struct top_bar *bar, const struct value *v,
                size_t position);
/* For the chunk at hand, before its first batch. */
void top_filter_chunk(struct top_filter *f, struct scan_chunk *c);
/* Another bar for the rest of the chunk. */
void top_filter_bar(struct top_filter *f, const struct top_bar *bar);
/* For chunk_plan, after top_filter_chunk: rows that do not pass are not selected, as far as that is
 * known without decoding. */
int top_filter_plan(struct top_filter *f, struct top_mask *memory);
/* No row of the chunk passes. */
static inline bool top_filter_is_empty(const struct top_filter *f)
{
    return !f->nulls && !f->others;
}
/* The selected rows of the batch that pass: fills ret (SCAN_BATCH + 64 long) with their numbers in
 * the batch, returns how many. */
uint32_t top_filter_batch(struct top_filter *f, struct scan_batch *b, uint16_t *ret);

#endif
