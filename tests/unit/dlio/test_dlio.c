/* module: dlio */
/* The step times of a training run: statistics, random numbers, fits, the simulator and the
 * refinement of the bound. Expected values follow from definitions, or are published. */
#include <math.h>

#include "dftracerd/dlio.h"
#include "check.h"

/* ---- statistics ------------------------------------------------------------------------------ */

static void unions(void)
{
    struct dlio_interval one[] = {{0, 1}}, apart[] = {{0, .5}, {1, 1.5}},
                         overlap[] = {{.5, 1.5}, {0, 1}}, inside[] = {{0, 2}, {.5, 1.5}};

    CHECK(dlio_union(NULL, 0) == 0);
    CHECK(dlio_union(one, 1) == 1);
    CHECK(dlio_union(apart, 2) == 1);
    CHECK(dlio_union(overlap, 2) == 1.5);
    CHECK(dlio_union(inside, 2) == 2);
}

static void similarity(void)
{
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6}, c[] = {1, 2, 2, 9};

    CHECK(dlio_similarity(a, 4, a, 4) == 1);
    CHECK(dlio_similarity(a, 4, b, 2) == 0);
    CHECK(dlio_similarity(a, 4, NULL, 0) == 0);
    CHECK(dlio_similarity(NULL, 0, NULL, 0) == 0);
    CHECK(dlio_similarity(a, 4, c, 4) == 0.75);
}

static void variance(void)
{
    const double equal[] = {3, 3, 3}, five[] = {1, 2, 3, 4, 5};

    CHECK(dlio_variance(NULL, 0) == 0);
    CHECK(dlio_variance(equal, 3) == 0);
    CHECK(dlio_variance(five, 5) == 2);
}

static void percentiles(void)
{
    const double v[] = {1, 2, 3, 10};

    CHECK(dlio_percentile(v, 4, 0) == 1);
    CHECK(dlio_percentile(v, 4, 50) == 2.5);
    CHECK(dlio_percentile(v, 4, 100) == 10);
    CHECK_NEAR(dlio_percentile(v, 4, 95), 8.95, 1e-12);
    CHECK(dlio_percentile(v, 1, 95) == 1);
}

/* The first outputs of SplitMix64 for the seed 1234567, as published with the reference
 * implementation. */
static void random_numbers(void)
{
    struct dlio_random r = {1234567};
    double values[100];
    double sum = 0;

    CHECK(dlio_random_next(&r) == UINT64_C(6457827717110365317));
    CHECK(dlio_random_next(&r) == UINT64_C(3203168211198807973));
    CHECK(dlio_random_next(&r) == UINT64_C(9817491932198370423));
    for (int i = 0; i < 100; i++)
        values[i] = i;
    dlio_random_keep(&r, values, 100, 20);
    for (int i = 1; i < 20; i++)
        CHECK(values[i] > values[i - 1]);
    CHECK(values[19] > 60 && values[0] < 40);
    for (int i = 0; i < 10000; i++)
        sum += dlio_random_uniform(&r);
    CHECK_NEAR(sum / 10000, 0.5, 5 / sqrt(12 * 10000.0));
}

/* ---- distributions --------------------------------------------------------------------------- */

static const struct dlio_model models[] = {
    {DLIO_NORMAL, 4, 0.5, 0, {{0}}},
    {DLIO_LOGNORMAL, -3, 0.7, 0, {{0}}},
    {DLIO_GAMMA, 2.5, 0.04, 0, {{0}}},
    {DLIO_GAMMA, 0.4, 3, 0, {{0}}},
    {DLIO_EXPONENTIAL, 0, 0.25, 0, {{0}}},
    {DLIO_WEIBULL, 1.7, 0.02, 0, {{0}}},
    {DLIO_MIXTURE2, 0, 0, 2, {{.3, 1, .1}, {.7, 3, .4}}},
    {DLIO_MIXTURE3, 0, 0, 3, {{.2, 1, .1}, {.5, 2, .1}, {.3, 5, .6}}},
};
enum { MODELS = sizeof(models) / sizeof(*models), DRAWS = 20000 };
static double drawn[DRAWS];

