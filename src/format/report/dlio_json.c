/* dlio_json.c - the report of /dlio-config as JSON, with the curves that the page draws. */
#include "format/report/dlio.h"

#include <math.h>
#include <string.h>

enum { BINS = 60, CURVE_POINTS = 101 };
/* The histogram ends here, so that a few long steps do not make all others one bin. */
static const double HISTOGRAM_PERCENTILE = 99;

static void put(struct jw *j, const char *key, double value)
{
    jw_put_double(j, key, dlio_rounded(value));
}

/* Members of a model: type, and its parameters as in the YAML. */
static void put_model(struct jw *j, const struct dlio_model *m)
{
    struct dlio_parameter p[2];

    jw_put_str(j, "type", dlio_type(m));
    if (m->part_count == 0) {
        unsigned count = dlio_parameters(m, p);
        for (unsigned i = 0; i < count; i++)
            jw_put_double(j, p[i].key, p[i].value);
        return;
    }
    jw_put_uint(j, "n_components", m->part_count);
    jw_key(j, "components");
    jw_begin(j, '[');
    for (unsigned i = 0; i < m->part_count; i++) {
        jw_begin(j, '{');
        put(j, "weight", m->parts[i].weight);
        jw_key(j, "params");
        jw_begin(j, '{');
        jw_put_str(j, "type", "normal");
        put(j, "mean", m->parts[i].mean);
        put(j, "stdev", m->parts[i].stdev);
        jw_end(j, '}');
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void put_config(struct jw *j, const char *section, const char *name,
                       const struct dlio_times *t)
{
    if (t->count == 0)
        return;
    jw_key(j, section);
    jw_begin(j, '{');
    jw_key(j, name);
    jw_begin(j, '{');
    put_model(j, &t->fit.best);
    put(j, "max_bound", t->max_bound);
    jw_end(j, '}');
    jw_end(j, '}');
}

static void put_matched(struct jw *j, const struct dlio_report *r)
{
    static const char *const kinds[] = {"fetch_block", "fetch_iter", "preprocess", "getitem"};

    jw_key(j, "matched");
    jw_begin(j, '[');
    for (int i = 0; i < DLIO_KINDS; i++) {
        const struct dlio_times *t = &r->times[i];
        jw_begin(j, '{');
        jw_put_str(j, "component", kinds[i]);
        jw_put_str(j, "cat", t->cat);
        jw_put_str(j, "name", t->name);
        jw_put_uint(j, "events", t->events);
        jw_put_uint(j, "invalid", t->invalid);
        jw_put_uint(j, "processes", t->processes);
        jw_put_uint(j, "samples", t->count);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

/* ---- fits ------------------------------------------------------------------------------------ */

static void put_candidates(struct jw *j, const struct dlio_fit *fit)
{
    jw_key(j, "candidates");
    jw_begin(j, '[');
    for (int i = 0; i < DLIO_FAMILIES; i++) {
        const struct dlio_candidate *c = &fit->candidates[i];
        if (!c->valid)
            continue;
        jw_begin(j, '{');
        put_model(j, &c->model);
        put(j, "bic", c->bic);
        put(j, "ks", c->ks);
        put(j, "log_likelihood", c->log_likelihood);
        jw_put_bool(j, "drawn_by_dlio", dlio_is_drawn(&c->model));
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

/* Of equal samples there is no density. */
static void put_density(struct jw *j, const struct dlio_times *t, double from, double width)
{
    jw_key(j, "density");
    jw_begin(j, '[');
    for (int i = 0; i <= BINS && !t->fit.constant; i++)
        jw_double(j, dlio_rounded(dlio_density(&t->fit.best, from + i * width)));
    jw_end(j, ']');
}

static void put_histogram(struct jw *j, const struct dlio_times *t)
{
    double from = t->samples[0], to = dlio_percentile(t->samples, t->count, HISTOGRAM_PERCENTILE);
    double width = (to - from) / BINS;
    uint64_t counts[BINS] = {0}, above = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (t->samples[i] > to) {
            above = t->count - i;
            break;
        }
        double bin = width > 0 ? (t->samples[i] - from) / width : 0;
        counts[bin < BINS ? (int)bin : BINS - 1]++;
    }
    jw_key(j, "histogram");
    jw_begin(j, '{');
    put(j, "from_s", from);
    put(j, "width_s", width);
    jw_key(j, "counts");
    jw_begin(j, '[');
    for (int i = 0; i < BINS; i++)
        jw_uint(j, counts[i]);
    jw_end(j, ']');
    jw_put_uint(j, "above", above);
    put_density(j, t, from, width);
    jw_end(j, '}');
}

static void put_fit(struct jw *j, const char *key, const struct dlio_times *t)
{
    const struct dlio_fit *fit = &t->fit;

    jw_key(j, key);
    if (t->count == 0) {
        jw_null(j);
        return;
    }
    jw_begin(j, '{');
    jw_put_uint(j, "samples", fit->count);
    put(j, "mean_s", fit->mean);
    put(j, "stdev_s", fit->stdev);
    put(j, "min_s", fit->least);
    put(j, "max_s", fit->greatest);
    jw_put_bool(j, "constant", fit->constant);
    jw_put_str(j, "type", dlio_type(&fit->best));
    jw_put_bool(j, "drawn_by_dlio", dlio_is_drawn(&fit->best));
    put_candidates(j, fit);
    put_histogram(j, t);
    jw_end(j, '}');
}

/* ---- the simulation -------------------------------------------------------------------------- */

static void put_number_or_null(struct jw *j, const char *key, bool is_number, uint64_t number)
{
    jw_key(j, key);
    if (is_number)
        jw_uint(j, number);
    else
        jw_null(j);
}

static void put_simulation(struct jw *j, const struct dlio_report *r)
{
    const struct dlio_refined *s = &r->refined;

    jw_key(j, "simulation");
    jw_begin(j, '{');
    jw_put_str(j, "waits", r->queued ? "queue" : "traced");
    put_number_or_null(j, "num_workers", r->queued, r->options.workers);
    put_number_or_null(j, "prefetch_factor", r->queued, r->options.prefetch);
    put_number_or_null(j, "stalls", r->queued, s->simulated.stalls);
    jw_put_uint(j, "seed", r->options.seed);
    put(j, "traced_e2e_s", r->traced_e2e);
    put(j, "simulated_e2e_s", s->e2e);
    put(j, "e2e_error", s->error);
    put(j, "cdf_similarity", s->similarity);
    put(j, "traced_rank_variance", r->traced_variance);
    put(j, "simulated_rank_variance", s->simulated.rank_variance);
    put(j, "max_bound_percentile", s->percentile);
    jw_put_uint(j, "iterations", s->iterations);
    jw_put_bool(j, "converged", s->converged);
    jw_end(j, '}');
}

static void put_curve(struct jw *j, const char *key, const double *sorted, size_t n)
{
    jw_key(j, key);
    jw_begin(j, '[');
    for (int i = 0; i < CURVE_POINTS && n > 0; i++)
        jw_double(j, dlio_rounded(dlio_percentile(sorted, n, i)));
    jw_end(j, ']');
}

void dlio_json(const struct dlio_report *r, bool pretty, struct buf *out)
{
    const struct dlio_times *block = &r->times[DLIO_BLOCK],
                            *preprocess = &r->times[DLIO_PREPROCESS];
    struct jw j;

    jw_init(&j, out, pretty);
    jw_begin(&j, '{');
    jw_put_uint(&j, "generation", r->counters.generation);
    jw_put_bool(&j, "complete", r->complete);
    jw_put_uint(&j, "files", r->counters.files);
    jw_put_uint(&j, "damaged_files", r->counters.damaged_files);
    jw_key(&j, "config");
    jw_begin(&j, '{');
    put_config(&j, "train", "computation_time", block);
    put_config(&j, "reader", "preprocess_time", preprocess);
    jw_end(&j, '}');
    put_matched(&j, r);
    jw_put_uint(&j, "other_events", r->other_events);
    jw_put_uint(&j, "ranks", r->ranks);
    jw_put_uint(&j, "steps", r->steps);
    jw_put_uint(&j, "steps_most", r->steps_most);
    put_number_or_null(&j, "batch_samples", r->batch_items > 0, r->batch_items);
    jw_key(&j, "fits");
    jw_begin(&j, '{');
    put_fit(&j, "computation_time", block);
    put_fit(&j, "preprocess_time", preprocess);
    jw_end(&j, '}');
    put_simulation(&j, r);
    jw_key(&j, "percentiles");
    jw_begin(&j, '{');
    put_curve(&j, "traced_s", block->samples, block->count);
    put_curve(&j, "simulated_s", r->refined.simulated.blocks, r->refined.simulated.block_count);
    jw_end(&j, '}');
    jw_end(&j, '}');
    jw_finish(&j);
}
