/* row_values.c - computes the values of rows from their groups. */
#include "answer/aggregate/process.h"
#include "answer/aggregate/row_values.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- before the first row -------------------------------------------------------------------- */

/* Allocates `each` zeroed bytes for each group of set 0; `ret`: address of the array's pointer. */
static int alloc_by_group(struct row_reader *t, size_t each, void *ret)
{
    size_t count = t->found->set[0].map.table.count;
    int rc = budget_charge(t->plan->budget, count * each);

    if (rc < 0)
        return rc;
    t->charged += count * each;
    *(void **)ret = calloc(count + 1, each);
    return *(void **)ret ? 0 : -ENOMEM;
}

static int count_distinct(struct row_reader *t)
{
    const struct aggregate_plan *p = t->plan;

    t->distinct = calloc(p->keep_count + 1, sizeof(*t->distinct));
    if (!t->distinct)
        return -ENOMEM;
    for (unsigned k = 0; k < p->keep_count; k++) {
        const struct group_table *pairs = &plan_kept(p, t->found, k)->pairs;
        if (p->keeps[k].kind != KEEP_DISTINCT)
            continue;
        int rc = alloc_by_group(t, sizeof(uint64_t), &t->distinct[k]);
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < pairs->count; i++)
            t->distinct[k][group_table_keys(pairs, i)[0]]++;
    }
    return 0;
}

int row_reader_begin(struct row_reader *t)
{
    const struct aggregate_plan *p = t->plan;

    t->measures = calloc(p->measures.count + 1, sizeof(*t->measures));
    t->quantiles = calloc((size_t)p->measures.count * p->quantile_count + 1, sizeof(*t->quantiles));
    if (!t->measures || !t->quantiles)
        return -ENOMEM;
    if (p->intervals) { /* busy: the length of the union of the intervals of each group */
        struct acc *acc = plan_intervals(p, t->found);
        int rc = alloc_by_group(t, sizeof(*t->busy), &t->busy);
        rc = rc < 0 ? rc : intervals_unite(acc);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < acc->intervals.count; i++) {
            const struct span *s = &acc->intervals.at[i];
            t->busy[s->scope] += (__int128)s->hi - s->lo;
        }
    }
    return count_distinct(t);
}

void row_reader_done(struct row_reader *t)
{
    for (unsigned k = 0; t->distinct && k < t->plan->keep_count; k++)
        free(t->distinct[k]);
    free(t->distinct);
    budget_release(t->plan->budget, t->charged);
    t->charged = 0;
    free(t->busy);
    free(t->measures);
    free(t->quantiles);
    t->distinct = NULL;
    t->busy = NULL;
    t->measures = NULL;
    t->quantiles = NULL;
}

/* ---- a measure ------------------------------------------------------------------------------- */

static struct value null_value(void)
{
    return (struct value){.type = VALUE_NULL};
}

static struct value double_value(double d)
{
    return (struct value){.type = isfinite(d) ? VALUE_DOUBLE : VALUE_NULL, .d = d};
}

static struct value whole_value(__int128 v, bool nano, bool time)
{
    if (time)
        return (struct value){.type = VALUE_TIME, .wide = nano ? v : v * 1000};
    if (v >= INT64_MIN && v <= INT64_MAX)
        return (struct value){.type = VALUE_INT, .i = (int64_t)v};
    return (struct value){.type = VALUE_WIDE, .wide = v};
}

/* Faster than moments_std if the sums are small. The choice depends on the values only, not on
 * their types, so equal values give equal bits. */
static double std_of(const struct moments *m)
{
    __int128 limit = (__int128)1 << 62;

    if (m->squares_high || m->squares >> 64 || m->count >> 32 || m->sum > limit || m->sum < -limit)
        return moments_std(m);
    unsigned __int128 top =
        (unsigned __int128)(uint64_t)m->squares * m->count - (unsigned __int128)(m->sum * m->sum);
    double v = sqrt((double)top / (double)m->count / (double)(m->count - 1));
    return m->nano ? v / 1000 : v;
}

static const struct row_measure *find_row_measure(struct row_reader *t, struct row_id row,
                                                  unsigned measure)
{
    const struct aggregate_plan *p = t->plan;
    struct row_measure *measured = &t->measures[measure];

    if (measured->done)
        return measured;
    memset(measured, 0, sizeof(*measured));
    measured->done = true;
    if (measure >= plan_measures(p, row.set))
        return measured;
    measured->weighted = row.set != SET_EVENT && !p->measures.at[measure].system;
    group_moments(t->found, row.set, row.group, measure, &measured->m);
    measured->count = measured->m.count;
    measured->float_moments = group_doubles_of(t->found, row.set, row.group, measure);
    if (!measured->float_moments || measured->float_moments->m.count == 0)
        return measured;
    bool both = p->shape && !measured->weighted; /* float_moments include the integers */
    measured->is_f64 = !both || measured->float_moments->m.count > measured->m.count;
    measured->all = measured->float_moments->m;
    if (measured->is_f64 && !both && measured->m.count)
        moments_f64_merge_integers(&measured->all, &measured->m);
    if (measured->is_f64)
        measured->count = measured->all.count;
    return measured;
}

