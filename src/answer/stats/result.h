/* result.h - the answer of /stats while it is made: rows and texts in its arena, charged to the
 * budget.
 *
 * Used by:   stats.c, summary.c; answer/compare (stats_time).
 * Threads:   one. Memory: freed by stats_free.
 */
#ifndef DFTRACERD_ANSWER_STATS_RESULT_H
#define DFTRACERD_ANSWER_STATS_RESULT_H

#include "dftracerd/stats.h"

/* What the budget says, else the error of the arena. */
int stats_step(struct stats *s);
/* in the arena; not when *error is set */
void *stats_rows(struct stats *s, size_t count, size_t each, int *error);
struct value stats_time(__int128 ns);
int stats_set_histogram(struct stats *s, const struct histogram *h);

#endif
