/* dlio_text.c - the report of /dlio-config as text, with 6 significant digits: programs read the
 * JSON. */
#include "format/report/dlio.h"

static void put_parameters(struct buf *out, const struct dlio_model *m)
{
    struct dlio_parameter p[2];

    if (m->part_count == 0) {
        unsigned count = dlio_parameters(m, p);
        for (unsigned i = 0; i < count; i++)
            buf_printf(out, "%s%s %.6g", i ? ", " : "", p[i].key, p[i].value);
        return;
    }
    for (unsigned i = 0; i < m->part_count; i++)
        buf_printf(out, "%s%.3g of mean %.6g, stdev %.6g", i ? "; " : "", m->parts[i].weight,
                   m->parts[i].mean, m->parts[i].stdev);
}

static void put_fit(struct buf *out, const char *name, const struct dlio_times *t)
{
    const struct dlio_candidate *drawn = dlio_drawn(&t->fit);

    if (t->count == 0)
        return;
    buf_printf(out, "\n%s: %s, ", name, dlio_type(&t->fit.best));
    put_parameters(out, &t->fit.best);
    buf_printf(out, "; max_bound %.6g s\n", t->max_bound);
    buf_printf(out, "  %zu samples: mean %.6g s, stdev %.6g s, from %.6g s to %.6g s\n",
               t->fit.count, t->fit.mean, t->fit.stdev, t->fit.min, t->fit.max);
    if (t->fit.constant) {
        buf_puts(out, "  all samples are equal: the time is constant\n");
        return;
    }
    buf_puts(out, "  type                 BIC        KS  parameters\n");
    for (int i = 0; i < DLIO_FAMILIES; i++) {
        const struct dlio_candidate *c = &t->fit.candidates[i];
        if (!c->valid)
            continue;
        buf_printf(out, "  %-11s %12.3f %9.6f  ", dlio_type(&c->model), c->bic, c->ks);
        put_parameters(out, &c->model);
        buf_putc(out, '\n');
    }
    if (!dlio_is_drawn(&t->fit.best)) {
        buf_printf(out, "  DLIO 2.0.1 ignores the type %s", dlio_type(&t->fit.best));
        if (drawn)
            buf_printf(out, "; the best type that it draws is %s", dlio_type(&drawn->model));
        buf_putc(out, '\n');
    }
}

void dlio_text(const struct dlio_report *r, struct buf *out)
{
    const struct dlio_refined *s = &r->refined;

    buf_printf(out, "%zu rank%s, ", r->ranks, r->ranks == 1 ? "" : "s");
    if (r->steps == r->steps_most)
        buf_printf(out, "%llu steps each\n\n", (unsigned long long)r->steps);
    else
        buf_printf(out, "%llu to %llu steps\n\n", (unsigned long long)r->steps,
                   (unsigned long long)r->steps_most);
    static const char *const kinds[] = {"loop body", "wait for batch", "preprocess", "load sample"};
    buf_puts(out, "matched events        events   samples  invalid  processes  category/name\n");
    for (int i = 0; i < DLIO_KINDS; i++) {
        const struct dlio_times *t = &r->times[i];
        buf_printf(out, "  %-16s %9llu %9zu %8llu %10llu  %s/%s\n", kinds[i],
                   (unsigned long long)t->events, t->count, (unsigned long long)t->invalid,
                   (unsigned long long)t->processes, t->cat, t->name);
    }
    if (r->other_events > 0)
        buf_printf(out, "  %llu events with names of other versions of DLIO are not used\n",
                   (unsigned long long)r->other_events);
    put_fit(out, "train.computation_time", &r->times[DLIO_BLOCK]);
    put_fit(out, "reader.preprocess_time", &r->times[DLIO_PREPROCESS]);
    buf_puts(out, "\nsimulation\n");
    buf_printf(out, "  waits for batches    %s", r->queued ? "simulated" : "as traced");
    if (r->queued)
        buf_printf(out, ": workers %u, prefetch factor %u, samples a batch %llu, stalls %llu",
                   r->options.workers, r->options.prefetch, (unsigned long long)r->batch_items,
                   (unsigned long long)r->refined.simulated.stalls);
    else if (r->options.has_queue)
        buf_puts(out,
                 ": without events of samples or preprocessing, the workers are not simulated");
    buf_putc(out, '\n');
    buf_printf(out, "  end-to-end time      simulated %.6g s, traced %.6g s, error %.2f %%\n",
               s->e2e, r->traced_e2e, 100 * s->error);
    buf_printf(out, "  CDF similarity       %.4f\n", s->similarity);
    buf_printf(out, "  max_bound            percentile %.6g; %s after %u iteration%s\n",
               s->percentile, s->converged ? "converged" : "not converged", s->iterations,
               s->iterations == 1 ? "" : "s");
}
