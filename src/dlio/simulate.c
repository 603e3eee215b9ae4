/* simulate.c - simulates the steps of all ranks: wait for a batch, run the loop body, perhaps wait
 * for the others. */
#include "dftracerd/dlio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rank_state {
    const struct dlio_simulation *s;
    struct budget *budget;
    struct dlio_random random;
    double clock;
    struct dlio_queue *queue;
};

static double quantile(const double *sorted, size_t n, struct dlio_random *r)
{
    double u = dlio_random_uniform(r);
    return n > 0 ? dlio_percentile(sorted, n, 100 * u) : 0;
}

static double clamped_draw(const struct dlio_model *m, double min, double max,
                           struct dlio_random *r)
{
    double x = dlio_draw(m, r);
    return x > max ? max : x > min ? x : min;
}

/* Returns 0 at once when the budget has ended: run_ranks returns its error. */
static double batch_time(void *arg)
{
    struct rank_state *r = arg;
    const struct dlio_simulation *s = r->s;
    double seconds = 0;
    if (budget_check(r->budget) < 0)
        return 0;
    for (unsigned i = 0; i < s->batch_items; i++)
        seconds += s->item_count > 0 ? quantile(s->items, s->item_count, &r->random)
                                     : clamped_draw(s->item, s->item_min, s->item_max, &r->random);
    return seconds;
}

static double wait_for_batch(struct rank_state *r, const struct dlio_rank *rank, size_t step,
                             struct dlio_simulated *ret)
{
    const struct dlio_simulation *s = r->s;
    bool stalled = false;
    if (r->queue) {
        double seconds = dlio_queue_take(r->queue, r->clock, s->overhead, &stalled);
        ret->stalls += stalled;
        return seconds;
    }
    if (s->queue)
        return batch_time(r) + s->overhead;
    return step < rank->iters ? rank->iter[step] : quantile(s->iters, s->iter_count, &r->random);
}

static void run_step(struct rank_state *r, const struct dlio_rank *rank, size_t step,
                     struct dlio_simulated *ret)
{
    const struct dlio_simulation *s = r->s;
    double iter = wait_for_batch(r, rank, step, ret);
    double block = clamped_draw(s->block, s->block_min, s->block_max, &r->random);
    r->clock += iter + block;
    ret->iter_seconds += iter;
    ret->block_seconds += block;
    ret->blocks[ret->block_count++] = block;
}

static void run_barrier(struct rank_state *ranks, size_t n, struct dlio_simulated *ret)
{
    double slowest = 0;
    for (size_t i = 0; i < n; i++)
        slowest = fmax(slowest, ranks[i].clock);
    for (size_t i = 0; i < n; i++) {
        ret->barrier_seconds += slowest - ranks[i].clock;
        ranks[i].clock = slowest;
    }
}

/* Each rank runs its own number of steps; at a barrier, ranks without steps left wait, too. */
static int run_ranks(const struct dlio_simulation *s, struct rank_state *ranks, struct budget *b,
                     struct dlio_simulated *ret)
{
    size_t steps = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        steps = s->ranks[i].blocks > steps ? s->ranks[i].blocks : steps;
    for (size_t step = 0; step < steps; step++) {
        int rc = budget_check(b);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < s->rank_count; i++)
            if (step < s->ranks[i].blocks)
                run_step(&ranks[i], &s->ranks[i], step, ret);
        if (s->barrier_steps > 0 && (step + 1) % s->barrier_steps == 0)
            run_barrier(ranks, s->rank_count, ret);
    }
    return 0;
}

static int begin_ranks(const struct dlio_simulation *s, struct rank_state *ranks, struct budget *b)
{
    int rc = 0;
    for (size_t i = 0; i < s->rank_count && rc == 0; i++) {
        ranks[i].s = s;
        ranks[i].budget = b;
        ranks[i].random.state = s->seed + i;
        if (s->queue && s->workers > 0)
            rc = dlio_queue_new(s->workers, s->prefetch, batch_time, &ranks[i], &ranks[i].queue);
    }
    return rc;
}

static int end_simulation(const struct dlio_simulation *s, const struct rank_state *ranks,
                          struct budget *b, struct dlio_simulated *ret)
{
    struct dlio_interval *spans = calloc(s->rank_count + 1, sizeof *spans);
    if (!spans)
        return -ENOMEM;
    for (size_t i = 0; i < s->rank_count; i++)
        spans[i].to = ret->rank_seconds[i] = ranks[i].clock;
    ret->e2e = dlio_union(spans, s->rank_count);
    ret->rank_variance = dlio_variance(ret->rank_seconds, s->rank_count);
    free(spans);
    return dlio_sort(ret->blocks, ret->block_count, b);
}

int dlio_simulate(const struct dlio_simulation *s, struct budget *b, struct dlio_simulated *ret)
{
    static struct budget none;
    size_t blocks = 0, waiting = s->queue ? (size_t)s->workers * (s->prefetch + 1) : 0;
    for (size_t i = 0; i < s->rank_count; i++)
        blocks += s->ranks[i].blocks;
    size_t rank_bytes =
        (s->rank_count + 1) * (sizeof(struct rank_state) + 4 * sizeof(double) + 8 * waiting);
    b = b ? b : &none;
    *ret = (struct dlio_simulated){.charge.budget = b};
    int rc = charge_add(&ret->charge, rank_bytes + 2 * blocks * sizeof(double));
    if (rc < 0)
        return rc;
    struct rank_state *ranks = calloc(s->rank_count + 1, sizeof *ranks);
    ret->blocks = calloc(blocks + 1, sizeof *ret->blocks);
    ret->rank_seconds = calloc(s->rank_count + 1, sizeof *ret->rank_seconds);
    rc = ranks && ret->blocks && ret->rank_seconds ? begin_ranks(s, ranks, b) : -ENOMEM;
    rc = rc < 0 ? rc : run_ranks(s, ranks, b, ret);
    rc = rc < 0 ? rc : end_simulation(s, ranks, b, ret);
    for (size_t i = 0; ranks && i < s->rank_count; i++)
        dlio_queue_free(ranks[i].queue);
    free(ranks);
    if (rc < 0)
        dlio_simulated_done(ret);
    return rc;
}

void dlio_simulated_done(struct dlio_simulated *s)
{
    free(s->blocks);
    free(s->rank_seconds);
    charge_done(&s->charge);
    memset(s, 0, sizeof *s);
}

double dlio_e2e_error(double simulated, double traced)
{
    if (traced > 0)
        return fabs(simulated - traced) / traced;
    return simulated > 0 ? INFINITY : 0;
}
