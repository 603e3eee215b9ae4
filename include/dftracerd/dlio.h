/* dlio.h - distributions fitted to the step times of a training run, and the simulator that checks
 * them.
 *
 * Pure computation on arrays of doubles: times are seconds, nothing reads traces.
 *
 * May use:   base.    Used by: answer (which collects the times), format, http, tools.
 * Threads:   a value is used by one thread at a time.
 * Budgets:   long loops check the budget, which may be NULL.
 * Determinism: the same arrays and seed give the same bits on every machine. exp, log and functions
 *            based on them are implemented in this module (src/dlio/special.h), sums run from left
 *            to right, and the Makefile compiles the module without fused multiply-add. Answers
 *            print 9 significant digits.
 * Errors:    -ENOMEM, ERR_MEMORY_LIMIT, or what budget_check returns.
 */
#ifndef DFTRACERD_DLIO_H
#define DFTRACERD_DLIO_H

#include "dftracerd/base.h"

/* ---- statistics of arrays -------------------------------------------------------------------- */

/* Returns the seconds covered by at least one interval. Bounds are rounded to microseconds, half
 * up. Sorts the array. */
struct dlio_interval {
    double from, to;
};
double dlio_union(struct dlio_interval *intervals, size_t n);
/* Sorts the values in ascending order. Returns 0, or -ENOMEM or an error of the budget: the order
 * is then undefined. */
int dlio_sort(double *values, size_t n, struct budget *b);
double dlio_variance(const double *values, size_t n); /* of the population; 0 if n is 0 */
/* Interpolates linearly between the two nearest ranks; percentile 0 to 100, n > 0, sorted. */
double dlio_percentile(const double *sorted, size_t n, double percentile);
/* Returns 1 - the two-sample Kolmogorov-Smirnov distance; 0 if one of them is empty. Both are
 * sorted. */
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
    DLIO_MIXTURE2,    /* mixtures of 2 and of 3 normal distributions: `parts` */
    DLIO_MIXTURE3,
    DLIO_FAMILIES
};
struct dlio_model {
    enum dlio_family family;
    double first, second;
    /* number of parts of a mixture, which are in ascending order of their means */
    unsigned part_count;
    struct dlio_part {
        double weight, mean, stdev;
    } parts[3];
};
double dlio_density(const struct dlio_model *m, double x);
double dlio_cdf(const struct dlio_model *m, double x);
double dlio_draw(const struct dlio_model *m, struct dlio_random *r);

/* ---- fitting --------------------------------------------------------------------------------- */

enum {
    DLIO_MIXTURE_MIN = 20,   /* mixtures are fitted to this number of samples or more */
    DLIO_MIXTURE_MAX = 10000 /* EM runs on at most this number of order statistics, evenly spaced */
};
struct dlio_candidate {
    bool valid; /* the estimate exists; else the other members but model.family are 0 */
    struct dlio_model model;
    double log_likelihood, bic, ks; /* ks: one-sample Kolmogorov-Smirnov statistic */
};
struct dlio_fit {
    size_t count;
    double mean, stdev, min, max;
    bool constant; /* all samples are equal: best is normal with stdev 0, no candidates */
    struct dlio_candidate candidates[DLIO_FAMILIES]; /* one for each family */
    struct dlio_model best; /* smallest BIC; ties go to the smaller KS, then to single families */
};
/* Families from which the best is chosen, one bit each; normal must be one. DLIO 2.0.1 can draw
 * those of DLIO_DRAWN; for others it does not sleep. */
enum {
    DLIO_ALL = (1 << DLIO_FAMILIES) - 1,
    DLIO_DRAWN = 1 << DLIO_NORMAL | 1 << DLIO_GAMMA | 1 << DLIO_EXPONENTIAL
};
/* Fits all families to n > 0 sorted, finite values >= 0, and chooses the best of `families`. */
int dlio_fit(const double *sorted, size_t n, unsigned families, struct budget *b,
             struct dlio_fit *ret);
/* Fits a mixture of `parts` (2 or 3) normal distributions by EM. ret->valid is false if the
 * log-likelihood is not finite. For dlio_fit and its test. */
int dlio_fit_mixture(const double *sorted, size_t n, unsigned parts, struct budget *b,
                     struct dlio_candidate *ret);

