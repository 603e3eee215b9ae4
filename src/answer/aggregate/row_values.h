/* row_values.h - from a group to the values of its row.
 *
 * Used by:   aggregate.c, columns.c, rows.c, best.c, other.c.
 * Path:      columns of plain numbers are filled by columns.c; all others by aggregate_values.
 * Threads:   one. Memory: charged to the budget until row_reader_done; texts are borrowed.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_ROW_VALUES_H
#define DFTRACERD_ANSWER_AGGREGATE_ROW_VALUES_H

#include "answer/aggregate/plan.h"

enum { KEY_OTHER = 15 }; /* tag of the first key of "(other)"; see keys.c */
struct process_table;
/* One measure of the current row. */
struct row_measure {
    bool done, has_quantiles, weighted;
    struct moments m;
    struct moments_f64 all; /* valid if is_f64 */
    bool is_f64;
    const struct float_moments *float_moments;
    uint64_t count;
};
/* What values of rows are computed from. */
struct row_reader {
    const struct aggregate_plan *plan;
    struct groups *found;
    struct process_table *processes;
    int64_t *busy;       /* ns by group of set 0, or NULL */
    uint64_t **distinct; /* by keep, by group; NULL unless the keep is KEEP_DISTINCT */
    size_t charged;
    struct row_measure *measures; /* by measure, of the current row */
    struct value *quantiles;      /* by measure, by quantile */
};
int row_reader_begin(struct row_reader *t);
void row_reader_done(struct row_reader *t);
/* The value of a key; `number`: which key of the plan. Texts are borrowed from query and plan. */
int aggregate_key_value(const struct aggregate_plan *p, unsigned number, uint64_t key,
                        struct value *ret);
/* Fills the values of a row. `done`: by column, true to leave it out; or NULL. */
int aggregate_values(struct row_reader *t, struct row_id row, const bool *done,
                     struct value *values);

#endif