static double *draws(const struct dlio_model *m, size_t n, uint64_t seed)
{
    struct dlio_random r = {seed};

    for (size_t i = 0; i < n; i++)
        drawn[i] = dlio_draw(m, &r);
    CHECK_INT(dlio_sort(drawn, n, NULL), 0);
    return drawn;
}

/* The distance of n draws from their own distribution exceeds 1.95 / sqrt(n) in one of 1,000 cases.
 * The density is the slope of the distribution function. */
static void draws_follow_cdf(void)
{
    for (size_t i = 0; i < MODELS; i++) {
        const double *x = draws(&models[i], DRAWS, 42 + i);
        double distance = 0;

        for (size_t j = 0; j < DRAWS; j++)
            distance = fmax(distance, fabs(dlio_cdf(&models[i], x[j]) - (j + .5) / DRAWS));
        CHECK(distance < 1.95 / sqrt(DRAWS));
        for (size_t j = DRAWS / 10; j < DRAWS; j += DRAWS / 10) {
            double h = 1e-4 * x[j];
            double slope =
                (dlio_cdf(&models[i], x[j] + h) - dlio_cdf(&models[i], x[j] - h)) / (2 * h);

            CHECK_NEAR(dlio_density(&models[i], x[j]) / slope, 1, 1e-3);
        }
    }
}

static bool is_within(double found, double truth, double error)
{
    return fabs(found - truth) < error;
}

/* Parameters within five standard errors of the true ones: of a mean stdev / sqrt(n), of a shape or
 * scale less than twice itself / sqrt(n), of a weight sqrt(weight / n). */
static void recovers_known_distributions(void)
{
    struct dlio_fit fit;

    for (size_t i = 0; i < MODELS; i++) {
        const struct dlio_model *m = &models[i], *found = &fit.best;

        CHECK_INT(dlio_fit(draws(m, DRAWS, 7 + i), DRAWS, DLIO_ALL, NULL, &fit), 0);
        CHECK_INT((int)found->family, (int)m->family);
        if (found->family != m->family)
            continue;
        CHECK(is_within(found->second, m->second, 10 * m->second / sqrt(DRAWS) + 1e-300));
        CHECK(is_within(found->first, m->first,
                        10 * fmax(fabs(m->first), m->second) / sqrt(DRAWS) + 1e-300));
        for (unsigned k = 0; k < m->part_count; k++) {
            const struct dlio_part *a = &m->parts[k], *b = &found->parts[k];

            CHECK(is_within(b->weight, a->weight, 5 * sqrt(a->weight / DRAWS)));
            CHECK(is_within(b->mean, a->mean, 5 * a->stdev / sqrt(a->weight * DRAWS)));
            CHECK(is_within(b->stdev, a->stdev, 5 * a->stdev / sqrt(a->weight * DRAWS)));
        }
    }
}

