/* metric.c - computes the metrics of one group on all sides, and how they differ. */
#include "answer/compare/compare.h"
#include "answer/stats/measure.h"
#include "answer/stats/result.h"
#include "dftracerd/aggregate.h"
#include "dftracerd/stats.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum worse_when { WORSE_IF_GREATER, WORSE_IF_LESS, WORSE_NEVER };
enum { FIXED_METRICS_MAX = 16 }; /* metrics of a side besides its quantiles */

/* A metric on one side. The lists of all sides have the same metrics at the same positions. */
struct entry {
    const char *name;
    enum column_unit unit;
    enum worse_when worse_when;
    bool optional, tested; /* optional: returned only if a side is above 0 */
    unsigned measure;      /* if it is tested */
    struct value value, std;
};
/* The metrics of one side, while they are computed. */
struct side_metrics {
    struct measured measured[SIDE_MEASURES];
    struct sample_bin *bins[SIDE_MEASURES];
    size_t bin_count[SIDE_MEASURES];
    struct entry *entries;
    size_t count;
};

/* ---- entries of a side ----------------------------------------------------------------------- */

/* Returns 0 instead of null. */
static struct value or_zero(const struct value *v, bool time)
{
    if (v->type != VALUE_NULL)
        return *v;
    return time ? stats_time(0) : (struct value){.type = VALUE_INT};
}

static struct entry *put_entry(struct side_metrics *s, const char *name, enum column_unit unit,
                               enum worse_when worse_when, struct value value)
{
    struct entry *e = &s->entries[s->count++];

    *e = (struct entry){.name = name, .unit = unit, .worse_when = worse_when, .value = value};
    return e;
}

static struct value count_value(uint64_t n)
{
    return (struct value){.type = VALUE_UINT, .u = n};
}

/* Returns the sum in microseconds for times, which may be stored in ns; else in the unit of the
 * column. */
static double sum_of(const struct quantity *q)
{
    const __int128 unit = q->moments.nano ? 1000 : 1, sum = q->moments.sum;

    return (double)(sum / unit) + (double)(sum % unit) / (double)unit + q->doubles.sum +
           q->doubles.comp;
}

/* Returns null if no event has bytes. */
static struct value bytes_of(const struct part *p)
{
    const struct quantity *q = &p->of[SIDE_TRANSFER_BYTES];
    double sum = sum_of(q);

    if (q->moments.count + q->doubles.count == 0)
        return (struct value){.type = VALUE_NULL};
    if (q->doubles.count == 0)
        return (struct value){.type = VALUE_WIDE, .wide = q->moments.sum};
    if (sum == floor(sum) && fabs(sum) < 0x1p53)
        return (struct value){.type = VALUE_WIDE, .wide = (__int128)sum};
    return value_of_f64(sum);
}

static void put_peak(struct side_metrics *s, const char *name, enum column_unit unit,
                     const struct part *p, unsigned peak)
{
    const struct moments_f64 *m = &p->peaks[peak];
    struct entry *e = put_entry(s, name, unit, WORSE_IF_GREATER, value_of_f64(peak_mean(m)));

    if (m->count > 1 && !p->no_peak_std)
        e->std = value_of_f64(sqrt(m->m2 / (double)(m->count - 1)));
}

static int put_quantiles(struct node_work *w, struct side_metrics *s, const struct part *p,
                         unsigned measure)
{
    const struct measured *m = &s->measured[measure];
    bool time = measure == SIDE_DUR;

    for (size_t i = 0; i < w->quantile_count; i++) {
        const struct quantile *q = &w->quantiles[i];
        struct value v = {.type = VALUE_NULL};
        char name[80];
        uint64_t rank =
            (uint64_t)(((unsigned __int128)m->count * q->part + q->whole - 1) / q->whole);
        rank = rank < 1 ? 1 : rank;
        int rc = m->count ? sample_ranks(p->of[measure].sample, &rank, 1, time,
                                         value_double(&m->min, 0), value_double(&m->max, 0), &v)
                          : 0;
        snprintf(name, sizeof(name), "%s_%s", time ? "dur" : "size", q->name);
        const char *copy = arena_strdup(&w->run->result->arena, text_of(name));
        if (rc < 0 || !copy)
            return rc < 0 ? rc : -ENOMEM;
        put_entry(s, copy, time ? UNIT_US : UNIT_BYTES, WORSE_IF_GREATER, or_zero(&v, time));
    }
    return 0;
}

