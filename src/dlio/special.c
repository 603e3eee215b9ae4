/* special.c - exp, log, gamma, digamma, trigamma, incomplete gamma and the normal distribution. */
#include "dlio/special.h"

#include <float.h>
#include <math.h>

/* ln 2 as a sum: the first part has 21 zero bits at its end, so that its product with an exponent
 * is exact. */
static const double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;

/* DLMF 4.2.19, the power series, after removing powers of two: |r| < 0.347. */
double special_exp(double x)
{
    /* 1 / n! */
    static const double terms[] = {1,
                                   1,
                                   1.0 / 2,
                                   1.0 / 6,
                                   1.0 / 24,
                                   1.0 / 120,
                                   1.0 / 720,
                                   1.0 / 5040,
                                   1.0 / 40320,
                                   1.0 / 362880,
                                   1.0 / 3628800,
                                   1.0 / 39916800,
                                   1.0 / 479001600,
                                   1.0 / 6227020800};
    if (isnan(x))
        return x;
    if (x > 709.7)
        return INFINITY;
    if (x < -745)
        return 0;
    int k = (int)(x / (LN2_HIGH + LN2_LOW) + (x < 0 ? -0.5 : 0.5));
    double r = (x - k * LN2_HIGH) - k * LN2_LOW, sum = terms[13];
    for (int n = 12; n >= 0; n--)
        sum = terms[n] + r * sum;
    return ldexp(sum, k);
}

/* 2 artanh(s) = ln((1 + s) / (1 - s)), DLMF 4.38.5, for |s| < 0.172. */
static double twice_artanh(double s)
{
    static const double terms[] = {1,        1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                   1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
    double z = s * s, sum = terms[11];
    for (int n = 10; n >= 0; n--)
        sum = terms[n] + z * sum;
    return 2 * s * sum;
}

double special_log(double x)
{
    int k;
    if (!(x > 0))
        return x == 0 ? -INFINITY : NAN;
    if (isinf(x))
        return x;
    double m = frexp(x, &k);
    if (m < M_SQRT1_2) {
        m *= 2;
        k--;
    }
    return k * LN2_HIGH + (k * LN2_LOW + twice_artanh((m - 1) / (m + 1)));
}

double special_log1p(double x)
{
    return twice_artanh(x / (2 + x));
}

/* Asymptotic series need a large argument. Smaller ones are increased by recurrences (DLMF 5.5.1,
 * 5.5.2, 5.15.5). */
static const double LARGE = 16;

/* DLMF 5.11.1 with the Bernoulli numbers up to B14: returns lgamma(x) - ((x - 1/2) ln x - x + ln(2
 * pi) / 2). */
static double lgamma_rest(double x)
{
    static const double terms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                   1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    double z = 1 / (x * x), sum = 0;
    for (int i = 6; i >= 0; i--)
        sum = terms[i] + z * sum;
    return sum / x;
}

double special_lgamma(double x)
{
    double product = 1;
    for (; x < LARGE; x++)
        product *= x;
    return (x - 0.5) * special_log(x) - x + 0.5 * special_log(2 * M_PI) + lgamma_rest(x) -
           special_log(product);
}

double special_stirling(double x)
{
    if (x < LARGE)
        return x * special_log(x) - x - special_lgamma(x);
    return 0.5 * special_log(x / (2 * M_PI)) - lgamma_rest(x);
}

/* DLMF 5.11.2 and 5.15.8. */
double special_digamma_gap(double x, double *ret_slope)
{
    static const double terms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                   1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double from = x, below = 0, below_slope = 0;
    for (; x < LARGE; x++) {
        below += 1 / x;
        below_slope += 1 / (x * x);
    }
    double z = 1 / (x * x), sum = 0, slope = 0;
    for (int i = 6; i >= 0; i--) {
        sum = terms[i] + z * sum;
        slope = terms[i] * 2 * (i + 1) + z * slope;
    }
    double gap = 0.5 / x + z * sum, gap_slope = -0.5 * z - z * slope / x;
    *ret_slope = gap_slope;
    if (from == x)
        return gap;
    *ret_slope += 1 / from - 1 / x - below_slope;
    return gap + below - special_log(x / from);
}

/* DLMF 8.11.4: the power series, fast for x < a + 1. */
static double gamma_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * DBL_EPSILON; n++) {
        term *= x / n;
        sum += term;
    }
    return sum;
}

/* DLMF 8.9.2: the continued fraction of the upper function, by the method of Lentz, fast for x > a
 * + 1. */
static double gamma_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1e300, d = 1 / b, value = d, step = 0;
    for (int n = 1; n < 10000 && fabs(step - 1) > DBL_EPSILON; n++) {
        double an = -n * (n - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        step = c * d;
        value *= step;
    }
    return value;
}

/* Beyond this shape the cube root of a gamma variate is normal up to 1e-7 (Wilson and Hilferty,
 * 1931). */
static const double WILSON_HILFERTY = 1e5;

double special_gamma_p(double a, double x)
{
    if (!(x > 0))
        return 0;
    if (a > WILSON_HILFERTY) {
        double root = special_exp(special_log(x / a) / 3);
        return special_normal_cdf((root - 1 + 1 / (9 * a)) * 3 * sqrt(a));
    }
    double factor = special_exp(a * special_log(x) - x - special_lgamma(a));
    double p = x < a + 1 ? factor * gamma_series(a, x) : 1 - factor * gamma_fraction(a, x);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

/* DLMF 7.11.1: erf(x) = P(1/2, x^2). */
double special_normal_cdf(double z)
{
    double half = special_gamma_p(0.5, z * z / 2) / 2;
    return z < 0 ? 0.5 - half : 0.5 + half;
}
