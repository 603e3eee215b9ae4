/* rows.h - which rows of the general form are returned, and in what order: having, top, sort.
 *
 * Used by:   aggregate.c.
 * Path:      `having` removes rows of the groups in memory, and `sort` orders them if all groups
 *            are in memory (rows.c). `top`, and `sort` if groups are found part after part, keep
 *            the best rows by their values (best.c); other.c joins the rest into one row.
 * Threads:   one. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_ROWS_H
#define DFTRACERD_ANSWER_AGGREGATE_ROWS_H

#include "engine/group/order.h"
#include "answer/aggregate/row_values.h"

struct sort_key {
    unsigned column;
    bool descending;
};
/* The keys of o->sort, or of o->top_by if o->top is set; *ret is in the arena of the plan.
 * ERR_PARAM: no such column. */
int rows_sort_keys(const struct aggregate_plan *p, const struct aggregate_options *o,
                   struct sort_key **ret, size_t *ret_width, struct err *err);
/* Puts row order[i] of `columns` values at i; `order` is overwritten, `row` has memory for one. */
void rows_permute(struct value *values, size_t columns, uint32_t *order, size_t count,
                  struct value *row);
/* Rows of values by o->sort; equal ones as they were. ERR_MEMORY_LIMIT, -ENOMEM. */
int rows_sort_values(const struct aggregate_plan *p, const struct aggregate_options *o,
                     struct value *values, size_t count, struct err *err);
/* *rows, in the order of their keys, becomes what is returned, but for `top`. ERR_PARAM,
 * ERR_QUERY_SYNTAX, -ENOMEM ... */
int rows_choose(struct row_reader *t, const struct aggregate_options *o, struct row_id *rows,
                size_t *count, struct err *err);

/* ---- best.c ------------------------------------------------------------------------ */

/* At most `most` rows, the first ones by `sort`, of all that are added in the order of their keys.
 */

struct best_rows;
int best_new(const struct aggregate_plan *p, const struct sort_key *sort, size_t width,
             uint64_t most, struct best_rows **ret);
void best_free(struct best_rows *b);
/* ERR_MEMORY_LIMIT: they themselves need too much. */
int best_add(struct best_rows *b, struct row_reader *t, const struct row_id *rows, size_t count);
/* All rows were added: best_has knows groups by their keys. */
int best_choose(struct best_rows *b);
bool best_has(const struct best_rows *b, const uint64_t *keys);
bool best_has_all(const struct best_rows *b);
/* Their values in order; borrowed, with memory for one more row. Ends adding. */
int best_take(struct best_rows *b, struct value **ret, size_t *ret_count);

/* ---- other.c ----------------------------------------------------------------------- */

/* Many groups as one row, whose first key is "(other)" and whose other keys are null. */

struct others;
int others_new(const struct aggregate_plan *p, struct others **ret);
void others_free(struct others *o);
/* Present groups that are not among the best, in the order of rows. */
int others_add(struct others *o, const struct row_reader *t, const struct best_rows *best,
               const struct row_id *rows, size_t count);
int others_values(struct others *o, struct value *values);

#endif
