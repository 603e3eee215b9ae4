/* family.c - densities and distribution functions. */
#include "dftracerd/dlio.h"
#include "dlio/special.h"

#include <math.h>

static double normal_density(double mean, double stdev, double x)
{
    double z = (x - mean) / stdev;
    return special_exp(-z * z / 2) / (stdev * sqrt(2 * M_PI));
}

double dlio_density(const struct dlio_model *m, double x)
{
    double sum = 0;
    if (m->family == DLIO_NORMAL)
        return normal_density(m->first, m->second, x);
    if (m->part_count > 0) {
        for (unsigned i = 0; i < m->part_count; i++)
            sum += m->parts[i].weight * normal_density(m->parts[i].mean, m->parts[i].stdev, x);
        return sum;
    }
    if (!(x > 0))
        return 0;
    double scaled = special_log(x / (m->family == DLIO_LOGNORMAL ? 1 : m->second));
    switch (m->family) {
    case DLIO_LOGNORMAL:
        return normal_density(m->first, m->second, scaled) / x;
    case DLIO_GAMMA: { /* u: x by the mean */
        double k = m->first, u = x / (k * m->second);
        return special_exp(special_stirling(k) + k * (special_log(u) - u + 1)) / x;
    }
    case DLIO_EXPONENTIAL:
        return special_exp(-x / m->second) / m->second;
    default:
        scaled *= m->first;
        return m->first / x * special_exp(scaled - special_exp(scaled));
    }
}

static double normal_cdf(double mean, double stdev, double x)
{
    if (stdev == 0)
        return x >= mean;
    return special_normal_cdf((x - mean) / stdev);
}

double dlio_cdf(const struct dlio_model *m, double x)
{
    double sum = 0;
    if (m->family == DLIO_NORMAL)
        return normal_cdf(m->first, m->second, x);
    if (m->part_count > 0) {
        for (unsigned i = 0; i < m->part_count; i++)
            sum += m->parts[i].weight * normal_cdf(m->parts[i].mean, m->parts[i].stdev, x);
        return sum;
    }
    if (!(x > 0))
        return 0;
    switch (m->family) {
    case DLIO_LOGNORMAL:
        return normal_cdf(m->first, m->second, special_log(x));
    case DLIO_GAMMA:
        return special_gamma_p(m->first, x / m->second);
    case DLIO_EXPONENTIAL:
        return 1 - special_exp(-x / m->second);
    default:
        return 1 - special_exp(-special_exp(m->first * special_log(x / m->second)));
    }
}