static struct value shape_value(const struct row_measure *t, enum output what)
{
    const struct float_moments *f = t->float_moments;
    double n = f ? (double)f->m.count : 0;

    if (!f || t->weighted || !(f->m.m2 > 0) || n < (what == OUTPUT_SKEW ? 3 : 4))
        return null_value();
    return double_value(what == OUTPUT_SKEW ? sqrt(n) * f->m3 / pow(f->m.m2, 1.5)
                                            : n * f->m4 / (f->m.m2 * f->m.m2) - 3);
}

static struct value extreme_value(const struct row_measure *t, bool time, bool max)
{
    if (t->is_f64)
        return double_value(max ? t->all.max : t->all.min);
    if (!(max ? moments_max_is_known(&t->m) : moments_min_is_known(&t->m)))
        return null_value();
    return whole_value(max ? t->m.max : t->m.min, t->m.nano, time);
}

static int quantile_value(struct row_reader *t, struct row_id row, const struct output_column *what,
                          struct value *ret)
{
    const struct aggregate_plan *p = t->plan;
    struct row_measure *measured = &t->measures[what->of];
    struct value *all = &t->quantiles[what->of * p->quantile_count];
    struct sampled_moments *int_moments = group_slot(&t->found->set[row.set], row.group, what->of);
    uint64_t ranks[p->quantile_count + 1];

    if (!measured->has_quantiles) {
        struct value min = extreme_value(measured, false, false),
                     max = extreme_value(measured, false, true);
        double unit = measured->m.nano && !measured->is_f64 ? 1000 : 1;
        double lo = value_double(&min, 0) / unit, hi = value_double(&max, 0) / unit;
        for (unsigned i = 0; i < p->quantile_count; i++) {
            const struct quantile *q = &p->quantiles[i];
            unsigned __int128 rank =
                ((unsigned __int128)q->part * measured->count + q->whole - 1) / q->whole;
            ranks[i] = rank < 1 ? 1 : (uint64_t)rank;
        }
        int rc = sample_ranks(&int_moments->sample, ranks, p->quantile_count,
                              p->measures.at[what->of].time, lo, hi, all);
        if (rc < 0)
            return rc;
        measured->has_quantiles = true;
    }
    *ret = all[what->quantile];
    return 0;
}

static int measure_value(struct row_reader *t, struct row_id row, const struct output_column *what,
                         struct value *ret)
{
    const struct row_measure *measured = find_row_measure(t, row, what->of);
    bool time = t->plan->measures.at[what->of].time;

    if (measured->count == 0)
        return 0;
    switch (what->what) {
    case OUTPUT_SUM:
        *ret = measured->is_f64 ? double_value(measured->all.sum + measured->all.comp)
                                : whole_value(measured->m.sum, measured->m.nano, time);
        return 0;
    case OUTPUT_MIN:
    case OUTPUT_MAX:
        *ret = extreme_value(measured, time, what->what == OUTPUT_MAX);
        return 0;
    case OUTPUT_MEAN:
        *ret = double_value(!measured->is_f64 ? moments_mean(&measured->m)
                            : measured->weighted
                                ? (measured->all.sum + measured->all.comp) / (double)measured->count
                                : measured->all.mean);
        return 0;
    case OUTPUT_STD:
        if (measured->count >= 2 && !measured->weighted)
            *ret = double_value(measured->is_f64
                                    ? sqrt(measured->all.m2 / (double)(measured->count - 1))
                                    : std_of(&measured->m));
        return 0;
    case OUTPUT_QUANTILE:
        return measured->weighted || !t->plan->measures.at[what->of].sample
                   ? 0
                   : quantile_value(t, row, what, ret);
    default:
        *ret = shape_value(measured, what->what);
        return 0;
    }
}

/* ---- other columns --------------------------------------------------------------------------- */

static double sum_of(const struct row_measure *t)
{
    return t->is_f64 ? t->all.sum + t->all.comp : (double)t->m.sum / (t->m.nano ? 1000 : 1);
}

