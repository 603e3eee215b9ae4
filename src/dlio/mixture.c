/* mixture.c - mixtures of normal distributions by expectation maximisation. */
#include "dftracerd/dlio.h"
#include "dlio/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 500 };
static const double TOLERANCE = 1e-6; /* change of the log-likelihood that ends EM */
/* fraction of the variance of all samples: a component must not shrink to one value */
static const double VARIANCE_FLOOR = 1e-6;

struct memberships {
    /* moments of the points, weighted by their membership in the component */
    double weight[3], first[3], second[3];
    double log_likelihood;
};

/* The E step: one pass over the points. Exponents are relative to the largest, so that a point far
 * from all components counts. */
static int expectation(const struct dlio_model *m, const double *x, size_t n, struct budget *b,
                       struct memberships *ret)
{
    unsigned parts = m->part_count;
    double constant[3];
    memset(ret, 0, sizeof *ret);
    for (unsigned k = 0; k < parts; k++)
        constant[k] = special_log(m->parts[k].weight / (m->parts[k].stdev * sqrt(2 * M_PI)));
    for (size_t i = 0; i < n; i++) {
        double log_p[3], max = -INFINITY, total = 0;
        for (unsigned k = 0; k < parts; k++) {
            double z = (x[i] - m->parts[k].mean) / m->parts[k].stdev;
            log_p[k] = constant[k] - z * z / 2;
            max = fmax(max, log_p[k]);
        }
        for (unsigned k = 0; k < parts; k++)
            total += log_p[k] = special_exp(log_p[k] - max);
        for (unsigned k = 0; k < parts; k++) {
            double share = log_p[k] / total, d = x[i] - m->parts[k].mean;
            ret->weight[k] += share;
            ret->first[k] += share * d;
            ret->second[k] += share * d * d;
        }
        ret->log_likelihood += max + special_log(total);
        if (i % 4096 == 0 && budget_check(b) < 0)
            return budget_check(b);
    }
    return 0;
}

static void maximisation(struct dlio_model *m, const struct memberships *s, size_t n,
                         double least_variance)
{
    for (unsigned k = 0; k < m->part_count; k++) {
        struct dlio_part *p = &m->parts[k];
        if (!(s->weight[k] > 0))
            continue; /* no point belongs to it: it stays as it is */
        double shift = s->first[k] / s->weight[k];
        double variance = s->second[k] / s->weight[k] - shift * shift;
        p->weight = s->weight[k] / (double)n;
        p->mean += shift;
        p->stdev = sqrt(variance > least_variance ? variance : least_variance);
    }
}

static int by_mean(const void *a, const void *b)
{
    double x = ((const struct dlio_part *)a)->mean, y = ((const struct dlio_part *)b)->mean;
    return (x > y) - (x < y);
}

static void begin_at(struct dlio_model *m, const double *x, size_t n, double variance)
{
    for (unsigned k = 0; k < m->part_count; k++)
        m->parts[k] =
            (struct dlio_part){.weight = 1.0 / m->part_count,
                               .mean = dlio_percentile(x, n, 100 * (k + 0.5) / m->part_count),
                               .stdev = sqrt(variance)};
}

static int run_em(struct dlio_model *m, const double *x, size_t n, struct budget *b)
{
    double variance = dlio_variance(x, n), before = -INFINITY;
    struct memberships s;
    begin_at(m, x, n, variance);
    for (int i = 0; i < STEPS_MAX; i++) {
        int rc = expectation(m, x, n, b, &s);
        if (rc < 0 || !isfinite(s.log_likelihood) || fabs(s.log_likelihood - before) < TOLERANCE)
            return rc;
        before = s.log_likelihood;
        maximisation(m, &s, n, variance * VARIANCE_FLOOR);
    }
    return 0;
}

/* Returns evenly spaced order statistics, *new*: the likelihood of all samples is computed at the
 * end only. */
static double *spaced_samples(const double *sorted, size_t n)
{
    double *some = malloc(DLIO_MIXTURE_MAX * sizeof *some);
    for (size_t i = 0; some && i < DLIO_MIXTURE_MAX; i++)
        some[i] = dlio_percentile(sorted, n, 100 * ((double)i + 0.5) / DLIO_MIXTURE_MAX);
    return some;
}

int dlio_fit_mixture(const double *sorted, size_t n, unsigned parts, struct budget *b,
                     struct dlio_candidate *ret)
{
    struct budget none = {0};
    struct memberships s = {0};
    double *some = n > DLIO_MIXTURE_MAX ? spaced_samples(sorted, n) : NULL;
    memset(ret, 0, sizeof *ret);
    if (n > DLIO_MIXTURE_MAX && !some)
        return -ENOMEM;
    b = b ? b : &none;
    ret->model.family = parts == 2 ? DLIO_MIXTURE2 : DLIO_MIXTURE3;
    ret->model.part_count = parts;
    int rc = run_em(&ret->model, some ? some : sorted, some ? DLIO_MIXTURE_MAX : n, b);
    rc = rc < 0 ? rc : expectation(&ret->model, sorted, n, b, &s);
    free(some);
    if (ret->model.part_count > 0)
        qsort(ret->model.parts, parts, sizeof *ret->model.parts, by_mean);
    ret->log_likelihood = s.log_likelihood;
    ret->valid = rc == 0 && isfinite(s.log_likelihood);
    return rc;
}
