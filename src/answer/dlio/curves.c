/* curves.c - the data of the page's diagrams of a /dlio-config report: histograms, densities and
 * percentiles. */
#include "answer/dlio/events.h"

/* The histogram ends here; otherwise a few long steps would put all others into one bin. */
static const double HISTOGRAM_PERCENTILE = 99;

static void make_histogram(struct dlio_times *t)
{
    struct dlio_histogram *h = &t->histogram;
    double to = dlio_percentile(t->samples, t->count, HISTOGRAM_PERCENTILE);

    h->from = t->samples[0];
    h->width = (to - h->from) / DLIO_BINS;
    h->bin_count = DLIO_BINS;
    for (size_t i = 0; i < t->count; i++) {
        if (t->samples[i] > to) {
            h->above = t->count - i;
            break;
        }
        double bin = h->width > 0 ? (t->samples[i] - h->from) / h->width : 0;
        h->counts[bin < DLIO_BINS ? (int)bin : DLIO_BINS - 1]++;
    }
    for (int i = 0; i <= DLIO_BINS && !t->fit.constant; i++)
        h->density[h->density_count++] = dlio_density(&t->fit.best, h->from + i * h->width);
}

static struct dlio_curve curve(const double *sorted, size_t n)
{
    struct dlio_curve c = {.count = n > 0 ? DLIO_CURVE_POINTS : 0};

    for (size_t i = 0; i < c.count; i++)
        c.points[i] = dlio_percentile(sorted, n, (double)i);
    return c;
}

void dlio_curves(struct dlio_report *r)
{
    static const int fitted[] = {DLIO_BLOCK, DLIO_PREPROCESS};
    const struct dlio_times *block = &r->times[DLIO_BLOCK];

    for (int i = 0; i < 2; i++)
        if (r->times[fitted[i]].count > 0)
            make_histogram(&r->times[fitted[i]]);
    r->traced = curve(block->samples, block->count);
    r->simulated = curve(r->refined.simulated.blocks, r->refined.simulated.block_count);
}
