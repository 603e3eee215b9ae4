/* prefixes.h - divides the groups into passes if memory does not suffice for all of them at once.
 *
 * Used by:   aggregate.c.
 * Path:      Rows are in the order of their keys, so those with the same first keys lie together.
 *            prefixes_find counts the rows of each such prefix; prefixes_take returns a run of
 *            prefixes whose groups fit into memory, and aggregate.c scans the columns again for
 *            each run (passes.h). If a key is a time, and there would be too many prefixes with its
 *            values, they have longer intervals of time instead. Nothing is written to disk: the
 *            first pass records which prefixes each chunk has, and later passes open only chunks
 *            with prefixes of theirs. The answer is that of a single scan to the last bit, because
 *            all rows of a group are summed up in one pass.
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
/* Returns the end of the run of prefixes that begins at `from` (with one at least) and has at most
 * `rows` rows; *ret_rows: their number. */
size_t prefixes_take(const struct prefixes *x, size_t from, uint64_t rows, uint64_t *ret_rows);

#endif
