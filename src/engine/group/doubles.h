/* doubles.h - moments of doubles by group, and of all values where skew and kurtosis are wanted.
 *
 * Used by:   number.c fills them; scan.c merges them; answers read them.
 * Path:      a worker collects entries of a chunk (worker.h) -> doubles_take makes a part of them
 *            -> doubles_put merges parts in (file, chunk) order into struct group_doubles.
 * Exactness: within a chunk in row order, and chunks in (file, chunk) order: results are equal to
 *            the last bit whatever the number of threads. With other chunks, sums of doubles may
 *            differ in the last bits.
 * Threads:   one at a time. Memory: charged to the budget until doubles_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_DOUBLES_H
#define DFTRACERD_ENGINE_GROUP_DOUBLES_H

#include "base/group_table.h"
#include "dftracerd/measure.h"
#include "dftracerd/vec.h"

struct group_worker;
struct grouping;
/* of four orders where `shape` is wanted */
struct fine {
    struct moments_f64 m;
    double m3, m4;
};
/* Sums around the first value of a chunk: quicker than struct fine. */
struct shifted {
    uint64_t count;
    double shift, sum, offsets, squares, min, max;
};
struct doubles_entry {
    uint32_t group;
    uint16_t set, acc;
    bool is_fine;
    union {
        struct shifted shifted;
        struct fine fine;
    };
};
static inline void shifted_add(struct shifted *s, double value)
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
void fine_add(struct fine *f, double value);
void fine_merge(struct fine *f, const struct fine *other);
/* Its moments, as which they are kept from now on. */
struct fine *entry_fine(struct doubles_entry *e);
static inline void entry_add(struct doubles_entry *e, double value, bool shape)
{
    if (shape || e->is_fine)
        fine_add(entry_fine(e), value);
    else
        shifted_add(&e->shifted, value);
}

/* All of a scan, by set. */
struct group_doubles {
    unsigned set_count;
    struct set_doubles {
        struct group_table table; /* of tuples as they are told */
        unsigned acc_count;
        VEC(struct fine) fine; /* by group and accumulator */
    } * set;
};
int doubles_init(struct group_doubles *d, const struct grouping *g);
void doubles_done(struct group_doubles *d);
static inline struct fine *doubles_at(const struct set_doubles *s, int64_t group, unsigned acc)
{
    return &s->fine.at[(size_t)group * s->acc_count + acc];
}
/* NULL: the group has no doubles. */
const struct fine *doubles_find(const struct set_doubles *s, const uint64_t *keys, unsigned acc);
/* The group of these keys, with room: negative as group_table_add. */
int64_t doubles_add(struct set_doubles *s, const uint64_t *keys);

/* The entries of a chunk on their way to their place in (file, chunk) order. */
struct doubles_part;
/* Takes them from the worker; *ret: *new*, or NULL where there are none. */
int doubles_take(struct group_worker *w, struct doubles_part **ret);
/* Frees the part. */
int doubles_put(const struct grouping *g, struct group_doubles *d, struct doubles_part *part,
                bool failed);

#endif
