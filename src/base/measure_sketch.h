/* measure_sketch.h - the inside of a sketch, for measure_sketch.c and measure_encode.c. */
#ifndef DFTRACERD_BASE_MEASURE_SKETCH_H
#define DFTRACERD_BASE_MEASURE_SKETCH_H

#include "dftracerd/measure.h"

struct sketch_pair { uint32_t bin; uint64_t count; };
struct sketch {
    uint64_t count;
    double min, max;
    bool binned;                     /* count > SKETCH_EXACT */
    uint32_t values_cap, pair_count, pairs_cap, first, window;
    double *values;                  /* not binned */
    struct sketch_pair *pairs;       /* binned, few */
    uint32_t *dense32;               /* binned, many: bins [first, first + window) */
    uint64_t *dense64;               /* instead, once a count needs it */
};

static inline uint64_t sketch_dense_at(const struct sketch *s, uint32_t i)
{
    return s->dense64 ? s->dense64[i] : s->dense32[i];
}
int sketch_compare(const void *a, const void *b);      /* of doubles, for qsort */

#endif
