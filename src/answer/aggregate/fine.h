/* fine.h - moments of doubles, and of all values where skew and kurtosis are selected.
 *
 * Used by:   answer/aggregate: worker.c and scan.c fill it, tell.c and other.c read it.
 * Path:      a worker collects entries of a chunk (worker.h); scan.c merges them in (file, chunk)
 *            order into struct aggregate_fine.
 * Exactness: within a chunk in row order, and chunks in (file, chunk) order: results are equal to
 *            the last bit whatever the number of threads. With other chunks, sums of doubles may
 *            differ in the last bits.
 * Threads:   one at a time. Memory: charged to the budget of the plan until fine_done.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_FINE_H
#define DFTRACERD_ANSWER_AGGREGATE_FINE_H

#include "answer/aggregate/plan.h"
#include "dftracerd/measure.h"
#include "dftracerd/vec.h"

/* Doubles (and all values where skew and kurtosis are asked for). */
struct fine {
    struct moments_f64 m;
    double m3, m4;
};
struct fine_entry {
    uint32_t group;
    uint16_t set, measure;
    struct fine fine;
};

void fine_add(struct fine *f, double value, bool shape);
void fine_merge(struct fine *f, const struct fine *other);

/* Doubles of groups, merged in (file, chunk) order. */
struct aggregate_fine {
    struct group_table table[SETS];
    VEC(struct fine) fine[SETS]; /* by group and measure */
};
static inline struct fine *fine_at(const struct aggregate_plan *p, const struct aggregate_fine *d,
                                   unsigned set, int64_t group, unsigned measure)
{
    return &d->fine[set].at[(size_t)group * p->measure_count + measure];
}
const struct fine *fine_find(const struct aggregate_plan *p, const struct aggregate_fine *d,
                             unsigned set, const uint64_t *keys, unsigned measure);
int fine_grow(const struct aggregate_plan *p, struct aggregate_fine *d, unsigned set,
              uint32_t count);
void fine_done(struct aggregate_fine *d);

#endif
