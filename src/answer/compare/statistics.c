/* statistics.c - tests of the difference of two samples. */
#include "answer/compare/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- the distribution of t ------------------------------------------------------------------- */

/* ln(gamma(a + 1/2) / gamma(a)). Subtracting two large logarithms would lose most digits. */
static double log_half_ratio(double a)
{
    int sign;

    if (a < 50)
        return lgamma_r(a + 0.5, &sign) - lgamma_r(a, &sign);
    double b = 1 / a;
    return 0.5 * log(a) - b / 8 + b * b * b / 192 - b * b * b * b * b / 640;
}

/* Continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method, in about
 * sqrt(a + b) steps. */
static double beta_fraction(double a, double b, double x)
{
    enum { STEPS = 1000000 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);

    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int i = 1; i < STEPS; i++) {
        double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
               odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return value;
}

double student_p(double t, double df)
{
    double square = t * t, a = df / 2, x = df / (df + square), y = square / (df + square);

    if (isnan(t) || isinf(square))
        return isnan(t) ? NAN : 0;
    if (!(y > 0))
        return 1;
    /* x^a sqrt(y) / B(a, 1/2) */
    double front = exp(log_half_ratio(a) - 0.5 * log(M_PI) - a * log1p(square / df) + 0.5 * log(y));
    if (x < (a + 1) / (a + 2.5))
        return fmin(1, front * beta_fraction(a, 0.5, x) / a);
    return fmax(0, 1 - front * beta_fraction(0.5, a, y) / 0.5);
}

/* ---- two samples ----------------------------------------------------------------------------- */

void welch_test(const struct sample_summary *a, const struct sample_summary *b, struct welch *ret)
{
    *ret = (struct welch){NAN, NAN, NAN};
    if (a->count < 2 || b->count < 2)
        return;
    double na = (double)a->count, nb = (double)b->count, va = a->variance / na,
           vb = b->variance / nb;
    if (!(va + vb > 0))
        return;
    ret->t = (b->mean - a->mean) / sqrt(va + vb);
    ret->df = (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1));
    ret->p = student_p(ret->t, ret->df);
}

double cohens_d(const struct sample_summary *a, const struct sample_summary *b)
{
    if (a->count < 2 || b->count < 2)
        return 0;
    double na = (double)a->count, nb = (double)b->count,
           pooled = sqrt((a->variance * ((na - 1) / na) + b->variance * ((nb - 1) / nb)) / 2);
    return pooled < 1e-15 ? 0 : (b->mean - a->mean) / pooled;
}

enum compare_class cohens_class(double d)
{
    double size = fabs(d);

    return size > 0.8   ? COMPARE_LARGE
           : size > 0.5 ? COMPARE_MEDIUM
           : size > 0.2 ? COMPARE_SMALL
                        : COMPARE_NEGLIGIBLE;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static uint64_t count_at(const struct sample_bin *bins, size_t n, size_t *at, uint32_t bin)
{
    return *at < n && bins[*at].bin == bin ? bins[(*at)++].count : 0;
}

void mann_whitney_test(const struct sample_bin *a, size_t a_bins, const struct sample_bin *b,
                       size_t b_bins, struct mann_whitney *ret)
{
    unsigned __int128 twice_u = 0, ties = 0;
    uint64_t na = 0, nb = 0;
    size_t i = 0, k = 0;

    *ret = (struct mann_whitney){NAN, NAN, NAN};
    while (i < a_bins || k < b_bins) {
        uint32_t bin = k == b_bins || (i < a_bins && a[i].bin < b[k].bin) ? a[i].bin : b[k].bin;
        uint64_t x = count_at(a, a_bins, &i, bin), y = count_at(b, b_bins, &k, bin);
        unsigned __int128 t = (unsigned __int128)x + y;
        twice_u += (unsigned __int128)y * (2 * (unsigned __int128)na + x);
        ties += t * t * t - t;
        na += x;
        nb += y;
    }
    if (na == 0 || nb == 0)
        return;
    long double pairs = (long double)na * nb, n = (long double)na + nb;
    long double spread = pairs / 12 * (n + 1 - (long double)ties / (n * (n - 1)));
    __int128 from_middle = (__int128)twice_u - (__int128)na * nb; /* twice the distance */
    from_middle = from_middle < 0 ? -from_middle : from_middle;
    ret->u = (double)((long double)twice_u / 2);
    ret->cliffs_delta = (double)((long double)twice_u / pairs - 1);
    ret->p = 1;
    if (from_middle > 1 && spread > 0)
        ret->p = erfc((double)((from_middle - 1) / 2.0L / sqrtl(spread)) / M_SQRT2);
}

/* ---- many tests ------------------------------------------------------------------------------ */

static int compare_p(const void *a, const void *b)
{
    double x = **(double *const *)a, y = **(double *const *)b;

    return (x > y) - (x < y);
}

void holm_correct(double **p, size_t count)
{
    double largest = 0;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isnan(*p[i]))
            p[n++] = p[i];
    }
    qsort(p, n, sizeof(*p), compare_p);
    for (size_t i = 0; i < n; i++) {
        double corrected = fmin(1, *p[i] * (double)(n - i));
        largest = corrected > largest ? corrected : largest;
        *p[i] = largest;
    }
}
