/* measure.h - computes the struct measured of an answer from moments and samples.
 *
 * Used by:   answer/stats, answer/compare.
 * Path:      struct quantity (engine/group/groups.h) -> quantity_measure -> struct measured.
 * Threads:   values; one thread at a time each. Memory: none is kept.
 */
#ifndef DFTRACERD_ANSWER_STATS_MEASURE_H
#define DFTRACERD_ANSWER_STATS_MEASURE_H

#include "dftracerd/stats.h"
#include "engine/group/groups.h"

/* If `q` has doubles, the results are doubles. Returns 0 or an error of sample_ranks. */
int quantity_measure(const struct quantity *q, bool time, struct measured *ret);
extern const unsigned stats_percents[STATS_QUANTILES];
/* Returns max(1, ceil(percent * n / 100)). */
uint64_t stats_rank(unsigned percent, uint64_t n);
/* Sets all members but the quantiles. */
void moments_measure(const struct moments *m, bool time, struct measured *ret);

#endif