/* The estimate by hand: mean 3, variance 2; ln: of {1, e, e^2} mean 1, variance 2/3. */
static void estimates(void)
{
    const double five[] = {1, 2, 3, 4, 5}, powers[] = {1, M_E, M_E * M_E};
    struct dlio_fit fit;

    CHECK_INT(dlio_fit(five, 5, DLIO_ALL, NULL, &fit), 0);
    const struct dlio_candidate *c = fit.candidates;
    CHECK(c[DLIO_NORMAL].valid && c[DLIO_NORMAL].model.first == 3);
    CHECK_NEAR(c[DLIO_NORMAL].model.second, sqrt(2), 1e-15);
    CHECK_NEAR(c[DLIO_NORMAL].log_likelihood, -2.5 * (log(4 * M_PI) + 1), 1e-12);
    CHECK_NEAR(c[DLIO_NORMAL].bic, 2 * log(5) + 5 * (log(4 * M_PI) + 1), 1e-12);
    CHECK_NEAR(c[DLIO_EXPONENTIAL].model.second, 3, 1e-15);
    CHECK_NEAR(c[DLIO_EXPONENTIAL].bic, log(5) + 10 * (log(3) + 1), 1e-12);
    CHECK(!c[DLIO_MIXTURE2].valid && !c[DLIO_MIXTURE3].valid);
    CHECK_INT(dlio_fit(powers, 3, DLIO_ALL, NULL, &fit), 0);
    CHECK_NEAR(c[DLIO_LOGNORMAL].model.first, 1, 1e-14);
    CHECK_NEAR(c[DLIO_LOGNORMAL].model.second, sqrt(2.0 / 3), 1e-14);
}

/* ---- samples without a spread, and zeros ----------------------------------------------------- */

static void equal_values(void)
{
    double equal[30];
    struct dlio_fit fit;

    for (int i = 0; i < 30; i++)
        equal[i] = 0.25;
    for (size_t n = 1; n <= 30; n += 29) {
        CHECK_INT(dlio_fit(equal, n, DLIO_ALL, NULL, &fit), 0);
        CHECK(fit.constant && fit.best.family == DLIO_NORMAL);
        CHECK(fit.best.first == 0.25 && fit.best.second == 0 && fit.mean == 0.25 && fit.stdev == 0);
        CHECK(!fit.candidates[DLIO_NORMAL].valid);
    }
    equal[0] = 0;
    CHECK_INT(dlio_fit(equal, 1, DLIO_ALL, NULL, &fit), 0);
    CHECK(fit.constant && fit.best.first == 0);
}

/* A zero rules out all families of positive values. */
static void zeros(void)
{
    double x[40] = {0};
    struct dlio_fit fit;

    for (int i = 20; i < 40; i++)
        x[i] = 1 + i / 40.0;
    CHECK_INT(dlio_fit(x, 40, DLIO_ALL, NULL, &fit), 0);
    for (int i = DLIO_LOGNORMAL; i <= DLIO_WEIBULL; i++)
        CHECK(!fit.candidates[i].valid);
    CHECK(fit.candidates[DLIO_NORMAL].valid && fit.candidates[DLIO_MIXTURE2].valid);
    CHECK_INT((int)fit.best.family, DLIO_MIXTURE2);
    CHECK_NEAR(fit.best.parts[0].weight, 0.5, 1e-9);
    CHECK_NEAR(fit.best.parts[0].mean, 0, 1e-9);
    CHECK_INT(dlio_fit(x, 40, DLIO_DRAWN, NULL, &fit), 0);
    CHECK(fit.best.family == DLIO_NORMAL && fit.candidates[DLIO_MIXTURE2].valid);
}

/* Microseconds beside years, and values that differ in the last digits: everything stays finite. */
static void extremes(void)
{
    static const double wide[] = {1e-9, 1e-6, 1, 3e7, 1e9};
    double close[50];
    struct dlio_fit fit;

    CHECK_INT(dlio_fit(wide, 5, DLIO_ALL, NULL, &fit), 0);
    CHECK(isfinite(fit.candidates[DLIO_GAMMA].bic) && isfinite(fit.candidates[DLIO_WEIBULL].bic));
    for (int i = 0; i < 50; i++)
        close[i] = 1.5 + 1e-12 * i;
    CHECK_INT(dlio_fit(close, 50, DLIO_ALL, NULL, &fit), 0);
    for (int i = 0; i < DLIO_FAMILIES; i++)
        CHECK(!fit.candidates[i].valid || isfinite(fit.candidates[i].bic));
    CHECK_NEAR(dlio_percentile(close, 50, 50), fit.mean, 1e-9);
}

