/* measure.c - computes the members of an answer from moments and samples. */
#include "answer/stats/measure.h"
#include "dftracerd/stats.h"

#include <math.h>

const unsigned stats_percents[STATS_QUANTILES] = {10, 25, 50, 75, 90, 95, 99};

uint64_t stats_rank(unsigned percent, uint64_t n)
{
    uint64_t rank = (uint64_t)(((unsigned __int128)n * percent + 99) / 100);

    return rank < 1 ? 1 : rank;
}

static struct value value_f64(double d)
{
    return (struct value){.type = isfinite(d) ? VALUE_DOUBLE : VALUE_NULL, .d = d};
}

/* An exact integer of moments: a time of ns or us, else a number. */
static struct value value_exact(__int128 v, bool nano, bool time)
{
    if (time)
        return (struct value){.type = VALUE_TIME, .wide = nano ? v : v * 1000};
    return (struct value){.type = VALUE_WIDE, .wide = v};
}

static void measured_empty(bool time, struct measured *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->sum = value_exact(0, true, time);
}

void moments_measure(const struct moments *m, bool time, struct measured *ret)
{
    measured_empty(time, ret);
    ret->count = m->count;
    if (m->count == 0)
        return;
    ret->sum = value_exact(m->sum, m->nano, time);
    ret->mean = value_f64(moments_mean(m));
    if (m->count > 1)
        ret->std = value_f64(moments_std(m));
    ret->min = value_exact(m->min, m->nano, time);
    ret->max = value_exact(m->max, m->nano, time);
}

int quantity_measure(const struct quantity *q, bool time, struct measured *ret)
{
    const struct moments *m = &q->moments;
    uint64_t ranks[STATS_QUANTILES];
    double unit = m->nano ? 1000 : 1, min = (double)m->min / unit, max = (double)m->max / unit;

    if (q->doubles.count) {
        struct moments_f64 all = q->doubles;
        if (m->count)
            moments_f64_merge_integers(&all, m);
        min = all.min;
        max = all.max;
        measured_empty(false, ret);
        ret->count = all.count;
        ret->sum = value_f64(all.sum + all.comp);
        ret->mean = value_f64(all.mean);
        if (all.count > 1)
            ret->std = value_f64(sqrt(all.m2 / (double)(all.count - 1)));
        ret->min = value_f64(all.min);
        ret->max = value_f64(all.max);
    } else {
        moments_measure(m, time, ret);
    }
    if (ret->count == 0)
        return 0;
    for (unsigned i = 0; i < STATS_QUANTILES; i++)
        ranks[i] = stats_rank(stats_percents[i], ret->count);
    return sample_ranks(q->sample, ranks, STATS_QUANTILES, time, min, max, ret->quantiles);
}
