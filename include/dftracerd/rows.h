/* rows.h - /view with `select`: the values of chosen columns of the selected objects, row by row.
 *
 * Used by:   format, http; answer/dlio.
 * Path:      rows_open -> rows_next (values) or rows_next_text (text that a struct rows_writer
 *            makes column by column, on the threads that find the rows), until ERR_END.
 * Memory:    one batch of rows, charged to the budget of the query.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_ROWS_H
#define DFTRACERD_ROWS_H

#include "dftracerd/query.h"

/* Rows as text: made column by column, on the threads that find them. */
enum rows_kind { ROWS_INT, ROWS_NS, ROWS_DOUBLE, ROWS_CODE, ROWS_VALUE };
struct rows_column {
    enum rows_kind kind;
    const int64_t *i; /* INT, NS (nanoseconds, told as decimal microseconds); by row of the batch */
    const double *d;  /* DOUBLE; likewise */
    const uint64_t *valid; /* of these: a bit a row, 0 = null; NULL: none is null */
    const uint32_t *code;  /* CODE: by row; < `codes`. query_key_value(keys[code]) is the value */
    const uint64_t *keys;
    uint32_t codes;
    const struct value *values; /* VALUE: by position among the selected rows */
};
struct rows_batch {
    struct query *query;
    const struct rows_column *columns; /* as many as were asked for; all borrowed for the call */
    const uint16_t *select;            /* rows of the batch, ascending; NULL: row k is number k */
    uint32_t count;                    /* selected rows */
    size_t most;                       /* out->len beyond it is ERR_MEMORY_LIMIT */
};
struct rows_writer {
    void *arg;
    /* A state for one thread and one chunk, whose codes mean the same in all its batches. `done`
     * also after errors. */
    int (*begin)(void *arg, struct budget *budget, void **ret_state);
    /* Appends a text a row; ret_end[k]: where that of row k ends in `out`. An error ends the
     * answer. */
    int (*write)(void *state, const struct rows_batch *b, struct buf *out, size_t *ret_end);
    void (*done)(void *state);
};
struct rows_options {
    const char *const *columns;
    size_t column_count;
    bool order_ts;
    uint64_t limit, offset;
    const struct rows_writer *writer; /* borrowed until rows_close; NULL: values */
};
struct rows;
int rows_open(struct query *q, const struct rows_options *options, struct err *err,
              struct rows **ret);
/* Next batch: `*ret_values` holds count * column_count values, row by row, borrowed until the next
 * call. ERR_END. */
int rows_next(struct rows *r, struct err *err, const struct value **ret_values, size_t *ret_count);
/* With a writer instead: appends the texts of the next rows. */
int rows_next_text(struct rows *r, struct err *err, struct buf *out, size_t *ret_count);
/* As view_go_on: after ERR_END, in file order. */
int rows_go_on(struct rows *r, struct query *q, struct err *err);
bool rows_may_go_on(const struct rows *r);
void rows_rest(struct rows *r); /* as view_rest; what rows_next gave is gone */
void rows_close(struct rows *r);

#endif