static int put_measure(struct node_work *w, struct side_metrics *s, const struct part *p,
                       unsigned measure)
{
    const struct measured *m = &s->measured[measure];
    bool time = measure == SIDE_DUR;
    /* false: a mean is a double, not a VALUE_TIME */
    struct entry *e = put_entry(s, time ? "dur_mean" : "size_mean", time ? UNIT_US : UNIT_BYTES,
                                WORSE_IF_GREATER, or_zero(&m->mean, false));

    e->std = m->std;
    e->tested = true;
    e->measure = measure;
    return put_quantiles(w, s, p, measure);
}

/* Stores the sums of the side in its totals, too. */
static int put_entries(struct node_work *w, struct side_metrics *s, const struct part *p)
{
    unsigned wanted = w->options->metrics;
    struct compare_meta *totals = p->totals;
    int rc = 0;

    if (totals) {
        totals->io_time = s->measured[SIDE_DUR].sum;
        totals->bytes = bytes_of(p);
        put_entry(s, "files", UNIT_NONE, WORSE_NEVER, count_value(totals->files));
        put_entry(s, "processes", UNIT_NONE, WORSE_NEVER, count_value(totals->processes));
        put_entry(s, "threads", UNIT_NONE, WORSE_NEVER, count_value(totals->threads));
        put_entry(s, "time_pipeline", UNIT_US, WORSE_NEVER, totals->makespan);
        put_entry(s, "time_io", UNIT_US, WORSE_NEVER, totals->io_time);
        put_entry(s, "total_bytes", UNIT_BYTES, WORSE_NEVER, or_zero(&totals->bytes, false))
            ->optional = true;
    }
    if (wanted & COMPARE_COUNT) {
        put_entry(s, "count", UNIT_NONE, WORSE_IF_GREATER, count_value(p->count));
        put_peak(s, "count_peak_mean", UNIT_NONE, p, PEAK_EVENTS);
    }
    if (wanted & COMPARE_DURATION) {
        rc = put_measure(w, s, p, SIDE_DUR);
        put_peak(s, "dur_peak_mean", UNIT_US, p, PEAK_MEAN_DUR);
    }
    if (wanted & COMPARE_SIZE && rc == 0)
        rc = put_measure(w, s, p, SIDE_SIZE);
    if (wanted & COMPARE_TRANSFER_SIZE) /* the value of size_mean, by its name in the old command */
        put_entry(s, "transfer_size", UNIT_BYTES, WORSE_IF_GREATER,
                  or_zero(&s->measured[SIDE_SIZE].mean, false))
            ->optional = true;
    if (wanted & COMPARE_BANDWIDTH) {
        double us = sum_of(&p->of[SIDE_TRANSFER_TIME]);
        double rate = us > 0 ? sum_of(&p->of[SIDE_TRANSFER_BYTES]) * 1e6 / us : 0;
        put_entry(s, "bandwidth", UNIT_BYTES_PER_S, WORSE_IF_LESS, value_of_f64(rate))->optional =
            true;
    }
    return rc;
}

static int measure_side(struct node_work *w, struct side_metrics *s, const struct part *p)
{
    int rc = 0;

    s->entries = calloc(w->quantile_count * SIDE_MEASURES + FIXED_METRICS_MAX, sizeof(*s->entries));
    if (!s->entries)
        return -ENOMEM;
    for (unsigned i = 0; i < SIDE_MEASURES && rc == 0; i++) {
        rc = quantity_measure(&p->of[i], i == SIDE_DUR, &s->measured[i]);
        if (rc == 0 && s->measured[i].count)
            rc = sample_bins(p->of[i].sample, &s->bins[i], &s->bin_count[i]);
    }
    return rc < 0 ? rc : put_entries(w, s, p);
}

/* ---- differences ----------------------------------------------------------------------------- */

static bool is_whole(const struct value *v)
{
    return v->type == VALUE_INT || v->type == VALUE_UINT || v->type == VALUE_WIDE;
}

static __int128 to_whole(const struct value *v)
{
    return v->type == VALUE_INT ? v->i : v->type == VALUE_UINT ? (__int128)v->u : v->wide;
}

static struct value difference(const struct value *from, const struct value *to)
{
    if (is_whole(from) && is_whole(to))
        return (struct value){.type = VALUE_WIDE, .wide = to_whole(to) - to_whole(from)};
    if (from->type == VALUE_TIME && to->type == VALUE_TIME)
        return stats_time(to->wide - from->wide);
    return value_of_f64(value_double(to, 0) - value_double(from, 0));
}

