/* histogram.h - /histogram: how many objects have which value of a column.
 *
 * Used by:   http.
 * Path:      histogram_run: a scan for the least and greatest value where bins are linear, and one
 *            that counts -> struct value_histogram -> histogram_type.
 * Memory:    the bins of each worker.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_HISTOGRAM_H
#define DFTRACERD_HISTOGRAM_H

#include "dftracerd/query.h"
#include "dftracerd/stats.h"

/* Of the numbers of a column; times in us. Bins that have any. */
struct value_histogram {
    struct query_counters counters;
    bool complete;
    const char *column;       /* borrowed */
    uint64_t objects, values; /* selected; that have a number there */
    uint64_t outside;         /* powers of two: numbers below 0 or beyond 2^64 */
    struct stats_bin *bins;
    size_t count;
    struct arena arena;
};
/* bins 0: as struct histogram; else so many of equal width from the least to the greatest value,
 * both of which are in a bin (doubles: beyond 2^53 near the right ones). *new*. ERR_PARAM
 * (err.param "column"), ... */
extern const struct object_type histogram_type;
int histogram_run(struct query *q, const char *column, uint32_t bins, struct err *err,
                  struct value_histogram **ret);
void histogram_free(struct value_histogram *h);

#endif
