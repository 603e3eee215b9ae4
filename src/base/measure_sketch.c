/* measure_sketch.c - quantiles: all values while they are few, then counts of bins.
 *
 * A bin has all doubles with the same sign, exponent and first 7 bits of the fraction: 128 bins an
 * octave, each at most 1/128 of its lower end wide. A quantile is the middle of a bin, so it
 * differs by at most 1/256 = 0.39 % from the value of that rank, which is in the same bin. Whole
 * numbers below 256 have a bin each: they are exact. Zero and values nearer to it than 1.6e-310
 * share the bin of 0.
 *
 * Memory: up to SKETCH_EXACT doubles; then sorted (bin, count) pairs; then, if bins are close
 * together, a window of counts, 4 bytes each until a count needs 8, and pairs for bins far from it
 * (0 is 130,000 bins away from 1, and both are frequent). Durations span 20 octaves: 10 KB; most
 * groups stay below 1 KB. Quantiles and sketch_encode depend on the values only, not on the form.
 */
#include "base/measure_sketch.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPARSE_MAX 512u
#define NEARBY 256u /* two octaves: the window grows this far for a single bin */
#define ZERO_BIN 0x80000000u
#define BIN_SHIFT 45

struct sketch *sketch_new(void)
{
    return calloc(1, sizeof(struct sketch));
}

void sketch_free(struct sketch *s)
{
    if (s == NULL)
        return;
    free(s->values);
    free(s->pairs);
    free(s->dense32);
    free(s->dense64);
    free(s);
}

uint64_t sketch_count(const struct sketch *s)
{
    return s->count;
}

/* ---- bins ------------------------------------------------------------------------------------ */

uint32_t sketch_bin(double value)
{
    double size = fabs(value);
    uint64_t bits;

    memcpy(&bits, &size, sizeof(bits));
    bits >>= BIN_SHIFT;
    return value < 0 ? ZERO_BIN - (uint32_t)bits : ZERO_BIN + (uint32_t)bits;
}

static double bin_edge(uint64_t place)
{
    uint64_t bits = place << BIN_SHIFT;
    double edge;

    memcpy(&edge, &bits, sizeof(edge));
    return edge;
}

double sketch_bin_value(uint32_t bin, bool integers)
{
    uint64_t place = bin >= ZERO_BIN ? bin - ZERO_BIN : ZERO_BIN - bin;
    double low = bin_edge(place), width = bin_edge(place + 1) - low, value;

    if (place == 0)
        return 0;
    if (!isfinite(width))
        value = low;
    else if (!integers)
        value = low + width / 2;
    else
        value = width <= 1 ? ceil(low) : low + floor((width - 1) / 2);
    return bin >= ZERO_BIN ? value : -value;
}

/* ---- growing from form to form --------------------------------------------------------------- */

static int widen_counts(struct sketch *s)
{
    s->dense64 = malloc((size_t)s->window * sizeof(*s->dense64));
    if (s->dense64 == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->window; i++)
        s->dense64[i] = s->dense32[i];
    free(s->dense32);
    s->dense32 = NULL;
    return 0;
}

static bool in_window(const struct sketch *s, uint32_t bin)
{
    return bin - s->first < s->window;
}

static int dense_add(struct sketch *s, uint32_t bin, uint64_t n)
{
    if (s->dense32 != NULL && n > UINT32_MAX - (uint64_t)s->dense32[bin - s->first] &&
        widen_counts(s) < 0)
        return -ENOMEM;
    if (s->dense32 != NULL)
        s->dense32[bin - s->first] += (uint32_t)n;
    else
        s->dense64[bin - s->first] += n;
    return 0;
}

/* Extends the window to all of [low, high] and some bins beyond. */
static int widen_window(struct sketch *s, uint32_t low, uint32_t high)
{
    int rc = 0;
    uint32_t kept = 0, i = 0;
    uint32_t first = s->window ? s->first : low, end = s->window ? s->first + s->window : low;
    uint32_t size = s->dense64 ? 8 : 4;
    void *old = s->dense64 ? (void *)s->dense64 : (void *)s->dense32, *new;

    first = low < first ? low - 64 : first;
    end = high >= end ? high + 64 : end;
    new = calloc(end - first, size);
    if (new == NULL)
        return -ENOMEM;
    if (s->window > 0)
        memcpy((char *)new + (size_t)(s->first - first) * size, old, (size_t)s->window * size);
    free(old);
    if (size == 8)
        s->dense64 = new;
    else
        s->dense32 = new;
    s->first = first;
    s->window = end - first;
    if (s->pair_count == 0)
        return 0;
    /* Pairs within the new window become counts of it. */
    for (; i < s->pair_count; i++) {
        if (!in_window(s, s->pairs[i].bin))
            s->pairs[kept++] = s->pairs[i];
        else if ((rc = dense_add(s, s->pairs[i].bin, s->pairs[i].count)) < 0)
            break;
    }
    memmove(s->pairs + kept, s->pairs + i, (s->pair_count - i) * sizeof(*s->pairs));
    s->pair_count -= i - kept;
    return rc;
}

