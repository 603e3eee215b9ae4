/* prefixes.h - all groups, one part after another, where memory does not suffice for them at once.
 *
 * Used by:   aggregate.c.
 * Path:      Rows are in the order of their keys, so those with the same first keys lie together.
 *            prefixes_find counts the rows of each such prefix; prefixes_take returns a run of
 *            prefixes whose groups fit into memory, and aggregate.c scans the columns again for
 *            each run (passes.h). Where a key is a time, and prefixes with its values would be too
 *            many themselves, they have stretches of time instead. Nothing is written to disk: the
 *            first scan notes which prefixes each chunk has, and chunks without any of a run are
 *            not opened again. The answer is the one of a single scan to the last bit, for every
 *            group is summed up within one of them.
 * Threads:   one, but for the scans inside. Memory: charged to the budget of the plan until
 *            prefixes_free.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PREFIXES_H
#define DFTRACERD_ANSWER_AGGREGATE_PREFIXES_H

#include "answer/aggregate/passes.h"

/* Finds the shortest prefixes of keys that have at most `rows` rows each, if there are such.
 * ERR_ROW_LIMIT, ERR_MEMORY_LIMIT ... */
int prefixes_find(const struct aggregate_plan *p, uint64_t rows, struct err *err,
                  struct prefixes **ret);
void prefixes_free(struct prefixes *x);
/* The end of the run of prefixes from `from` on (one at least) that has at most `rows` rows;
 * *ret_rows: how many. */
size_t prefixes_take(const struct prefixes *x, size_t from, uint64_t rows, uint64_t *ret_rows);

#endif
