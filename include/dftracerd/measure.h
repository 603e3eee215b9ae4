/* measure.h - moments, quantile sketch, power-of-two histogram: numbers about many numbers.
 *
 * May use:   base (src/base/measure*.c is a part of it). Used by: index (summaries), engine,
 *            answer, replay.
 * Threads:   values; a thread at a time each.
 * Exactness: integer moments are exact and do not depend on the order of adding or merging.
 *            Sketches merge without loss: the merge of two equals the sketch of all values. Sums of
 *            doubles depend on the order of adding: callers add in row order within a chunk and
 *            merge in (file, chunk) order.
 * Units:     sketches of times are of doubles in microseconds, whatever the unit of a file, so that
 *            those of files with different units can be merged and stay within 1 %.
 */
#ifndef DFTRACERD_MEASURE_H
#define DFTRACERD_MEASURE_H

#include "dftracerd/base.h"

/* Moments of integers in units of 1, or of 1/1000 if `nano` (times in ns, printed in us). */
struct moments {
    uint64_t count;
    bool nano;
    __int128 sum;
    unsigned __int128 squares; /* low 128 bits of the sum of squares */
    uint64_t squares_high;     /* the next 64 */
    __int128 min, max;         /* meaningless while count is 0 */
};
/* Sums of many values may come without their minimum (INT64_MAX stands for it), or without their
 * maximum (INT64_MIN). */
static inline bool moments_min_is_known(const struct moments *m)
{
    return m->min <= m->max || m->min < INT64_MAX;
}
static inline bool moments_max_is_known(const struct moments *m)
{
    return m->min <= m->max || m->max > INT64_MIN;
}
/* Moments of one group within one chunk (int64 values of one unit). 64 bytes. Zero-initialise; min
 * and max are valid if count > 0. Exact while count * max(|min|, |max|)^2 < 2^128, which values
 * below 2^51 never exceed. Where the column of a chunk has larger ones (column.min, max), they are
 * added by moments_add instead. */
struct moments_part {
    uint64_t count;
    int64_t min, max;
    __int128 sum;
    unsigned __int128 squares;
};

void moments_add(struct moments *m, int64_t value, bool nano);
void moments_add_part(struct moments *m, const struct moments_part *p, bool nano);
/* Converts to nano if the units differ. */
void moments_merge(struct moments *m, const struct moments *other);
double moments_mean(const struct moments *m); /* in whole units (us), count > 0 */
/* sample (n-1), count > 1; from the exact sums, in long double */
double moments_std(const struct moments *m);

/* Moments of doubles: the sum by compensated addition; mean and m2 (the sum of (x-mean)^2) by
 * Welford's method. Parts are merged by the pairwise formula. */
struct moments_f64 {
    uint64_t count;
    double mean, m2, min, max, sum, comp;
};
void moments_f64_add(struct moments_f64 *m, double value);
void moments_f64_merge(struct moments_f64 *m, const struct moments_f64 *other);
/* Adds the integers of a column that also has doubles, as doubles in whole units. If their minimum
 * or maximum is unknown, that of m does not change. */
void moments_f64_merge_integers(struct moments_f64 *m, const struct moments *integers);

/* Quantile sketch over doubles (times in us, sizes in bytes ...): bins by the top bits of the IEEE
 * representation, 128 bins an octave, so that a quantile is within 0.4 % of the value of its rank;
 * exact for integers below 256, and for all values while there are at most SKETCH_EXACT of them. A
 * quantile is never outside [min, max]. */
#define SKETCH_EXACT 64
struct sketch; /* opaque, *new* by sketch_new */
struct sketch *sketch_new(void);
void sketch_free(struct sketch *s);
/* Those that return an int return 0 or -ENOMEM. */
int sketch_add(struct sketch *s, double value);
int sketch_add_many(struct sketch *s, double value, uint64_t n);
/* Adds whole numbers, in units of 1/1000 if `nano`; much faster than one by one. */
int sketch_add_all(struct sketch *s, const int64_t *values, size_t n, bool nano);
int sketch_merge(struct sketch *s, const struct sketch *other);
uint64_t sketch_count(const struct sketch *s);
/* Returns the value of rank max(1, ceil(q * n)), 0 <= q <= 1, n > 0. `integers`: all values are
 * whole numbers, so the result is rounded to one. */
double sketch_quantile(const struct sketch *s, double q, bool integers);
void sketch_encode(const struct sketch *s, struct buf *out);
/* Returns the bytes read, ERR_CORRUPT or -ENOMEM. */
ssize_t sketch_decode(const void *data, size_t len, struct sketch **ret);
/* Calls each(arg, bin, number of values) for each bin, ascending; a sketch that still keeps all
 * values may do so several times for a bin. */
void sketch_each_bin(const struct sketch *s, void (*each)(void *arg, uint32_t bin, uint64_t count),
                     void *arg);
/* The bin of a value, and a value of a bin. Bins are ordered as values are. */
uint32_t sketch_bin(double value);
double sketch_bin_value(uint32_t bin, bool integers);

/* Histogram: bin 0 = [0], bin k = [2^(k-1), 2^k); values below 0 or null are not counted. Bins are
 * in whole units: a time of 1.5 us is in [1, 2), one of 0.5 us in (0, 1), which is bin 65. */
#define HISTOGRAM_BINS 66
struct histogram {
    uint64_t count[HISTOGRAM_BINS];
};
void histogram_add(struct histogram *h, int64_t value, bool nano);
void histogram_add_all(struct histogram *h, const int64_t *values, size_t n, bool nano);
void histogram_merge(struct histogram *h, const struct histogram *other);
/* Sets lo and hi of a bin: 0 and 0 for bin 0, 0 and 1 for bin 65, else 2^(k-1) and 2^k. */
void histogram_range(unsigned bin, double *ret_lo, double *ret_hi);

#endif
