/* view_top_find.h - finds the rows that come first by the values of a column.
 *
 * Places are scanned in turns, those with the best bounds first (view_top_survey.h), until no other
 * place can have a row that is among the first.
 * Each worker collects rows that pass the bar (view_top_bar.h). When it has twice as many as are
 * wanted, it sorts them, drops the second half, and raises the bar for all workers. Chunks whose
 * bounds are behind the bar are not read. So memory is that of the wanted rows, and the result does
 * not depend on the number of threads.
 * Used by:   view_top.c.
 * Threads:   as a scan: the query's thread.
 * Memory:    charged to the query's budget.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_TOP_FIND_H
#define DFTRACERD_ANSWER_LINES_VIEW_TOP_FIND_H

#include "answer/lines/view_top_bar.h"

struct top_row {
    uint64_t key;      /* of its value */
    uint32_t position; /* of its place, in scan_places */
    uint32_t row;      /* of the chunk */
    uint32_t order;    /* equal values have the same */
};
struct top_rows {
    VEC(struct top_row) list;
};
/* Adds the first `most` of the selected rows, in order. ERR_MEMORY_LIMIT, -ENOMEM, and what a scan
 * returns. */
int top_find(const struct top_order *o, uint64_t most, struct top_rows *ret);

#endif
