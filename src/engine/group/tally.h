/* tally.h - moments and sample of one measured quantity of one group, and the loops that fill
 * them.
 *
 * Integers (durations, sizes, offsets) go into a struct tally: exact whatever the order. Doubles
 * (bandwidth, and sizes or offsets that some tracer wrote as fractions) go into a struct tally for
 * their sample, and into chunk_f64 for their moments, which are merged in (file, chunk) order.
 */
#ifndef DFTRACERD_ENGINE_GROUP_TALLY_H
#define DFTRACERD_ENGINE_GROUP_TALLY_H

#include "engine/group/sample.h"

struct tally {
    struct moments_part part; /* of one unit: sample.part_nano */
    struct sample sample;
    struct moments *more; /* what does not fit into part: other unit, huge values */
};
void tally_init(struct tally *t);
/* v[i] goes to all[group[i]]; group NULL: to all[0]. */
int tally_add_i64(struct sample_memory *m, struct tally *all, const uint32_t *group,
                  const int64_t *v, uint32_t n, bool nano);
int tally_merge(struct sample_memory *m, struct tally *into, const struct tally *from);
void tally_moments(const struct tally *t, struct moments *ret);
/* Moves part into more: before 2^32 values were added. */
int tally_fold(struct sample_memory *m, struct tally *t);

/* Moments of doubles of one group within one chunk, around its first value. */
struct chunk_f64 {
    uint64_t count;
    double shift, sum, offsets, squares, min, max;
};
void chunk_f64_moments(const struct chunk_f64 *c, struct moments_f64 *ret);

#endif
