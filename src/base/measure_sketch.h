/* measure_sketch.h - private to the base module: struct sketch, for measure_sketch.c and
 * measure_encode.c. */
#ifndef DFTRACERD_BASE_MEASURE_SKETCH_H
#define DFTRACERD_BASE_MEASURE_SKETCH_H

#include "dftracerd/measure.h"

struct sketch_pair {
    uint32_t bin;
    uint64_t count;
};
struct sketch {
    uint64_t count; /* of values */
    double min, max;
    bool binned; /* count > SKETCH_EXACT */
    uint32_t values_cap, pair_count, pairs_cap;
    uint32_t first, window;    /* bins [first, first + window) have their counts in dense32 or 64 */
    double *values;            /* not binned */
    struct sketch_pair *pairs; /* binned, ascending; none of them in the window */
    uint32_t *dense32;
    uint64_t *dense64; /* instead of dense32, once a count needs it */
};

static inline uint64_t sketch_dense_at(const struct sketch *s, uint32_t i)
{
    return s->dense64 ? s->dense64[i] : s->dense32[i];
}
uint32_t sketch_pairs_below(const struct sketch *s, uint32_t bin); /* a number of pairs */
/* Copies the values of a sketch that is not binned, and sorts them. */
void sketch_sorted_values(const struct sketch *s, double ret[SKETCH_EXACT]);

/* A cursor over all bins with values, ascending: pairs below the window, the window, pairs
 * above. */
struct sketch_walk {
    uint32_t bin;
    uint64_t count;
    uint32_t next;  /* number of the next pair or bin of the window, in the order of bins */
    uint32_t below; /* number of pairs below the window */
};
static inline struct sketch_walk sketch_walk(const struct sketch *s)
{
    return (struct sketch_walk){.below =
                                    s->window ? sketch_pairs_below(s, s->first) : s->pair_count};
}
static inline bool sketch_walk_next(const struct sketch *s, struct sketch_walk *w)
{
    for (; w->next < s->pair_count + s->window; w->next++) {
        uint32_t i = w->next;
        if (i >= w->below && i < w->below + s->window) {
            w->bin = s->first + i - w->below;
            w->count = sketch_dense_at(s, i - w->below);
        } else {
            const struct sketch_pair *p = &s->pairs[i < w->below ? i : i - s->window];
            w->bin = p->bin;
            w->count = p->count;
        }
        if (w->count > 0) {
            w->next++;
            return true;
        }
    }
    return false;
}

#endif
