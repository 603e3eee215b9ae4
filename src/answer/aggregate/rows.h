/* rows.h - selects and orders rows of the general form: having, top, sort.
 *
 * Used by:   aggregate.c.
 * Path:      `having` removes rows of the groups in memory, and `sort` orders them if all groups
 *            are in memory (rows.c). `top`, and `sort` if groups are found in several passes, keep
 *            the best rows by their values (best.c); other.c merges all others into one row.
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
/* Compares two rows of values. */
int rows_compare(const struct sort_key *keys, size_t width, const struct value *a,
                 const struct value *b);
/* Sets *ret to the keys of o->sort, or to that of o->top_by if o->top is set, in the arena of the
 * plan. ERR_PARAM: there is no such column. */
int rows_sort_keys(const struct aggregate_plan *p, const struct aggregate_options *o,
                   struct sort_key **ret, size_t *ret_width, struct err *err);
/* Sorts rows by o->sort. order: positions of rows in `values`; equal rows keep their order. Returns
 * 0, ERR_MEMORY_LIMIT, -ENOMEM or an error of the budget. */
int rows_sort_values(const struct aggregate_plan *p, const struct aggregate_options *o,
                     const struct value *values, uint32_t *order, size_t count, struct err *err);
/* Applies `having` and, without `top`, `sort` to rows that are in the order of their keys.
 * Returns 0, ERR_PARAM, ERR_MEMORY_LIMIT, -ENOMEM ... */
int rows_choose(struct row_reader *t, const struct aggregate_options *o, struct row_id *rows,
                size_t *count, struct err *err);

/* ---- best.c ------------------------------------------------------------------------ */

/* Keeps the first `max` rows by `sort` of all that are added, which are in the order of their keys.
 */
struct best_rows;
int best_new(const struct aggregate_plan *p, const struct sort_key *sort, size_t width,
             uint64_t max, struct best_rows **ret);
void best_free(struct best_rows *b);
/* Returns ERR_MEMORY_LIMIT if the kept rows need too much memory. */
int best_add(struct best_rows *b, struct row_reader *t, const struct row_id *rows, size_t count);
/* To be called after all rows were added, before best_has. */
int best_index_keys(struct best_rows *b);
/* Returns true if the row with these keys was kept. */
bool best_has(const struct best_rows *b, const uint64_t *keys);
bool best_has_all(const struct best_rows *b); /* all rows that were added were kept */
/* Sets *ret_values to the kept rows, and *ret_order to their positions there in the order of
 * `sort`. Both are borrowed, and have memory for one more row. No row can be added afterwards. */
int best_finish(struct best_rows *b, struct value **ret_values, uint32_t **ret_order,
                size_t *ret_count);

/* ---- other.c ----------------------------------------------------------------------- */

/* Many groups as one row, whose first key is "(other)" and whose other keys are null. */
struct others;
int others_new(const struct aggregate_plan *p, struct others **ret);
void others_free(struct others *o);
/* Adds the groups of rows that were not kept as the best. */
int others_add(struct others *o, const struct row_reader *t, const struct best_rows *best,
               const struct row_id *rows, size_t count);
/* Fills the values of the row. */
int others_values(struct others *o, struct value *values);

#endif
