/* rows.h - /view with `select`: the values of chosen columns of the selected objects, row by row.
 *
 * Used by:   format, http; answer/dlio.
 * Path:      rows_open -> rows_next (values) or rows_next_text (text from a struct rows_writer),
 *            until ERR_END.
 * Memory:    one batch of rows, charged to the budget of the query.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_ROWS_H
#define DFTRACERD_ROWS_H

#include "dftracerd/table.h"

/* Writes rows as text, column by column, on the threads that find them. */
struct rows_writer {
    void *arg;
    /* Makes a state for one thread and one place: codes mean the same in all of its batches. `done`
     * frees it, also after errors. */
    int (*begin)(void *arg, struct budget *budget, void **ret_state);
    /* Appends the text of each row; ret_end[k]: where that of row k ends in `out`. An error ends
     * the answer. */
    int (*write)(void *state, const struct row_block *b, struct buf *out, size_t *ret_end);
    void (*done)(void *state);
};
struct rows_options {
    const char *const *columns;
    size_t column_count;
    bool order_ts;
    uint64_t limit, offset;
    const struct rows_writer *writer; /* borrowed until rows_close; NULL: values */
    const char *order_by;             /* as in view_options, with `descending` */
    bool descending;
};
struct rows;
int rows_open(struct query *q, const struct rows_options *options, struct err *err,
              struct rows **ret);
/* Returns the next rows: count * column_count values, row by row, borrowed until the next call; or
 * ERR_END, or another error. Only without a writer. */
int rows_next(struct rows *r, struct err *err, const struct value **ret_values, size_t *ret_count);
/* With a writer, appends the texts of the next rows. */
int rows_next_text(struct rows *r, struct err *err, struct buf *out, size_t *ret_count);
/* See view_continue: after ERR_END, in file order. */
int rows_continue(struct rows *r, struct query *q, struct err *err);
bool rows_may_continue(const struct rows *r);
void rows_pause(struct rows *r); /* see view_pause; invalidates what rows_next returned */
void rows_close(struct rows *r);

#endif
