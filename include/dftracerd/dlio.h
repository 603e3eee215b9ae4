/* dlio.h - distributions fitted to the step times of a training run, and the simulator that checks
 * them.
 *
 * Pure computation on arrays of doubles: times are seconds, nothing reads traces.
 *
 * May use:   base.    Used by: answer (which collects the times), format, http, tools.
 * Threads:   values; a thread at a time each. Long loops check the budget, which may be NULL.
 * Determinism: the same arrays and seed give the same bits on every machine. exp, log and what is
 *            built on them are this module's own (src/dlio/special.h), sums run from left to right,
 *            and the Makefile compiles the module without fused multiply-add. Answers print 9
 *            significant digits.
 * Errors:    -ENOMEM, ERR_MEMORY_LIMIT, or what budget_check returns.
 */
#ifndef DFTRACERD_DLIO_H
#define DFTRACERD_DLIO_H

#include "dftracerd/base.h"

/* ---- statistics of arrays -------------------------------------------------------------------- */

/* Seconds covered by at least one interval; whole microseconds, half up. Sorts the array. */
struct dlio_interval {
    double from, to;
};
double dlio_union(struct dlio_interval *intervals, size_t n);
/* Ascending. -ENOMEM or an error of the budget: the order is then undefined. */
int dlio_sort(double *values, size_t n, struct budget *b);
double dlio_variance(const double *values, size_t n); /* of the population; 0 for n = 0 */
/* Linear interpolation between the two nearest ranks; percentile 0 to 100, n > 0, sorted. */
double dlio_percentile(const double *sorted, size_t n, double percentile);
/* 1 - the two-sample Kolmogorov-Smirnov distance; 0 if one of them is empty. Both sorted. */
double dlio_similarity(const double *a, size_t na, const double *b, size_t nb);

/* ---- random numbers -------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014): 8
 * bytes of state, so that each of many ranks has its own. */
struct dlio_random {
    uint64_t state;
};
uint64_t dlio_random_next(struct dlio_random *r);
double dlio_random_uniform(struct dlio_random *r); /* in (0, 1), 52 bits */
/* Moves `keep` of n values, chosen at random, to the front; their order stays. */
void dlio_random_keep(struct dlio_random *r, double *values, size_t n, size_t keep);

/* ---- distributions --------------------------------------------------------------------------- */

enum dlio_family {
    DLIO_NORMAL,      /* first: mean, second: standard deviation */
    DLIO_LOGNORMAL,   /* first: mean of ln x, second: standard deviation of ln x */
    DLIO_GAMMA,       /* first: shape, second: scale */
    DLIO_EXPONENTIAL, /* second: scale = mean = 1 / rate */
    DLIO_WEIBULL,     /* first: shape, second: scale */
    DLIO_MIXTURE2,
    DLIO_MIXTURE3, /* of 2 or 3 normal distributions: `parts` */
    DLIO_FAMILIES
};
struct dlio_model {
    enum dlio_family family;
    double first, second;
    unsigned part_count; /* of a mixture, ascending by mean */
    struct dlio_part {
        double weight, mean, stdev;
    } parts[3];
};
double dlio_density(const struct dlio_model *m, double x);
double dlio_cdf(const struct dlio_model *m, double x);
double dlio_draw(const struct dlio_model *m, struct dlio_random *r);

/* ---- fitting --------------------------------------------------------------------------------- */

enum {
    DLIO_MIXTURE_LEAST = 20, /* mixtures are fitted to this number of samples or more */
    DLIO_MIXTURE_MOST = 10000
}; /* EM runs on this number of order statistics, evenly spaced */
struct dlio_candidate {
    bool valid; /* the estimate exists; else the other members are 0 */
    struct dlio_model model;
    double log_likelihood, bic, ks; /* ks: one-sample Kolmogorov-Smirnov statistic */
};
struct dlio_fit {
    size_t count;
    double mean, stdev, least, greatest;
    bool constant; /* all samples are equal: best is normal with stdev 0, no candidates */
    struct dlio_candidate candidates[DLIO_FAMILIES]; /* by family */
    struct dlio_model best; /* smallest BIC; ties go to the smaller KS, then to single families */
};
/* Families from which the best is chosen, a bit each; normal must be one. DLIO 2.0.1 draws those of
 * DLIO_DRAWN; for others it does not sleep. */