/* ---- the simulator --------------------------------------------------------------------------- */

/* The queue of batches of one rank: `workers` load batches in parallel. At most workers * prefetch
 * batches wait in it. The consumer takes them in order. Times are those of the simulation. */
struct dlio_queue;
/* Returns the seconds that a worker needs to load the next batch. */
typedef double dlio_batch_time(void *arg);
/* Creates a full queue: the first workers * prefetch batches are being loaded from time 0 on.
 * *new*; borrows arg. */
int dlio_queue_new(unsigned workers, unsigned prefetch, dlio_batch_time *time, void *arg,
                   struct dlio_queue **ret);
/* For tests: creates a queue without workers, with these ready times. */
int dlio_queue_of(const double *ready, size_t n, struct dlio_queue **ret);
size_t dlio_queue_length(const struct dlio_queue *q);
/* Takes the first batch at time `now`. Returns how long that takes: the stall until it is ready,
 * and the overhead. An empty queue counts as a stall of unknown length: only the overhead is
 * returned. */
double dlio_queue_take(struct dlio_queue *q, double now, double overhead, bool *ret_stalled);
void dlio_queue_free(struct dlio_queue *q);

/* The traced steps of a rank, in order of time. */
struct dlio_rank {
    const double *iter, *block; /* seconds of waiting for the batch, seconds of the loop body */
    /* there are `blocks` steps; a step without iter draws one from all ranks */
    size_t iters, blocks;
};
struct dlio_simulation {
    const struct dlio_rank *ranks;
    size_t rank_count;
    const struct dlio_model *block; /* the loop body is drawn from it, clamped to [min, max] */
    double block_min, block_max;
    const double *iters; /* of all ranks, sorted */
    size_t iter_count;
    /* With `queue`, the wait for the batch is simulated instead. A batch has batch_items items;
     * each takes a time from `items` (sorted), or else a draw of `item`, clamped. workers 0: the
     * consumer loads the batch itself. */
    bool queue;
    unsigned workers, prefetch;
    double overhead; /* seconds to take a batch that is ready */
    unsigned batch_items;
    const double *items;
    size_t item_count;
    const struct dlio_model *item;
    double item_min, item_max;
    unsigned barrier_steps; /* after this number of steps, all wait for the slowest; 0: never */
    uint64_t seed;          /* the generator of rank i starts with seed + i */
};
struct dlio_simulated {
    double e2e;      /* seconds from the first start to the last end */
    uint64_t stalls; /* steps that waited because their batch was not loaded */
    double iter_seconds, block_seconds, barrier_seconds; /* sums over all ranks */
    double rank_variance;                                /* variance of rank_seconds */
    double *rank_seconds;                                /* seconds that each rank took */
    double *blocks;                                      /* drawn times of the loop body, sorted */
    size_t block_count;
    struct charge charge;
};
int dlio_simulate(const struct dlio_simulation *s, struct budget *b, struct dlio_simulated *ret);
void dlio_simulated_done(struct dlio_simulated *s);     /* zero-initialised or simulated */
double dlio_e2e_error(double simulated, double traced); /* relative; 0 if both are 0 */

/* ---- the bound ------------------------------------------------------------------------------- */

struct dlio_refine_options {
    /* percentile of the block samples, 0 to 100: where max_bound starts, and its minimum */
    double percentile, min_percentile;
    unsigned iterations, patience;
    double target_error, target_similarity, epsilon, momentum;
};
struct dlio_refined {
    double percentile, max_bound, e2e, error, similarity; /* of the best iteration */
    unsigned iterations;                                  /* number of iterations */
    bool converged;
    struct dlio_simulated simulated; /* of the best iteration */
};
/* Moves the upper bound until the simulation meets the targets, or has not improved `patience`
 * times in a row, at most `iterations` times. `samples`: times of the loop body,
 * sorted. Sets s->block_max and s->item_max; the latter to the same percentile of
 * `item_samples`. */
int dlio_refine(struct dlio_simulation *s, const struct dlio_refine_options *o,
                const double *samples, size_t n, const double *item_samples, size_t item_n,
                double traced_e2e, struct budget *b, struct dlio_refined *ret);

#endif