uint32_t sketch_pairs_below(const struct sketch *s, uint32_t bin)
{
    uint32_t low = 0, high = s->pair_count;

    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (s->pairs[mid].bin < bin)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The largest number of neighbouring pairs without a gap of more than NEARBY becomes the window, if
 * that takes less memory or the pairs are too many to keep sorted by moving. */
static int make_window(struct sketch *s, bool must)
{
    uint32_t best = 0, best_count = 0, start = 0;

    for (uint32_t i = 1; i <= s->pair_count; i++) {
        if (i < s->pair_count && s->pairs[i].bin - s->pairs[i - 1].bin <= NEARBY)
            continue;
        if (i - start > best_count) {
            best = start;
            best_count = i - start;
        }
        start = i;
    }
    uint32_t low = s->pairs[best].bin, high = s->pairs[best + best_count - 1].bin;
    if (!must && (high - low + 128) * 4 > best_count * sizeof(*s->pairs))
        return 0;
    return widen_window(s, low, high);
}

/* Tries to make a window each time the number of pairs has doubled. */
static int after_new_pair(struct sketch *s)
{
    uint32_t n = s->pair_count;

    if (n >= SPARSE_MAX && s->window > 0)
        return widen_window(s, s->pairs[0].bin, s->pairs[n - 1].bin);
    if (n >= SPARSE_MAX || (s->window == 0 && n >= 32 && (n & (n - 1)) == 0))
        return make_window(s, n >= SPARSE_MAX);
    return 0;
}

static int sparse_add(struct sketch *s, uint32_t bin, uint64_t n)
{
    uint32_t at = sketch_pairs_below(s, bin);

    if (at < s->pair_count && s->pairs[at].bin == bin) {
        s->pairs[at].count += n;
        return 0;
    }
    if (s->pair_count == s->pairs_cap) {
        uint32_t cap = s->pairs_cap ? s->pairs_cap * 2 : 32;
        struct sketch_pair *pairs = realloc(s->pairs, cap * sizeof(*pairs));
        if (pairs == NULL)
            return -ENOMEM;
        s->pairs = pairs;
        s->pairs_cap = cap;
    }
    memmove(s->pairs + at + 1, s->pairs + at, (s->pair_count - at) * sizeof(*s->pairs));
    s->pairs[at] = (struct sketch_pair){bin, n};
    s->pair_count++;
    return after_new_pair(s);
}

static int bin_add(struct sketch *s, uint32_t bin, uint64_t n)
{
    if (s->window > 0 && !in_window(s, bin) && bin + NEARBY >= s->first &&
        bin < s->first + s->window + NEARBY) {
        int rc = widen_window(s, bin, bin);
        if (rc < 0)
            return rc;
    }
    return in_window(s, bin) ? dense_add(s, bin, n) : sparse_add(s, bin, n);
}

static int values_to_bins(struct sketch *s)
{
    for (uint64_t i = 0; i < s->count; i++)
        if (bin_add(s, sketch_bin(s->values[i]), 1) < 0)
            return -ENOMEM;
    free(s->values);
    s->values = NULL;
    s->values_cap = 0;
    s->binned = true;
    return 0;
}

static int keep_values(struct sketch *s, double value, uint64_t n)
{
    while (s->values_cap < s->count + n) {
        uint32_t cap = s->values_cap ? s->values_cap * 2 : 8;
        double *values = realloc(s->values, cap * sizeof(*values));
        if (values == NULL)
            return -ENOMEM;
        s->values = values;
        s->values_cap = cap;
    }
    for (uint64_t i = 0; i < n; i++)
        s->values[s->count + i] = value;
    return 0;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void widen_range(struct sketch *s, double min, double max)
{
    if (s->count == 0 || min < s->min)
        s->min = min;
    if (s->count == 0 || max > s->max)
        s->max = max;
}

int sketch_add_many(struct sketch *s, double value, uint64_t n)
{
    if (n == 0 || isnan(value))
        return 0;
    value += 0.0; /* -0 is 0 */
    if (!s->binned && s->count + n > SKETCH_EXACT && values_to_bins(s) < 0)
        return -ENOMEM;
    int rc = s->binned ? bin_add(s, sketch_bin(value), n) : keep_values(s, value, n);
    if (rc < 0)
        return rc;
    widen_range(s, value, value);
    s->count += n;
    return 0;
}

int sketch_add(struct sketch *s, double value)
{
    return sketch_add_many(s, value, 1);
}

/* ---- many at once: counted in an array first, so that each bin is looked for once ------------ */

enum { COUNTS = 4096 }; /* 32 octaves */

/* Returns a value in whole units. */
static double in_units(int64_t value, bool nano)
{
    return nano ? (double)value / 1000.0 : (double)value;
}

static int add_one_by_one(struct sketch *s, const int64_t *values, size_t n, bool nano)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = sketch_add(s, in_units(values[i], nano));
    return rc;
}

/* All values are >= 0; the smallest above 0 is `min`. */
static int add_counted(struct sketch *s, const int64_t *values, size_t n, bool nano, int64_t min,
                       int64_t max)
{
    uint32_t first = sketch_bin(in_units(min, nano)),
             span = sketch_bin(in_units(max, nano)) - first + 1;
    uint32_t counts[COUNTS], zeros = 0, used = 0;
    int rc = 0;

    if (span > COUNTS)
        return add_one_by_one(s, values, n, nano);
    if (!s->binned && values_to_bins(s) < 0)
        return -ENOMEM;
    memset(counts, 0, span * sizeof(*counts));
    for (size_t i = 0; i < n; i++) {
        if (values[i] == 0)
            zeros++;
        else
            counts[sketch_bin(in_units(values[i], nano)) - first]++;
    }
    /* The window grows once for all values, if that pays. */
    for (uint32_t i = 0; i < span; i++)
        used += counts[i] > 0;
    if (s->window == 0 && s->pair_count == 0 && (span + 128) * 4 <= used * sizeof(*s->pairs))
        rc = widen_window(s, first, first + span - 1);
    for (uint32_t i = 0; i < span && rc == 0; i++)
        if (counts[i] > 0)
            rc = bin_add(s, first + i, counts[i]);
    if (rc == 0 && zeros > 0)
        rc = bin_add(s, ZERO_BIN, zeros);
    if (rc == 0) {
        widen_range(s, in_units(zeros ? 0 : min, nano), in_units(max, nano));
        s->count += n;
    }
    return rc;
}

int sketch_add_all(struct sketch *s, const int64_t *values, size_t n, bool nano)
{
    int64_t min = INT64_MAX, max = 0;
    bool negative = false;

    for (size_t i = 0; i < n; i++) {
        negative |= values[i] < 0;
        max = values[i] > max ? values[i] : max;
        min = values[i] != 0 && values[i] < min ? values[i] : min;
    }
    if (!negative && max == 0)
        return sketch_add_many(s, 0, n);
    if (negative || s->count + n <= SKETCH_EXACT || n > UINT32_MAX)
        return add_one_by_one(s, values, n, nano);
    return add_counted(s, values, n, nano, min, max);
}

int sketch_merge(struct sketch *s, const struct sketch *other)
{
    int rc = 0;

    if (other->count == 0)
        return 0;
    if (!other->binned) {
        for (uint64_t i = 0; rc == 0 && i < other->count; i++)
            rc = sketch_add(s, other->values[i]);
        return rc;
    }
    if (!s->binned && values_to_bins(s) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < other->pair_count; i++)
        rc = bin_add(s, other->pairs[i].bin, other->pairs[i].count);
    for (uint32_t i = 0; rc == 0 && i < other->window; i++)
        if (sketch_dense_at(other, i) > 0)
            rc = bin_add(s, other->first + i, sketch_dense_at(other, i));
    widen_range(s, other->min, other->max);
    s->count += other->count;
    return rc;
}

/* ---- queries --------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void sketch_sorted_values(const struct sketch *s, double ret[SKETCH_EXACT])
{
    if (s->count)
        memcpy(ret, s->values, s->count * sizeof(*ret));
    qsort(ret, s->count, sizeof(*ret), compare_doubles);
}

/* Returns the bin of a rank (from 1); counts add up to s->count. */
static uint32_t bin_of_rank(const struct sketch *s, uint64_t rank)
{
    uint64_t below = 0;

    for (struct sketch_walk w = sketch_walk(s); sketch_walk_next(s, &w);)
        if ((below += w.count) >= rank)
            return w.bin;
    return sketch_bin(s->max);
}

double sketch_quantile(const struct sketch *s, double q, bool integers)
{
    double last = (double)s->count, exact = ceil(q * last);
    uint64_t rank = exact < 1 ? 1 : exact >= last ? s->count : (uint64_t)exact;

    assert(s->count > 0);
    if (!s->binned) {
        double values[SKETCH_EXACT];
        sketch_sorted_values(s, values);
        return values[rank - 1];
    }
    if (rank == s->count)
        return s->max;
    if (rank == 1)
        return s->min;
    double value = sketch_bin_value(bin_of_rank(s, rank), integers);
    return value < s->min ? s->min : value > s->max ? s->max : value;
}

void sketch_each_bin(const struct sketch *s, void (*each)(void *arg, uint32_t bin, uint64_t count),
                     void *arg)
{
    double values[SKETCH_EXACT];

    if (!s->binned)
        sketch_sorted_values(s, values);
    for (uint64_t i = 0; !s->binned && i < s->count; i++)
        each(arg, sketch_bin(values[i]), 1);
    for (struct sketch_walk w = sketch_walk(s); sketch_walk_next(s, &w);)
        each(arg, w.bin, w.count);
}
