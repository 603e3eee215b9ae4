/* top_find.h - finds the rows that come first by the values of a column.
 *
 * Places are scanned in rounds, those with the best bounds first (top_survey.h), until no other
 * place can have one of the wanted rows.
 * Each worker collects rows that pass the boundary (top_boundary.h). When it has twice as many as
 * are wanted, it sorts them, drops the second half, and tightens the boundary for all workers.
 * Chunks whose values are all beyond the boundary are not read. So memory is that of the wanted
 * rows, and the result does not depend on the number of threads.
 * Used by:   top.c.
 * Threads:   as a scan: the query's thread.
 * Memory:    charged to the query's budget.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_TOP_FIND_H
#define DFTRACERD_ENGINE_CURSOR_TOP_FIND_H

#include "engine/cursor/top_boundary.h"

struct top_row {
    uint64_t key;      /* key of its value */
    uint32_t position; /* its place in scan_places */
    uint32_t row;      /* in the chunk */
    uint32_t order;    /* equal for equal values */
};
struct top_rows {
    VEC(struct top_row) list;
};
/* Appends the first `limit` of the selected rows, in order. ERR_MEMORY_LIMIT, -ENOMEM, and the
 * errors of a scan. */
int top_find(const struct top_order *o, uint64_t limit, struct top_rows *ret);

#endif
