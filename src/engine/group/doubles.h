/* doubles.h - moments of doubles by group; of integers, too, if skew and kurtosis are requested.
 *
 * Used by:   number.c fills them; scan.c and spread.c merge them; answers read them.
 * Path:      a worker collects the entries of a chunk (worker.h) -> doubles_detach moves them to a
 *            part -> doubles_merge merges parts in (file, chunk) order into struct group_doubles.
 * Exactness: values are added in row order within a chunk, and chunks in (file, chunk) order, so
 *            results are bit-identical whatever the number of threads. If the same rows are divided
 *            into other chunks, the last bits may differ.
 * Threads:   one at a time. Memory: charged to the budget until doubles_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_DOUBLES_H
#define DFTRACERD_ENGINE_GROUP_DOUBLES_H

#include "base/group_table.h"
#include "dftracerd/measure.h"
#include "dftracerd/vec.h"

struct group_worker;
struct grouping;
/* Moments up to the fourth order; m3 and m4 only with `shape`. */
struct float_moments {
    struct moments_f64 m;
    double m3, m4;
};
/* Sums of differences to the first value of a chunk: faster to add to than struct float_moments. */
struct shifted_sums {
    uint64_t count;
    double shift, sum, offsets, squares, min, max;
};
struct doubles_entry {
    uint32_t group;
    uint16_t set, acc;
    bool has_moments; /* float_moments is valid, else shifted */
    union {
        struct shifted_sums shifted;
        struct float_moments float_moments;
    };
};
static inline void shifted_sums_add(struct shifted_sums *s, double value)
{
    if (s->count++ == 0)
        s->shift = s->min = s->max = value;
    double offset = value - s->shift;
    s->sum += value;
    s->offsets += offset;
    s->squares += offset * offset;
    s->min = value < s->min ? value : s->min;
    s->max = value > s->max ? value : s->max;
}
void float_moments_add(struct float_moments *f, double value);
void float_moments_merge(struct float_moments *f, const struct float_moments *other);
/* Converts an entry to moments, if it has sums. */
struct float_moments *entry_float_moments(struct doubles_entry *e);
static inline void entry_add(struct doubles_entry *e, double value, bool shape)
{
    if (shape || e->has_moments)
        float_moments_add(entry_float_moments(e), value);
    else
        shifted_sums_add(&e->shifted, value);
}

/* The doubles of a scan, by set. */
struct group_doubles {
    unsigned set_count;
    struct set_doubles {
        struct group_table table; /* of tuples of keys, translated */
        unsigned acc_count;
        VEC(struct float_moments) float_moments; /* by group and accumulator */
    } * set;
};
int doubles_init(struct group_doubles *d, const struct grouping *g);
void doubles_done(struct group_doubles *d);
static inline struct float_moments *doubles_at(const struct set_doubles *s, int64_t group,
                                               unsigned acc)
{
    return &s->float_moments.at[(size_t)group * s->acc_count + acc];
}
/* Returns NULL if the group has no doubles. */
const struct float_moments *doubles_find(const struct set_doubles *s, const uint64_t *keys,
                                         unsigned acc);
/* Adds a group; returns its number, or a negative error as group_table_add. */
int64_t doubles_add(struct set_doubles *s, const uint64_t *keys);

/* The entries of a chunk, until they are merged in (file, chunk) order. */
struct doubles_part;
/* Moves the entries of the worker to *ret: *new*, or NULL if there are none. */
int doubles_detach(struct group_worker *w, struct doubles_part **ret);
/* Merges the part, unless the scan has failed, and frees it. */
int doubles_merge(const struct grouping *g, struct group_doubles *d, struct doubles_part *part,
                  bool failed);

#endif