enum {
    DLIO_ALL = (1 << DLIO_FAMILIES) - 1,
    DLIO_DRAWN = 1 << DLIO_NORMAL | 1 << DLIO_GAMMA | 1 << DLIO_EXPONENTIAL
};
/* Of sorted, finite values >= 0; n > 0. All families are candidates. */
int dlio_fit(const double *sorted, size_t n, unsigned families, struct budget *b,
             struct dlio_fit *ret);
/* EM for `parts` (2 or 3) normal distributions; false: the log-likelihood is not finite. For
 * dlio_fit and its test. */
int dlio_fit_mixture(const double *sorted, size_t n, unsigned parts, struct budget *b,
                     struct dlio_candidate *ret);

/* ---- the simulator --------------------------------------------------------------------------- */

/* The queue of batches of one rank: `workers` load batches in parallel, at most workers * prefetch
 * of which wait. The consumer takes them in order. Times are the simulation's. */
struct dlio_queue;
typedef double dlio_batch_time(void *arg); /* of the next batch a worker loads */
/* Filled: the first workers * prefetch batches are being loaded from time 0 on. *new*; borrows arg.
 */
int dlio_queue_new(unsigned workers, unsigned prefetch, dlio_batch_time *time, void *arg,
                   struct dlio_queue **ret);
/* For tests: no worker, and these ready times. */
int dlio_queue_of(const double *ready, size_t n, struct dlio_queue **ret);
size_t dlio_queue_length(const struct dlio_queue *q);
/* Takes the head batch at time `now`: how long that takes, which is the stall until it is ready,
 * and the overhead. An empty queue counts as a stall of unknown length: overhead alone. */
double dlio_queue_take(struct dlio_queue *q, double now, double overhead, bool *ret_stalled);
void dlio_queue_free(struct dlio_queue *q);

/* What a rank did: its steps in the order of time. */
struct dlio_rank {
    const double *iter, *block; /* seconds waited for the batch, seconds of the loop body */
    size_t iters, blocks;       /* steps = blocks; a step without iter draws one of all ranks */
};
struct dlio_simulation {
    const struct dlio_rank *ranks;
    size_t rank_count;
    const struct dlio_model *block; /* the loop body is drawn from it, clamped into [least, most] */
    double block_least, block_most;
    const double *iters; /* sorted, of all ranks */
    size_t iter_count;
    /* With queue: the wait for the batch is simulated instead. A batch has batch_items items; each
     * takes one of `items` (sorted), else a draw of `item`, clamped. workers 0: the consumer loads
     * the batch itself. */
    bool queue;
    unsigned workers, prefetch;
    double overhead; /* of taking a batch that is ready */
    unsigned batch_items;
    const double *items;
    size_t item_count;
    const struct dlio_model *item;
    double item_least, item_most;
    unsigned barrier_steps; /* after this number of steps, ranks wait for the slowest; 0: never */
    uint64_t seed;          /* the generator of rank i starts with seed + i */
};
struct dlio_simulated {
    double e2e;      /* seconds from the first start to the last end */
    uint64_t stalls; /* steps that waited because their batch was not loaded */
    double iter_seconds, block_seconds, barrier_seconds; /* of all ranks */
    double rank_variance;                                /* of the seconds that the ranks took */
    double *rank_seconds;                                /* of each rank */
    double *blocks;                                      /* sorted */
    size_t block_count;
    struct charge charge;
};
int dlio_simulate(const struct dlio_simulation *s, struct budget *b, struct dlio_simulated *ret);
void dlio_simulated_done(struct dlio_simulated *s);     /* zero-initialised or simulated */
double dlio_e2e_error(double simulated, double traced); /* relative; 0 if both are 0 */

/* ---- the bound ------------------------------------------------------------------------------- */

struct dlio_refine_options {
    /* of block samples, 0 to 100: where max_bound starts, and its least */
    double percentile, min_percentile;
    unsigned iterations, patience;
    double target_error, target_similarity, epsilon, momentum;
};
struct dlio_refined {
    double percentile, max_bound, e2e, error, similarity; /* of the best iteration */
    unsigned iterations;                                  /* that were run */
    bool converged;
    struct dlio_simulated simulated; /* of the best iteration */
};
/* Moves the upper bound until the simulation meets the targets. `samples`: of the loop body,
 * sorted. s->block_most and s->item_most are set by it; the latter to the same percentile of
 * `item_samples`. */
int dlio_refine(struct dlio_simulation *s, const struct dlio_refine_options *o,
                const double *samples, size_t n, const double *item_samples, size_t item_n,
                double traced_e2e, struct budget *b, struct dlio_refined *ret);

#endif