/* EM looks at order statistics of many samples, and finds the same components. */
static void many_samples(void)
{
    static double x[50000];
    const struct dlio_model *m = &models[6];
    struct dlio_random r = {3};
    struct dlio_candidate c;

    for (size_t i = 0; i < 50000; i++)
        x[i] = dlio_draw(m, &r);
    CHECK_INT(dlio_sort(x, 50000, NULL), 0);
    CHECK_INT(dlio_fit_mixture(x, 50000, 2, NULL, &c), 0);
    CHECK(c.valid);
    CHECK_NEAR(c.model.parts[0].weight, .3, .01);
    CHECK_NEAR(c.model.parts[1].mean, 3, .01);
    CHECK_NEAR(c.model.parts[1].stdev, .4, .01);
}

static void stops_when_cancelled(void)
{
    struct budget b = {0};
    struct dlio_fit fit;

    budget_cancel(&b, ERR_CANCELLED);
    CHECK_INT(dlio_fit(draws(&models[0], DRAWS, 1), DRAWS, DLIO_ALL, &b, &fit), ERR_CANCELLED);
}

/* ---- the simulator --------------------------------------------------------------------------- */

static double three_seconds(void *arg)
{
    (void)arg;
    return 3;
}

static void queue(void)
{
    const double now[] = {0}, late[] = {10};
    struct dlio_queue *q;
    bool stalled;

    CHECK_INT(dlio_queue_new(2, 3, three_seconds, NULL, &q), 0);
    CHECK_INT((int)dlio_queue_length(q), 6);
    /* two workers: ready at 3, 3, 6, 6, ...; the slot of a batch is filled at once */
    CHECK_NEAR(dlio_queue_take(q, 0, .1, &stalled), 3.1, 1e-12);
    CHECK(stalled);
    CHECK_NEAR(dlio_queue_take(q, 3.1, .1, &stalled), .1, 1e-12);
    CHECK(!stalled);
    CHECK_INT((int)dlio_queue_length(q), 6);
    dlio_queue_free(q);

    CHECK_INT(dlio_queue_of(now, 1, &q), 0);
    CHECK(dlio_queue_take(q, 0, .1, &stalled) == .1 && !stalled);
    CHECK(dlio_queue_take(q, 0, .1, &stalled) == .1 && stalled); /* empty now */
    dlio_queue_free(q);
    CHECK_INT(dlio_queue_of(late, 1, &q), 0);
    CHECK_NEAR(dlio_queue_take(q, 3, .2, &stalled), 7.2, 1e-12);
    CHECK(stalled);
    dlio_queue_free(q);
}

static const double iters[10] = {.05, .05, .05, .05, .05, .05, .05, .05, .05, .05},
                    blocks[10] = {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1};
static const struct dlio_model tenth = {DLIO_NORMAL, .1, 0, 0, {{0}}};

static void four_ranks(void)
{
    struct dlio_rank ranks[4];
    struct dlio_simulated r;

    for (int i = 0; i < 4; i++)
        ranks[i] = (struct dlio_rank){iters, blocks, 10, 10};
    struct dlio_simulation s = {.ranks = ranks,
                                .rank_count = 4,
                                .block = &tenth,
                                .block_min = .1,
                                .block_max = .1,
                                .seed = 42};
    CHECK_INT(dlio_simulate(&s, NULL, &r), 0);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(r.rank_seconds[i], 1.5, 1e-12);
    CHECK(r.e2e == 1.5 && dlio_e2e_error(r.e2e, 1.5) == 0);
    CHECK(r.rank_variance == 0 && r.block_count == 40);
    CHECK(dlio_similarity(r.blocks, r.block_count, blocks, 10) == 1);
    CHECK_NEAR(r.block_seconds, 4, 1e-12);
    CHECK_NEAR(r.iter_seconds, 2, 1e-12);
    dlio_simulated_done(&r);
}

