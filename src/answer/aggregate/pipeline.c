/* pipeline.c - the pipeline as columns, keys and measures: one row per class, process,
 * thread, bucket ... */
#include "answer/aggregate/plan_columns.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int compare_quantiles(const void *a, const void *b)
{
    const struct quantile *x = a, *y = b;

    return (x->part > y->part) - (x->part < y->part);
}

static int plan_percentiles(struct aggregate_plan *p, const struct aggregate_options *o,
                            struct err *err)
{
    p->quantiles = arena_alloc(p->arena, (o->percentile_count + 1) * sizeof(*p->quantiles));
    if (!p->quantiles)
        return no_memory(err);
    for (size_t i = 0; i < o->percentile_count; i++) {
        int rc = quantile_parse(p->arena, text_of(o->percentiles[i]), 1, &p->quantiles[i]);
        if (rc == -ENOMEM)
            return no_memory(err);
        if (rc < 0)
            return err_set_param(err, ERR_PARAM, "percentiles",
                                 "`percentiles`: \"%.40s\" is not a number from 0 to 1",
                                 o->percentiles[i]);
    }
    p->quantile_count = (unsigned)o->percentile_count;
    qsort(p->quantiles, p->quantile_count, sizeof(*p->quantiles), compare_quantiles);
    for (unsigned i = 1; i < p->quantile_count; i++) {
        if (p->quantiles[i].part == p->quantiles[i - 1].part)
            return err_set_param(err, ERR_PARAM, "percentiles", "`percentiles`: %s is listed twice",
                                 p->quantiles[i].name);
    }
    return 0;
}

/* total, min, max, mean and std. */
static int measure_columns(struct aggregate_plan *p, unsigned measure, enum column_unit unit)
{
    const struct {
        const char *suffix;
        enum output what;
        bool is_double;
    } stats[] = {{"total", OUTPUT_SUM},
                 {"min", OUTPUT_MIN},
                 {"max", OUTPUT_MAX},
                 {"mean", OUTPUT_MEAN, true},
                 {"std", OUTPUT_STD, true}};
    const struct measure *m = &p->measures[measure];
    enum value_type type = m->type;
    int rc = 0;

    for (size_t i = 0; i < sizeof(stats) / sizeof(*stats) && rc == 0; i++)
        rc = plan_stat_column(p, m->name, stats[i].suffix, stats[i].is_double ? VALUE_DOUBLE : type,
                              unit, (struct output_column){stats[i].what, measure, 0});
    return rc;
}

/* Behind all others, so that the order of the first columns is always the same. */
static int shape_columns(struct aggregate_plan *p, unsigned measure)
{
    const char *name = p->measures[measure].name;
    int rc = plan_stat_column(p, name, "skew", VALUE_DOUBLE, UNIT_NONE,
                              (struct output_column){OUTPUT_SKEW, measure, 0});

    return rc < 0 ? rc
                  : plan_stat_column(p, name, "kurtosis", VALUE_DOUBLE, UNIT_NONE,
                                     (struct output_column){OUTPUT_KURTOSIS, measure, 0});
}

