/* histogram.h - /histogram: the distribution of the values of a column.
 *
 * Used by:   http.
 * Path:      histogram_run: a scan for the minimum and maximum if bins are linear, and one that
 *            counts -> struct value_histogram -> histogram_type.
 * Memory:    the bins of each worker.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_HISTOGRAM_H
#define DFTRACERD_HISTOGRAM_H

#include "dftracerd/query.h"
#include "dftracerd/stats.h"

/* The distribution of the numbers of a column, times in us. Empty bins are omitted. */
struct value_histogram {
    struct query_counters counters;
    bool complete;
    const char *column;       /* borrowed */
    uint64_t objects, values; /* selected; those with a number in the column */
    uint64_t outside;         /* with powers of two: numbers below 0, or 2^64 and more */
    struct stats_bin *bins;
    size_t count;
    struct arena arena;
};
extern const struct object_type histogram_type;
/* bins 0: as struct histogram; otherwise this number of bins of equal width from the minimum to the
 * maximum, both included (doubles beyond 2^53 are approximate). Returns 0 with *new*, ERR_PARAM
 * (err.param "column"), or another error of the query. */
int histogram_run(struct query *q, const char *column, uint32_t bins, struct err *err,
                  struct value_histogram **ret);
void histogram_free(struct value_histogram *h);

#endif