static void barriers(void)
{
    static const double slow[5] = {.2, .05, .05, .05, .05};
    struct dlio_rank ranks[3] = {
        {iters, blocks, 5, 5}, {iters, blocks, 5, 5}, {iters, blocks, 5, 5}};
    struct dlio_simulation s = {.ranks = ranks,
                                .rank_count = 3,
                                .block = &tenth,
                                .block_min = .1,
                                .block_max = .1,
                                .barrier_steps = 1};
    struct dlio_simulated r;

    CHECK_INT(dlio_simulate(&s, NULL, &r), 0);
    CHECK(r.e2e == .75 && r.barrier_seconds == 0);
    dlio_simulated_done(&r);
    ranks[1].iter = slow; /* the others wait 0.15 s for it, once */
    CHECK_INT(dlio_simulate(&s, NULL, &r), 0);
    CHECK(r.e2e == .9 && fabs(r.barrier_seconds - .3) < 1e-12);
    CHECK_NEAR(r.rank_variance, 0, 1e-24);
    dlio_simulated_done(&r);
}

/* A batch takes 4 * 0.1 s to load and a step 0.1 s. With 0 workers each step takes 0.5 s. With 2
 * the rank waits for two batches every 0.4 s: the last two are ready after 2 s. With 4 it waits for
 * the first alone. */
static void workers_take_effect(void)
{
    static const double item[] = {.1};
    const double expected[][2] = {{0, 5}, {1, 4.1}, {2, 2.2}, {4, 1.4}, {8, 1.4}};
    struct dlio_rank rank = {iters, blocks, 10, 10};

    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        struct dlio_simulation s = {.ranks = &rank,
                                    .rank_count = 1,
                                    .block = &tenth,
                                    .block_min = .1,
                                    .block_max = .1,
                                    .queue = true,
                                    .workers = (unsigned)expected[i][0],
                                    .prefetch = 2,
                                    .batch_items = 4,
                                    .items = item,
                                    .item_count = 1};
        struct dlio_simulated r;

        CHECK_INT(dlio_simulate(&s, NULL, &r), 0);
        CHECK_NEAR(r.e2e, expected[i][1], 1e-6);
        dlio_simulated_done(&r);
    }
}

/* Filling the queues of a rank may take minutes: it ends with the request. */
static void queues_stop(void)
{
    static const double item[] = {.1, .2};
    struct dlio_rank rank = {iters, blocks, 10, 10};
    int64_t begin = clock_mono_ns();
    struct budget budget = {.deadline_ns = begin + 20000000};
    struct dlio_simulation s = {.ranks = &rank,
                                .rank_count = 1,
                                .block = &tenth,
                                .block_min = .1,
                                .block_max = .1,
                                .queue = true,
                                .workers = 1024,
                                .prefetch = 64,
                                .batch_items = 100000,
                                .items = item,
                                .item_count = 2};
    struct dlio_simulated r;

    CHECK_INT(dlio_simulate(&s, &budget, &r), ERR_DEADLINE);
    CHECK(clock_mono_ns() - begin < 10000000000);
    CHECK_INT(budget.memory_used, 0);
}

/* A rank with fewer steps ends early; a step without a wait of its own draws one of all. */
static void uneven_ranks(void)
{
    struct dlio_rank ranks[2] = {{iters, blocks, 10, 10}, {iters, blocks, 0, 4}};
    struct dlio_simulation s = {.ranks = ranks,
                                .rank_count = 2,
                                .block = &tenth,
                                .block_min = .1,
                                .block_max = .1,
                                .iters = iters,
                                .iter_count = 10};
    struct dlio_simulated r;

    CHECK_INT(dlio_simulate(&s, NULL, &r), 0);
    CHECK_NEAR(r.rank_seconds[0], 1.5, 1e-12);
    CHECK_NEAR(r.rank_seconds[1], .6, 1e-12);
    CHECK_INT((int)r.block_count, 14);
    dlio_simulated_done(&r);
}