static struct sample_summary summary_of(const struct measured *m)
{
    double std = m->count > 1 ? value_double(&m->std, 0) : 0;

    return (struct sample_summary){m->count, value_double(&m->mean, 0), std * std};
}

static int test_metric(struct compare_run *run, const struct side_metrics *a,
                       const struct side_metrics *b, unsigned measure, size_t variant,
                       struct compare_change *c)
{
    struct sample_summary from = summary_of(&a->measured[measure]),
                          to = summary_of(&b->measured[measure]);
    struct compare_test *t = c->test = arena_alloc(&run->result->arena, sizeof(*t));
    struct mann_whitney ranks;
    struct welch means;

    if (!t)
        return -ENOMEM;
    welch_test(&from, &to, &means);
    mann_whitney_test(a->bins[measure], a->bin_count[measure], b->bins[measure],
                      b->bin_count[measure], &ranks);
    *t = (struct compare_test){.baseline_count = from.count,
                               .variant_count = to.count,
                               .welch_t = means.t,
                               .welch_df = means.df,
                               .welch_p = means.p,
                               .welch_p_holm = means.p, /* corrected when all tests are known */
                               .mann_whitney_u = ranks.u,
                               .mann_whitney_p = ranks.p,
                               .mann_whitney_p_holm = ranks.p,
                               .cliffs_delta = ranks.cliffs_delta};
    c->cohens_d = cohens_d(&from, &to);
    c->effect_class = cohens_class(c->cohens_d);
    return vec_push(&run->tests, {t, variant});
}

static int make_change(struct node_work *w, const struct side_metrics *sides, size_t side,
                       size_t at, struct compare_change *c)
{
    const struct entry *from = &sides[0].entries[at], *to = &sides[side].entries[at];
    double before = value_double(&from->value, 0), after = value_double(&to->value, 0);

    *c = (struct compare_change){.value = to->value, .std = to->std};
    c->delta = difference(&from->value, &to->value);
    double delta = value_double(&c->delta, 0);
    c->baseline_zero = before == 0 && after != 0;
    c->percent = c->baseline_zero ? 100 : before == 0 ? 0 : 100 * (delta / before);
    c->regression = (from->worse_when == WORSE_IF_GREATER && delta > 0) ||
                    (from->worse_when == WORSE_IF_LESS && delta < 0);
    int rc =
        from->tested ? test_metric(w->run, &sides[0], &sides[side], from->measure, side - 1, c) : 0;
    if (c->regression && (int)c->effect_class > w->run->result->worst_regression)
        w->run->result->worst_regression = (int)c->effect_class;
    return rc;
}

static int put_metrics(struct node_work *w, const struct side_metrics *sides,
                       struct compare_group *ret)
{
    struct arena *arena = &w->run->result->arena;
    size_t variants = w->run->options->side_count - 1;
    int rc = 0;

    ret->metrics = arena_alloc(arena, (sides[0].count + 1) * sizeof(*ret->metrics));
    if (!ret->metrics)
        return -ENOMEM;
    for (size_t i = 0; i < sides[0].count; i++) {
        const struct entry *e = &sides[0].entries[i];
        bool returned = !e->optional;
        for (size_t s = 0; s <= variants; s++)
            returned = returned || value_double(&sides[s].entries[i].value, 0) > 0;
        if (!returned)
            continue;
        struct compare_metric *m = &ret->metrics[ret->metric_count++];
        *m = (struct compare_metric){.name = e->name,
                                     .unit = e->unit,
                                     .value = e->value,
                                     .std = e->std,
                                     .change_count = variants,
                                     .tested = e->tested};
        m->changes = arena_alloc(arena, variants * sizeof(*m->changes));
        if (!m->changes)
            return -ENOMEM;
        for (size_t v = 0; v < variants && rc == 0; v++)
            rc = make_change(w, sides, v + 1, i, &m->changes[v]);
    }
    return rc;
}

int metrics_make(struct node_work *w, struct part *parts, struct compare_group *ret)
{
    size_t count = w->run->options->side_count;
    struct side_metrics *sides = calloc(count, sizeof(*sides));
    int rc = sides ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = measure_side(w, &sides[i], &parts[i]);
    rc = rc < 0 ? rc : put_metrics(w, sides, ret);
    for (size_t i = 0; sides && i < count; i++) {
        for (unsigned k = 0; k < SIDE_MEASURES; k++)
            free(sides[i].bins[k]);
        free(sides[i].entries);
    }
    free(sides);
    return rc;
}
