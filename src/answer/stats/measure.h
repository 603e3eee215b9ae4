/* measure.h - from moments and samples to the struct measured of an answer.
 *
 * Used by:   answer/stats, answer/compare, answer/calltree.
 * Path:      struct quantity (engine/group/groups.h) of what a scan found -> quantity_measure ->
 *            struct measured.
 * Threads:   values; one thread at a time each. Memory: none is kept.
 */
#ifndef DFTRACERD_ANSWER_STATS_MEASURE_H
#define DFTRACERD_ANSWER_STATS_MEASURE_H

#include "dftracerd/stats.h"
#include "engine/group/groups.h"

/* Where it has doubles, the results are doubles. */
int quantity_measure(const struct quantity *q, bool time, struct measured *ret);
extern const unsigned stats_percents[STATS_QUANTILES];
/* max(1, ceil(percent * n / 100)) */
uint64_t stats_rank(unsigned percent, uint64_t n);
/* sum, mean, std, min, max of exact moments. */
void moments_measure(const struct moments *m, bool time, struct measured *ret);

#endif
