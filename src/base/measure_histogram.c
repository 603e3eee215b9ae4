/* measure_histogram.c - counts by power of two. */
#include "dftracerd/measure.h"

#include <math.h>

#define BELOW_ONE 65u /* the bin of times between 0 and 1 us */

void histogram_add(struct histogram *h, int64_t value, bool nano)
{
    if (value < 0)
        return;
    uint64_t us = (uint64_t)(nano ? value / 1000 : value);
    if (nano && value > 0 && value < 1000)
        h->count[BELOW_ONE]++;
    else
        h->count[us ? 64 - __builtin_clzll(us) : 0]++;
}

void histogram_add_all(struct histogram *h, const int64_t *values, size_t n, bool nano)
{
    for (size_t i = 0; i < n; i++)
        histogram_add(h, values[i], nano);
}

void histogram_merge(struct histogram *h, const struct histogram *other)
{
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
        h->count[i] += other->count[i];
}

void histogram_range(unsigned bin, double *ret_lo, double *ret_hi)
{
    *ret_lo = bin == 0 || bin == BELOW_ONE ? 0 : ldexp(1, (int)bin - 1);
    *ret_hi = bin == 0 ? 0 : bin == BELOW_ONE ? 1 : ldexp(1, (int)bin);
}
