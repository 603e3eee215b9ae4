/* fit.c - maximum likelihood estimates of the families, and the choice among them by BIC. */
#include "dftracerd/dlio.h"
#include "dlio/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The samples, and what the estimates need of them. */
struct sample_moments {
    const double *x; /* sorted */
    double *logs;    /* ln(x / mean); NULL unless all are > 0 */
    size_t n;
    double mean, variance;
    double log_mean, log_variance; /* mean and variance of `logs` */
    struct budget *budget;
};

/* Returns ln(x / mean), exact also if the two are nearly equal. */
static double log_ratio(double x, double mean)
{
    double away = (x - mean) / mean;
    return fabs(away) < 0.25 ? special_log1p(away) : special_log(x / mean);
}

static int compute_moments(struct sample_moments *f)
{
    double n = (double)f->n;
    for (size_t i = 0; i < f->n; i++)
        f->mean += f->x[i];
    f->mean /= n;
    f->variance = dlio_variance(f->x, f->n);
    if (!(f->x[0] > 0))
        return 0;
    f->logs = malloc(f->n * sizeof *f->logs);
    if (!f->logs)
        return -ENOMEM;
    for (size_t i = 0; i < f->n; i++) {
        f->logs[i] = log_ratio(f->x[i], f->mean);
        f->log_mean += f->logs[i];
    }
    f->log_mean /= n;
    f->log_variance = dlio_variance(f->logs, f->n);
    return 0;
}

/* Returns the log-likelihood of n values with this population variance, for a normal distribution
 * with that variance. */
static double normal_log_likelihood(double n, double variance)
{
    return -n / 2 * (special_log(2 * M_PI * variance) + 1);
}

static void fit_normal(const struct sample_moments *f, struct dlio_candidate *c)
{
    c->model.first = f->mean;
    c->model.second = sqrt(f->variance);
    c->log_likelihood = normal_log_likelihood((double)f->n, f->variance);
    c->valid = f->n > 1 && f->variance > 0;
}

static void fit_lognormal(const struct sample_moments *f, struct dlio_candidate *c)
{
    double n = (double)f->n, mean = special_log(f->mean) + f->log_mean;
    c->model.first = mean;
    c->model.second = sqrt(f->log_variance);
    c->log_likelihood = normal_log_likelihood(n, f->log_variance) - n * mean;
    c->valid = f->n > 1 && f->log_variance > 0;
}

/* Newton's method on ln k - digamma(k) = ln(mean) - mean(ln x), which is -log_mean. */
static void fit_gamma(const struct sample_moments *f, struct dlio_candidate *c)
{
    double n = (double)f->n, k = f->mean * f->mean / f->variance, step = INFINITY, slope;
    if (f->n < 2 || !(f->variance > 0) || !(f->log_mean < 0))
        return;
    for (int i = 0; i < 100 && fabs(step) > 1e-12 * k; i++) {
        step = (special_digamma_gap(k, &slope) + f->log_mean) / slope;
        k = k - step > 0 ? k - step : k / 2;
    }
    c->model.first = k;
    c->model.second = f->mean / k;
    c->log_likelihood =
        n * (k * f->log_mean + special_stirling(k) - special_log(f->mean) - f->log_mean);
    c->valid = isfinite(c->log_likelihood);
}

static void fit_exponential(const struct sample_moments *f, struct dlio_candidate *c)
{
    c->model.second = f->mean;
    c->log_likelihood = -(double)f->n * (special_log(f->mean) + 1);
    c->valid = true;
}

/* Sums of u^k, u^k ln u, u^k (ln u)^2 with u = x / maximum, so that powers do not overflow. */
static void power_sums(const struct sample_moments *f, double k, double sums[3])
{
    double top = f->logs[f->n - 1];
    memset(sums, 0, 3 * sizeof *sums);
    for (size_t i = 0; i < f->n; i++) {
        double y = f->logs[i] - top, p = special_exp(k * y);
        sums[0] += p;
        sums[1] += p * y;
        sums[2] += p * y * y;
    }
}

/* Newton's method, starting at 1, on sum(u^k ln u) / sum(u^k) - 1/k = mean(ln u), whose left side
 * grows with k. */
