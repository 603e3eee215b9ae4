/* measure_moments.c - exact moments of integers; of doubles, a compensated sum, and mean and
 * m2 by Welford's method. Parts are merged by the pairwise formula.
 *
 * Sizes: a value is below 2^63, and below 2^73 after the conversion from us to ns; its square is
 * below 2^146. For up to 2^46 values, the sum fits into 128 bits, the squares into 192. struct
 * moments_part has only 128 bits for squares, which is exact as long as count * max(|min|, |max|)^2
 * < 2^128, so for a chunk of 2^26 rows with values below 2^51 (71 years in microseconds, 26 days in
 * nanoseconds). If the min or max of the column is larger, its values are added one by one
 * with moments_add.
 */
#include "dftracerd/measure.h"

#include <math.h>

/* ---- 192-bit sums ---------------------------------------------------------------------------- */

static void add_squares(struct moments *m, unsigned __int128 low, uint64_t high)
{
    m->squares += low;
    m->squares_high += high + (m->squares < low);
}

/* value^2 for |value| < 2^73 */
static void add_square(struct moments *m, __int128 value)
{
    unsigned __int128 a = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    uint64_t low = (uint64_t)a, high = (uint64_t)(a >> 64);
    unsigned __int128 cross = (unsigned __int128)high * low * 2; /* < 2^75, in units of 2^64 */

    add_squares(m, (unsigned __int128)low * low, 0);
    if (high != 0)
        add_squares(m, cross << 64, (uint64_t)(cross >> 64) + high * high);
}

/* low + high * 2^128, times 10^6 */
static void scale_squares(unsigned __int128 *low, uint64_t *high)
{
    unsigned __int128 a = (unsigned __int128)(uint64_t)*low * 1000000u;
    unsigned __int128 b =
        (unsigned __int128)(uint64_t)(*low >> 64) * 1000000u + (uint64_t)(a >> 64);

    *high = *high * 1000000u + (uint64_t)(b >> 64);
    *low = b << 64 | (uint64_t)a;
}

/* Converts moments from us to ns. */
static void to_nano(struct moments *m)
{
    m->nano = true;
    m->sum *= 1000;
    m->min *= 1000;
    m->max *= 1000;
    scale_squares(&m->squares, &m->squares_high);
}

static void widen_range(struct moments *m, __int128 min, __int128 max)
{
    if (m->count == 0 || min < m->min)
        m->min = min;
    if (m->count == 0 || max > m->max)
        m->max = max;
}

void moments_add(struct moments *m, int64_t value, bool nano)
{
    __int128 v = value;

    if (m->count == 0)
        m->nano = nano;
    if (nano && !m->nano)
        to_nano(m);
    if (m->nano && !nano)
        v *= 1000;
    widen_range(m, v, v);
    m->count++;
    m->sum += v;
    add_square(m, v);
}

void moments_merge(struct moments *m, const struct moments *other)
{
    struct moments o = *other;

    if (o.count == 0)
        return;
    if (m->count == 0) {
        *m = o;
        return;
    }
    if (o.nano && !m->nano)
        to_nano(m);
    if (m->nano && !o.nano)
        to_nano(&o);
    widen_range(m, o.min, o.max);
    m->count += o.count;
    m->sum += o.sum;
    add_squares(m, o.squares, o.squares_high);
}

void moments_add_part(struct moments *m, const struct moments_part *p, bool nano)
{
    struct moments o = {.count = p->count,
                        .nano = nano,
                        .sum = p->sum,
                        .squares = p->squares,
                        .min = p->min,
                        .max = p->max};

    moments_merge(m, &o);
}

double moments_mean(const struct moments *m)
{
    long double mean = (long double)m->sum / (long double)m->count;
    return (double)(m->nano ? mean / 1000 : mean);
}

/* ---- standard deviation ---------------------------------------------------------------------- */

