/* result.h - memory of the answer of /stats: rows and texts are in its arena.
 *
 * Used by:   stats.c, summary.c; answer/compare (stats_time), answer/small (stats_bins).
 * Threads:   one. Memory: freed by stats_free.
 */
#ifndef DFTRACERD_ANSWER_STATS_RESULT_H
#define DFTRACERD_ANSWER_STATS_RESULT_H

#include "dftracerd/stats.h"

/* Returns the error of the budget, else that of the arena, else 0. */
int stats_step(struct stats *s);
/* Allocates rows in the arena, unless *error is set already. Sets *error. */
void *stats_rows(struct stats *s, size_t count, size_t each, int *error);
struct value stats_time(__int128 ns);
int stats_set_histogram(struct stats *s, const struct histogram *h);
/* Stores the bins that are not empty, ascending, and returns their number. counts: as in struct
 * histogram; ret: HISTOGRAM_BINS elements. */
size_t stats_bins(const uint64_t *counts, struct stats_bin *ret);

#endif