static int quantile_columns(struct aggregate_plan *p, unsigned measure, enum column_unit unit)
{
    const char *name = p->measures[measure].name;
    int rc = 0;

    for (unsigned i = 0; i < p->quantile_count && rc == 0; i++)
        rc = plan_stat_column(p, name, p->quantiles[i].name, VALUE_DOUBLE, unit,
                              (struct output_column){OUTPUT_QUANTILE, measure, i});
    return rc;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int plan_key(struct aggregate_plan *p, const char *name, const struct source *source)
{
    if (p->width == GROUP_KEYS_MAX)
        return -E2BIG;
    p->keys[p->width] = (struct aggregate_key){.name = name, .source = source};
    p->key_sources[p->width++] = source;
    return 0;
}

static int pipeline_keys(struct aggregate_plan *p, const struct aggregate_options *o,
                         struct err *err)
{
    static const char *const names[] = {"cat", "name", "pid", "tid", "hhash", "fhash"};
    const struct source *s;
    int rc = 0;

    for (unsigned i = 0; i < 6 && rc == 0; i++) {
        rc = query_source(p->query, text_of(names[i]), &s);
        rc = rc < 0 ? rc : plan_key(p, names[i], s);
    }
    p->pid_key = 2;
    p->hhash_key = 4;
    p->bucket_key = 6;
    rc = rc < 0 ? rc : query_source_bucket(p->query, p->interval_ns, p->origin_ns, &s);
    rc = rc < 0 ? rc : plan_key(p, bucket_name(p), s);
    for (size_t i = 0; i < o->group_key_count && rc == 0; i++) {
        const char *copy = arena_strdup(p->arena, text_of(o->group_keys[i]));
        rc = copy ? query_source(p->query, text_of(copy), &s) : -ENOMEM;
        rc = rc < 0 ? rc : plan_key(p, without_args(copy), s);
        if (rc == 0)
            p->keys[p->width - 1].type = plan_type(copy, VALUE_TEXT);
        bool optional = plan_is_optional(o, o->group_keys[i]);
        int known = rc < 0 || optional ? 0 : query_check_column(p->query, s, "group_keys", err);
        if (known < 0)
            return known;
    }
    if (rc == -E2BIG)
        return err_set_param(err, ERR_PARAM, "group_keys",
                             "`group_keys`: at most %d columns are allowed", GROUP_KEYS_MAX - 7);
    return rc < 0 ? no_memory(err) : 0;
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

static int counter_sources(struct aggregate_plan *p)
{
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {{"args.dft_cnt", &p->dft_cnt},
                   {"args.freq", &p->freq},
                   {"args.count", &p->count},
                   {"args.time", &p->time},
                   {"args.dur", &p->args_dur},
                   {"args.dur_sum", &p->dur_sum},
                   {"args.dur_min", &p->dur_min},
                   {"args.dur_max", &p->dur_max},
                   {"args.size_sum", &p->size_sum},
                   {"args.size_min", &p->size_min},
                   {"args.size_max", &p->size_max},
                   {"args.ret_sum", &p->ret_sum},
                   {"args.ret_min", &p->ret_min},
                   {"args.ret_max", &p->ret_max},
                   {"cat", &p->cat},
                   {"@class", &p->class}};
    int rc = 0;

    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(p->query, text_of(sources[i].path), sources[i].at);
    return rc;
}

static int clash(struct err *err, int rc, const char *param, const char *name)
{
    if (rc == -EEXIST)
        return err_set_param(err, ERR_PARAM, param,
                             "`%s`: a column of \"%.100s\" has the same name as another column",
                             param, name);
    return rc < 0 ? no_memory(err) : 0;
}

static int base_columns(struct aggregate_plan *p)
{
    int rc = plan_column(p, "batch_type", VALUE_TEXT, UNIT_NONE,
                         (struct output_column){OUTPUT_CLASS, 0, 0});

    for (unsigned i = 0; i < 7 && rc == 0; i++)
        rc = plan_column(p, p->keys[i].name,
                         i == 6             ? bucket_type(p)
                         : i == 2 || i == 3 ? VALUE_UINT
                                            : VALUE_TEXT,
                         i == 6 ? UNIT_US : UNIT_NONE, (struct output_column){OUTPUT_KEY, i, 0});
    rc = rc < 0 ? rc
                : plan_column(p, "count", VALUE_UINT, UNIT_NONE,
                              (struct output_column){OUTPUT_COUNT, 0, 0});
    rc = rc < 0 ? rc : measure_columns(p, M_DUR, UNIT_US);
    rc = rc < 0 ? rc : measure_columns(p, M_SIZE, UNIT_BYTES);
    rc = rc < 0
             ? rc
             : plan_column(p, "ts", VALUE_TIME, UNIT_US, (struct output_column){OUTPUT_TS, 0, 0});
    return rc < 0
               ? rc
               : plan_column(p, "te", VALUE_TIME, UNIT_US, (struct output_column){OUTPUT_TE, 0, 0});
}

static int more_columns(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err)
{
    int rc = 0;

    for (unsigned i = 7; i < p->width && rc == 0; i++)
        rc = clash(err,
                   plan_column(p, p->keys[i].name, p->keys[i].type, UNIT_NONE,
                               (struct output_column){OUTPUT_KEY, i, 0}),
                   "group_keys", p->keys[i].name);
    rc = rc < 0 ? rc : clash(err, quantile_columns(p, M_DUR, UNIT_US), "percentiles", "dur");
    rc = rc < 0 ? rc : clash(err, quantile_columns(p, M_SIZE, UNIT_BYTES), "percentiles", "size");
    for (unsigned m = M_FIELDS; m < p->requested_measures && rc == 0; m++)
        rc = clash(err, measure_columns(p, m, UNIT_NONE), "metric_fields", p->measures[m].name);
    for (unsigned m = 0; o->shape && m < p->requested_measures && rc == 0; m++)
        rc = clash(err, shape_columns(p, m), "metric_fields", p->measures[m].name);
    for (unsigned i = 0; i < p->boundary_count && rc == 0; i++)
        rc = clash(err,
                   plan_column(p, p->boundaries[i].output, VALUE_TEXT, UNIT_NONE,
                               (struct output_column){OUTPUT_BOUNDARY, i, 0}),
                   "boundary_events", p->boundaries[i].output);
    if (o->parents && rc == 0)
        rc = clash(err,
                   plan_column(p, "parent_pid", VALUE_UINT, UNIT_NONE,
                               (struct output_column){OUTPUT_PARENT, 0, 0}),
                   "boundary_events", "parent_pid");
    if (o->parents && rc == 0)
        rc = clash(err,
                   plan_column(p, "root_pid", VALUE_UINT, UNIT_NONE,
                               (struct output_column){OUTPUT_ROOT, 0, 0}),
                   "boundary_events", "root_pid");
    return rc;
}

static int plan_boundaries(struct aggregate_plan *p, const struct aggregate_options *o,
                           struct err *err)
{
    p->boundaries = arena_alloc(p->arena, (o->boundary_count + 1) * sizeof(*p->boundaries));
    if (!p->boundaries)
        return no_memory(err);
    for (size_t i = 0; i < o->boundary_count; i++) {
        struct text rest = text_of(o->boundaries[i]), part[3];
        unsigned n = 0;
        while (n < 3 && text_split(&rest, ':', &part[n]) && part[n].len > 0)
            n++;
        if (n < 3 || rest.ptr)
            return err_set_param(
                err, ERR_PARAM, "boundary_events",
                "`boundary_events`: \"%.100s\" must have the form event:field:output",
                o->boundaries[i]);
        p->boundaries[i] =
            (struct boundary){arena_strdup(p->arena, part[0]), arena_strdup(p->arena, part[1]),
                              arena_strdup(p->arena, part[2])};
        if (!p->boundaries[i].event || !p->boundaries[i].field || !p->boundaries[i].output)
            return no_memory(err);
    }
    p->boundary_count = (unsigned)o->boundary_count;
    return 0;
}

int plan_pipeline(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err)
{
    unsigned measure;
    int rc = plan_percentiles(p, o, err);

    rc = rc < 0 ? rc : plan_boundaries(p, o, err);
    rc = rc < 0 ? rc : pipeline_keys(p, o, err);
    if (rc < 0)
        return rc;
    p->classes = true;
    rc = counter_sources(p);
    rc = rc < 0 ? rc : plan_measure(p, "dur", "dur", &measure);
    rc = rc < 0 ? rc : plan_measure(p, "size", "size", &measure);
    if (rc < 0)
        return no_memory(err);
    p->measures[M_DUR].sample = p->measures[M_SIZE].sample = p->quantile_count > 0;
    for (size_t i = 0; i < o->metric_field_count && rc == 0; i++)
        rc = plan_field(p, o, o->metric_fields[i], err);
    p->requested_measures = p->measure_count;
    rc = rc < 0 ? rc : base_columns(p) < 0 ? no_memory(err) : 0;
    rc = rc < 0 ? rc : more_columns(p, o, err);
    return rc < 0 ? rc : plan_system_measures(p, err);
}
