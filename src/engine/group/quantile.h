/* quantile.h - percentiles as exact fractions.
 *
 * Used by:   answer/aggregate, answer/compare.
 * Threads:   any. Memory: names are in the arena of the caller.
 */
#ifndef DFTRACERD_ENGINE_GROUP_QUANTILE_H
#define DFTRACERD_ENGINE_GROUP_QUANTILE_H

#include "dftracerd/base.h"

/* q as an exact fraction: part / whole. */
struct quantile {
    const char *name;
    uint64_t part, whole;
};

/* "0.999" or "99.9" (of = 1 or 100) as a fraction with its name ("p99.9"). Returns 0, -EINVAL or
 * -ENOMEM. */
int quantile_parse(struct arena *arena, struct text t, unsigned of, struct quantile *ret);

#endif
