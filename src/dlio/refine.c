/* refine.c - moves the upper bound of the drawn times until the simulation resembles the trace. */
#include "dftracerd/dlio.h"

#include <math.h>
#include <string.h>

/* relative gain of the error that counts as an improvement */
static const double GAIN_MIN = 0.001;

/* Returns how far the percentile moves next. */
static double percentile_step(const struct dlio_refine_options *o, double e2e, double traced,
                              double error, double similarity)
{
    if (e2e > traced)
        return error > 0.1 ? -2 * o->epsilon : -o->epsilon;
    if (e2e < 0.95 * traced)
        return o->epsilon / 2;
    return similarity < o->target_similarity ? -o->epsilon / 2 : 0;
}

int dlio_refine(struct dlio_simulation *s, const struct dlio_refine_options *o,
                const double *samples, size_t n, const double *item_samples, size_t item_n,
                double traced_e2e, struct budget *b, struct dlio_refined *ret)
{
    double percentile = o->percentile, velocity = 0;
    unsigned without_gain = 0;
    memset(ret, 0, sizeof *ret);
    for (unsigned i = 0; i < o->iterations; i++) {
        struct dlio_simulated now;
        s->block_max = dlio_percentile(samples, n, percentile);
        s->item_max = item_n > 0 ? dlio_percentile(item_samples, item_n, percentile) : 0;
        int rc = dlio_simulate(s, b, &now);
        if (rc < 0) {
            dlio_simulated_done(&ret->simulated);
            return rc;
        }
        double error = dlio_e2e_error(now.e2e, traced_e2e);
        double similarity = dlio_similarity(now.blocks, now.block_count, samples, n);
        ret->iterations = i + 1;
        ret->converged = error < o->target_error && similarity > o->target_similarity;
        if (i == 0 || ret->converged || error < ret->error * (1 - GAIN_MIN)) {
            dlio_simulated_done(&ret->simulated);
            ret->simulated = now;
            ret->percentile = percentile;
            ret->max_bound = s->block_max;
            ret->e2e = now.e2e;
            ret->error = error;
            ret->similarity = similarity;
            without_gain = 0;
        } else {
            without_gain++;
        }
        double step = percentile_step(o, now.e2e, traced_e2e, error, similarity);
        if (ret->simulated.blocks != now.blocks)
            dlio_simulated_done(&now);
        if (ret->converged || without_gain >= o->patience)
            break;
        velocity = o->momentum * velocity + step;
        percentile = fmin(fmax(percentile + velocity, o->min_percentile), 100);
    }
    s->block_max = ret->max_bound;
    s->item_max = item_n > 0 ? dlio_percentile(item_samples, item_n, ret->percentile) : 0;
    return 0;
}
