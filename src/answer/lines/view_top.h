/* view_top.h - order=COLUMN: the rows that come first by the values of a column, and scans of them
 * alone.
 *
 * Way:       top_new finds the rows (view_top_find.h); they are returned part by part, each of
 *            which is bounded by the memory that is left: top_part, then the places of the part are
 *            scanned with top_scan.
 * Used by:   view.c and rows.c, which own it; view_stream.c, lines.c, rows_*.c.
 * Threads:   top_scan and top_ranks: any, while there is no top_part. Else one at a time.
 * Memory:    24 bytes a row, and 16 a row of the part, charged to the query's budget.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_TOP_H
#define DFTRACERD_ANSWER_LINES_VIEW_TOP_H

#include "engine/scan/scan.h"

struct top_options {
    const char *column;
    bool descending;
    uint64_t limit, offset; /* limit UINT64_MAX = all */
};
struct top;
/* Scans the query. ERR_PARAM: no event has the column; ERR_MEMORY_LIMIT: too many rows to sort. */
int top_new(struct query *q, const struct top_options *o, struct err *err, struct top **ret);
void top_free(struct top *t);
/* The next part: the number of its rows in each place, and the rank of the first of them; both are
 * as long as scan_places and zero. ERR_END. */
int top_part(struct top *t, uint64_t *counts, __int128 *first);
/* Rows for which a place has memory at first: `usual`, unless places have a few rows each. */
static inline uint32_t top_rows_at_first(const struct top *t, uint32_t usual)
{
    return t ? 16 : usual;
}
/* As scan_chunk, but batches contain rows of the part only. NULL: all selected rows. */
int top_scan(const struct top *t, struct scan_worker *w, size_t position,
             int (*batch)(void *arg, struct scan_batch *b), void *arg);
/* Of the batch's selected rows: 0 is the first row of all. */
void top_ranks(const struct top *t, const struct scan_batch *b, int64_t *ret);

#endif