/* ---- the bound ------------------------------------------------------------------------------- */

static const struct dlio_refine_options defaults = {.percentile = 95,
                                                    .min_percentile = 50,
                                                    .iterations = 5,
                                                    .patience = 10,
                                                    .target_error = .05,
                                                    .target_similarity = .9,
                                                    .epsilon = 1,
                                                    .momentum = .9};

static void converges_at_once(void)
{
    struct dlio_rank rank = {iters, blocks, 10, 10};
    struct dlio_simulation s = {.ranks = &rank, .rank_count = 1, .block = &tenth, .block_min = .1};
    struct dlio_refined r;

    CHECK_INT(dlio_refine(&s, &defaults, blocks, 10, NULL, 0, 1.5, NULL, &r), 0);
    CHECK(r.converged && r.iterations == 1 && r.percentile == 95);
    CHECK(r.max_bound == .1 && r.e2e == 1.5 && r.error == 0 && r.similarity == 1);
    dlio_simulated_done(&r.simulated);
}

/* All draws are clamped to the bound, and the steps take too long: the percentile falls by 2 (the
 * error is above 10 %), then by 2 + 0.9 * 2 and so on. */
static void moves_the_bound(void)
{
    static const struct dlio_model large = {DLIO_NORMAL, 100, 0, 0, {{0}}};
    struct dlio_rank rank = {iters, blocks, 0, 10};
    struct dlio_simulation s = {.ranks = &rank, .rank_count = 1, .block = &large};
    struct dlio_refine_options o = defaults;
    struct dlio_refined r;
    double samples[101];

    for (int i = 0; i <= 100; i++)
        samples[i] = i / 100.0; /* the bound is the percentile / 100 */
    o.iterations = 3;
    CHECK_INT(dlio_refine(&s, &o, samples, 101, NULL, 0, 1, NULL, &r), 0);
    CHECK_INT((int)r.iterations, 3);
    CHECK(!r.converged);
    CHECK_NEAR(r.percentile, 95 - 2 - (2 + .9 * 2), 1e-9);
    CHECK_NEAR(r.max_bound, .892, 1e-9);
    CHECK_NEAR(r.e2e, 8.92, 1e-6);
    dlio_simulated_done(&r.simulated);
    o.iterations = 100; /* to the least percentile, where nothing improves any more */
    o.patience = 3;
    CHECK_INT(dlio_refine(&s, &o, samples, 101, NULL, 0, 1, NULL, &r), 0);
    CHECK_NEAR(r.percentile, 50, 1e-9);
    CHECK(r.iterations < 20);
    dlio_simulated_done(&r.simulated);
    o.iterations = 2; /* too short: up by half an epsilon */
    CHECK_INT(dlio_refine(&s, &o, samples, 101, NULL, 0, 20, NULL, &r), 0);
    CHECK_NEAR(r.percentile, 95.5, 1e-9);
    dlio_simulated_done(&r.simulated);
}

static const struct check_test tests[] = {
    {"unions", unions},
    {"similarity", similarity},
    {"variance", variance},
    {"percentiles", percentiles},
    {"random_numbers", random_numbers},
    {"draws_follow_cdf", draws_follow_cdf},
    {"recovers_known_distributions", recovers_known_distributions},
    {"estimates", estimates},
    {"equal_values", equal_values},
    {"zeros", zeros},
    {"extremes", extremes},
    {"many_samples", many_samples},
    {"stops_when_cancelled", stops_when_cancelled},
    {"queue", queue},
    {"four_ranks", four_ranks},
    {"barriers", barriers},
    {"workers_take_effect", workers_take_effect},
    {"queues_stop", queues_stop},
    {"uneven_ranks", uneven_ranks},
    {"converges_at_once", converges_at_once},
    {"moves_the_bound", moves_the_bound},
    {NULL, NULL}};
CHECK_MAIN(tests)
