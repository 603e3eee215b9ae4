/* random.c - SplitMix64, and draws from the distributions. */
#include "dftracerd/dlio.h"
#include "dlio/special.h"

#include <math.h>

uint64_t dlio_random_next(struct dlio_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

double dlio_random_uniform(struct dlio_random *r)
{
    return ((double)(dlio_random_next(r) >> 12) + 0.5) * 0x1p-52;
}

/* Selection sampling: Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S. */
void dlio_random_keep(struct dlio_random *r, double *values, size_t n, size_t keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < keep; i++)
        if ((double)(n - i) * dlio_random_uniform(r) < (double)(keep - kept))
            values[kept++] = values[i];
}

/* The polar method: Marsaglia and Bray, A Convenient Method for Generating Normal Variables, 1964.
 */
static double draw_normal(struct dlio_random *r)
{
    double u, v, s;
    do {
        u = 2 * dlio_random_uniform(r) - 1;
        v = 2 * dlio_random_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * special_log(s) / s);
}

/* Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000. */
static double draw_gamma(double shape, struct dlio_random *r)
{
    if (shape < 1) {
        double root = special_exp(special_log(dlio_random_uniform(r)) / shape);
        return draw_gamma(shape + 1, r) * root;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = draw_normal(r), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double limit = 0.5 * x * x + d - d * v + d * special_log(v);
        if (special_log(dlio_random_uniform(r)) < limit)
            return d * v;
    }
}

static double draw_mixture(const struct dlio_model *m, struct dlio_random *r)
{
    double u = dlio_random_uniform(r);
    unsigned i = 0;
    while (i + 1 < m->part_count && u >= m->parts[i].weight)
        u -= m->parts[i++].weight;
    return m->parts[i].mean + m->parts[i].stdev * draw_normal(r);
}

double dlio_draw(const struct dlio_model *m, struct dlio_random *r)
{
    switch (m->family) {
    case DLIO_NORMAL:
        return m->first + m->second * draw_normal(r);
    case DLIO_LOGNORMAL:
        return special_exp(m->first + m->second * draw_normal(r));
    case DLIO_GAMMA:
        return m->second * draw_gamma(m->first, r);
    case DLIO_EXPONENTIAL:
        return -m->second * special_log(dlio_random_uniform(r));
    case DLIO_WEIBULL: {
        double hazard = -special_log(dlio_random_uniform(r));
        return m->second * special_exp(special_log(hazard) / m->first);
    }
    default:
        return draw_mixture(m, r);
    }
}