/* 256 bits, lowest first. */
struct wide {
    uint64_t limb[4];
};

static struct wide wide_multiply(const uint64_t *a, unsigned a_len, const uint64_t *b,
                                 unsigned b_len)
{
    struct wide r = {{0}};

    for (unsigned i = 0; i < a_len; i++) {
        unsigned __int128 carry = 0;
        for (unsigned k = 0; i + k < 4; k++) {
            carry += (k < b_len ? (unsigned __int128)a[i] * b[k] : 0) + r.limb[i + k];
            r.limb[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
    }
    return r;
}

static struct wide wide_subtract(struct wide a, struct wide b)
{
    uint64_t borrow = 0;

    for (unsigned i = 0; i < 4; i++) {
        unsigned __int128 d = (unsigned __int128)a.limb[i] - b.limb[i] - borrow;
        a.limb[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    return a;
}

/* Computes n * sum(x^2) - sum(x)^2 exactly, so there is no cancellation. */
double moments_std(const struct moments *m)
{
    uint64_t squares[3] = {(uint64_t)m->squares, (uint64_t)(m->squares >> 64), m->squares_high};
    unsigned __int128 sum = m->sum < 0 ? -(unsigned __int128)m->sum : (unsigned __int128)m->sum;
    uint64_t sum_limbs[2] = {(uint64_t)sum, (uint64_t)(sum >> 64)}, n[1] = {m->count};
    struct wide numerator =
        wide_subtract(wide_multiply(squares, 3, n, 1), wide_multiply(sum_limbs, 2, sum_limbs, 2));
    long double v = 0;

    for (int i = 3; i >= 0; i--)
        v = v * 18446744073709551616.0L + (long double)numerator.limb[i];
    v = sqrtl(v / (long double)m->count / (long double)(m->count - 1));
    return (double)(m->nano ? v / 1000 : v);
}

/* ---- doubles --------------------------------------------------------------------------------- */

/* Neumaier's sum: the total is sum + comp. */
static void add_sum(struct moments_f64 *m, double value)
{
    double sum = m->sum + value;

    m->comp += fabs(m->sum) >= fabs(value) ? (m->sum - sum) + value : (value - sum) + m->sum;
    m->sum = sum;
}

void moments_f64_add(struct moments_f64 *m, double value)
{
    double delta = value - m->mean;

    if (m->count == 0 || value < m->min)
        m->min = value;
    if (m->count == 0 || value > m->max)
        m->max = value;
    m->count++;
    m->mean += delta / (double)m->count;
    m->m2 += delta * (value - m->mean);
    add_sum(m, value);
}

void moments_f64_merge(struct moments_f64 *m, const struct moments_f64 *other)
{
    if (other->count == 0)
        return;
    if (m->count == 0) {
        *m = *other;
        return;
    }
    double n = (double)m->count + (double)other->count, delta = other->mean - m->mean;
    m->m2 += other->m2 + delta * delta * ((double)m->count * (double)other->count / n);
    m->mean += delta * ((double)other->count / n);
    m->count += other->count;
    m->min = other->min < m->min ? other->min : m->min;
    m->max = other->max > m->max ? other->max : m->max;
    add_sum(m, other->sum);
    m->comp += other->comp;
}

void moments_f64_merge_integers(struct moments_f64 *m, const struct moments *integers)
{
    const struct moments *i = integers;
    double n = (double)i->count, std = i->count > 1 ? moments_std(i) : 0, unit = i->nano ? 1000 : 1;
    double min = moments_min_is_known(i) ? (double)i->min / unit : INFINITY,
           max = moments_max_is_known(i) ? (double)i->max / unit : -INFINITY;
    struct moments_f64 converted = {.count = i->count,
                                    .mean = moments_mean(i),
                                    .m2 = std * std * (n - 1),
                                    .min = min,
                                    .max = max,
                                    .sum = (double)i->sum / unit};

    moments_f64_merge(m, &converted);
}