static void fit_weibull(const struct sample_moments *f, struct dlio_candidate *c)
{
    double n = (double)f->n, top = f->logs[f->n - 1], mean = f->log_mean - top, k = 1,
           step = INFINITY;
    double sums[3];
    if (f->n < 2 || !(f->log_variance > 0))
        return;
    for (int i = 0; i < 100 && fabs(step) > 1e-12 * k && budget_check(f->budget) == 0; i++) {
        power_sums(f, k, sums);
        double ratio = sums[1] / sums[0];
        step = (ratio - 1 / k - mean) / (sums[2] / sums[0] - ratio * ratio + 1 / (k * k));
        k = k - step > 0 ? k - step : k / 2;
    }
    power_sums(f, k, sums);
    double log_scale = top + special_log(sums[0] / n) / k + special_log(f->mean);
    double mean_log = f->log_mean + special_log(f->mean);
    c->model.first = k;
    c->model.second = special_exp(log_scale);
    c->log_likelihood = n * (special_log(k) - k * log_scale + (k - 1) * mean_log - 1);
    c->valid = isfinite(c->log_likelihood);
}

static void (*const estimators[])(const struct sample_moments *, struct dlio_candidate *) = {
    [DLIO_NORMAL] = fit_normal,   [DLIO_LOGNORMAL] = fit_lognormal,
    [DLIO_GAMMA] = fit_gamma,     [DLIO_EXPONENTIAL] = fit_exponential,
    [DLIO_WEIBULL] = fit_weibull,
};

/* The result is incomplete if the budget ends the loop: the caller checks that. */
static double kolmogorov_smirnov(const struct sample_moments *f, const struct dlio_model *m)
{
    double distance = 0, n = (double)f->n;
    for (size_t i = 0; i < f->n && (i % 4096 > 0 || budget_check(f->budget) == 0); i++) {
        double p = dlio_cdf(m, f->x[i]), below = p - (double)i / n, above = (double)(i + 1) / n - p;
        distance = fmax(distance, fmax(below, above));
    }
    return distance;
}

/* Sets the family, BIC and KS of an estimate; clears it if there is none. */
static void finish_candidate(const struct sample_moments *f, struct dlio_candidate *c,
                             enum dlio_family family)
{
    double parameters = family == DLIO_EXPONENTIAL ? 1 : 2;
    if (!c->valid)
        memset(c, 0, sizeof *c);
    c->model.family = family;
    if (!c->valid)
        return;
    if (c->model.part_count > 0)
        parameters = 3.0 * c->model.part_count - 1;
    c->bic = parameters * special_log((double)f->n) - 2 * c->log_likelihood;
    c->ks = kolmogorov_smirnov(f, &c->model);
}

static int fit_all(const struct sample_moments *f, struct dlio_fit *fit)
{
    int rc = 0;
    for (int i = 0; i < DLIO_FAMILIES && rc == 0; i++) {
        struct dlio_candidate *c = &fit->candidates[i];
        if (i >= DLIO_MIXTURE2 && f->n >= DLIO_MIXTURE_MIN)
            rc = dlio_fit_mixture(f->x, f->n, i == DLIO_MIXTURE2 ? 2 : 3, f->budget, c);
        else if (i < DLIO_MIXTURE2 && (i == DLIO_NORMAL || f->logs))
            estimators[i](f, c);
        finish_candidate(f, c, (enum dlio_family)i);
        rc = rc < 0 ? rc : budget_check(f->budget);
    }
    return rc;
}

/* Returns whether `a` is better than `b`: a smaller BIC; among single families with equal BIC, a
 * smaller KS. */
static bool is_better(const struct dlio_candidate *a, const struct dlio_candidate *b)
{
    if (!a->valid || !b->valid)
        return a->valid;
    if (a->bic != b->bic || a->model.part_count > 0)
        return a->bic < b->bic;
    return a->ks < b->ks;
}

int dlio_fit(const double *sorted, size_t n, unsigned families, struct budget *b,
             struct dlio_fit *ret)
{
    struct budget none = {0};
    struct sample_moments f = {.x = sorted, .n = n, .budget = b ? b : &none};
    memset(ret, 0, sizeof *ret);
    int rc = compute_moments(&f);
    if (rc < 0)
        return rc;
    *ret = (struct dlio_fit){.count = n,
                             .mean = f.mean,
                             .stdev = sqrt(f.variance),
                             .min = sorted[0],
                             .max = sorted[n - 1]};
    ret->constant = sorted[0] == sorted[n - 1];
    if (ret->constant) {
        ret->mean = sorted[0];
        ret->stdev = 0;
        ret->best = (struct dlio_model){.family = DLIO_NORMAL, .first = sorted[0]};
        free(f.logs);
        return 0;
    }
    rc = fit_all(&f, ret);
    const struct dlio_candidate *best = &ret->candidates[0];
    for (int i = 1; i < DLIO_FAMILIES; i++)
        if ((families >> i & 1) && is_better(&ret->candidates[i], best))
            best = &ret->candidates[i];
    ret->best = best->model;
    free(f.logs);
    return rc;
}
