/* top.h - order=COLUMN: finds the rows that come first by a column, and scans only these.
 *
 * Path:      top_new finds the rows (top_find.h). They are returned in parts that fit the memory
 *            left: top_part for each part, then top_scan for its places.
 * Used by:   answer/lines, which owns it and makes items with top_scan; cursor.c.
 * Threads:   top_scan and top_ranks run on any thread, but not during top_part. All other calls:
 *            one thread at a time.
 * Memory:    24 bytes for each row and 16 for each row of the part, charged to the query's budget.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_TOP_H
#define DFTRACERD_ENGINE_CURSOR_TOP_H

#include "engine/scan/scan.h"

struct top_options {
    const char *column;
    bool descending;
    uint64_t limit, offset; /* limit UINT64_MAX = all */
};
struct top;
/* Scans the query. ERR_PARAM: no event has the column. ERR_MEMORY_LIMIT: too many rows to sort. */
int top_new(struct query *q, const struct top_options *o, struct err *err, struct top **ret);
void top_free(struct top *t);
/* Starts the next part. Sets, by position in scan_places, the number of its rows and the rank of
 * the first one; the arrays are zero before. Returns 0, ERR_END if there are no more rows,
 * -ENOMEM or an error of the budget. */
int top_part(struct top *t, uint64_t *counts, __int128 *first);
/* The number of rows to allocate for a place at first: few with a top, otherwise `usual`. */
static inline uint32_t top_rows_at_first(const struct top *t, uint32_t usual)
{
    return t ? 16 : usual;
}
/* Calls scan_chunk, with batches of the rows of the part only, or of all selected rows if t is
 * NULL. */
int top_scan(const struct top *t, struct scan_worker *w, size_t position,
             int (*batch)(void *arg, struct scan_batch *b), void *arg);
/* Sets the ranks of the batch's selected rows; 0 is the first row of the answer. */
void top_ranks(const struct top *t, const struct scan_batch *b, int64_t *ret);

#endif