/* Ratios of two measures. */
static struct value ratio_value(struct row_reader *t, struct row_id row,
                                const struct output_column *what)
{
    const struct row_measure *a = find_row_measure(t, row, what->of);

    if (what->what == OUTPUT_CONCURRENCY) {
        double busy = (double)t->busy[row.group] / 1000;
        return busy > 0 ? double_value(sum_of(a) / busy) : null_value();
    }
    const struct row_measure *b =
        find_row_measure(t, row, what->quantile); /* dur of the same rows */
    double us = b->count ? sum_of(b) : 0;
    return a->count && us > 0 ? double_value(sum_of(a) * 1e6 / us) : null_value();
}

static struct value kept_value(struct row_reader *t, struct row_id row, unsigned keep)
{
    struct value v = {.type = VALUE_NULL};
    const struct pick *p;

    if (t->distinct[keep])
        return (struct value){.type = VALUE_UINT, .u = t->distinct[keep][row.group]};
    p = group_slot(&t->found->set[0], row.group, t->plan->requested_measures + keep);
    if (p->has)
        query_key_value(t->plan->query, p->key, &v);
    return v;
}

static struct value time_value(const struct aggregate_plan *p, const struct extent *s,
                               enum output what)
{
    if (!extent_has_times(s))
        return null_value();
    return (struct value){.type = VALUE_TIME,
                          .wide = (what == OUTPUT_TS ? s->min_ts : s->max_te) - p->origin_ns};
}

static void process_value(struct row_reader *t, const uint64_t *keys, const struct extent *s,
                          const struct output_column *what, struct value *ret)
{
    const struct aggregate_plan *p = t->plan;
    uint64_t pid = keys[p->pid_key], hhash = keys[p->hhash_key];
    uint32_t host = key_tag(hhash) == KEY_TEXT ? (uint32_t)key_payload(hhash) : INDEX_NO_TEXT;
    struct value parent, root;

    if (key_tag(pid) != KEY_INT || key_payload(pid) <= 0)
        return;
    if (what->what != OUTPUT_BOUNDARY) {
        process_parent(t->processes, key_payload(pid), host, &parent, &root);
        *ret = what->what == OUTPUT_PARENT ? parent : root;
    } else if (extent_has_times(s)) {
        __int128 twice = s->min_ts + s->max_te;
        *ret = process_boundary(t->processes, what->of, key_payload(pid), host,
                                twice / 2 - (twice < 0 && twice % 2 != 0));
    }
}

int aggregate_key_value(const struct aggregate_plan *p, unsigned number, uint64_t key,
                        struct value *ret)
{
    if (key_tag(key) == (enum key_tag)KEY_OTHER)
        *ret = (struct value){.type = VALUE_TEXT, .text = TEXT("(other)")};
    else
        query_key_value(p->query, key, ret);
    return (int)number == p->bucket_key ? bucket_format(p, ret) : 0;
}

int aggregate_values(struct row_reader *t, struct row_id row, const bool *done,
                     struct value *values)
{
    const struct aggregate_plan *p = t->plan;
    const struct groups_of_set *s = &t->found->set[row.set];
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = 0;

    group_map_keys(&s->map, row.group, keys);
    for (unsigned i = 0; i < p->measures.count; i++)
        t->measures[i].done = t->measures[i].has_quantiles = false;
    for (size_t i = 0; i < p->columns.count && rc == 0; i++) {
        const struct output_column *what = &p->outputs.at[i];
        struct value *v = &values[i];
        if (done && done[i])
            continue;
        *v = null_value();
        switch (what->what) {
        case OUTPUT_CLASS:
            *v = (struct value){.type = VALUE_TEXT, .text = text_of(aggregate_classes[row.set])};
            break;
        case OUTPUT_KEY:
            rc = aggregate_key_value(p, what->of, keys[what->of], v);
            break;
        case OUTPUT_COUNT:
            *v = (struct value){.type = VALUE_UINT, .u = *group_count(s, row.group)};
            break;
        case OUTPUT_TS:
        case OUTPUT_TE:
            *v = time_value(p, plan_extent(p, s, row.set, row.group), what->what);
            break;
        case OUTPUT_KEEP:
            *v = kept_value(t, row, what->of);
            break;
        case OUTPUT_BUSY:
            *v = (struct value){.type = VALUE_TIME, .wide = t->busy[row.group]};
            break;
        case OUTPUT_CONCURRENCY:
        case OUTPUT_BANDWIDTH:
            *v = ratio_value(t, row, what);
            break;
        case OUTPUT_BOUNDARY:
        case OUTPUT_PARENT:
        case OUTPUT_ROOT:
            process_value(t, keys, plan_extent(p, s, row.set, row.group), what, v);
            break;
        default:
            rc = measure_value(t, row, what, v);
        }
    }
    return rc;
}
