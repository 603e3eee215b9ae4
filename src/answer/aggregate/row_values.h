/* row_values.h - computes the values of a row from its group.
 *
 * Used by:   aggregate.c, columns.c, rows.c, best.c, other.c.
 * Path:      aggregate_values fills the columns that columns.c cannot fill as vectors.
 * Threads:   one. Memory: charged to the budget until row_reader_done; texts are borrowed.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_ROW_VALUES_H
#define DFTRACERD_ANSWER_AGGREGATE_ROW_VALUES_H

#include "answer/aggregate/plan.h"

enum { KEY_OTHER = 15 }; /* tag of the first key of the row "(other)"; beyond enum key_tag */
struct process_table;
/* One measure of the current row. */
struct row_measure {
    bool done, has_quantiles; /* the members, the quantiles are set */
    bool weighted;            /* rows are counters: std, percentiles and shape are not known */
    struct moments m;         /* of the integers */
    bool is_f64;              /* the values include doubles */
    struct moments_f64 all;   /* of all values; valid if is_f64 */
    const struct float_moments *float_moments; /* NULL: there are no doubles */
    uint64_t count;                            /* of all values */
};
/* Computes values of rows; `plan` and `found` are set by the owner, all but `processes` by
 * row_reader_begin. */
struct row_reader {
    const struct aggregate_plan *plan;
    struct groups *found;
    struct process_table *processes; /* NULL: no column needs it; freed by the owner */
    __int128 *busy;                  /* ns by group of set 0, or NULL */
    uint64_t **distinct;             /* by keep, by group; NULL unless the keep is KEEP_DISTINCT */
    size_t charged;                  /* bytes of `busy` and `distinct` */
    struct row_measure *measures;    /* by measure, of the current row */
    struct value *quantiles;         /* by measure, by quantile */
};
int row_reader_begin(struct row_reader *t);
void row_reader_done(struct row_reader *t);
/* Sets *ret to the value of a key; `number`: that of the key in the plan. Texts are borrowed
 * from the query. */
int aggregate_key_value(const struct aggregate_plan *p, unsigned number, uint64_t key,
                        struct value *ret);
/* Fills the values of a row. `done`: by column, true to leave it out; or NULL. */
int aggregate_values(struct row_reader *t, struct row_id row, const bool *done,
                     struct value *values);

#endif
