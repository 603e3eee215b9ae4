/* pipeline.c - plans the pipeline: keys, measures and columns of one row for each class, process,
 * thread, bucket ... */
#include "answer/aggregate/plan_columns.h"
#include "engine/plan/seen.h"

#include <errno.h>
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
        return err_set_code(err, -ENOMEM);
    for (size_t i = 0; i < o->percentile_count; i++) {
        int rc = quantile_parse(p->arena, text_of(o->percentiles[i]), 1, &p->quantiles[i]);
        if (rc == -ENOMEM)
            return err_set_code(err, -ENOMEM);
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

/* Adds total, min, max, mean and std. */
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
    const struct measure *m = &p->measures.at[measure];
    int rc = 0;

    for (size_t i = 0; i < sizeof(stats) / sizeof(*stats) && rc == 0; i++)
        rc = plan_stat_column(p, m->name, stats[i].suffix,
                              stats[i].is_double ? VALUE_DOUBLE : m->type, unit,
                              (struct output_column){stats[i].what, measure, 0});
    return rc;
}

static int shape_columns(struct aggregate_plan *p, unsigned measure)
{
    const char *name = p->measures.at[measure].name;
    int rc = plan_stat_column(p, name, "skew", VALUE_DOUBLE, UNIT_NONE,
                              (struct output_column){OUTPUT_SKEW, measure, 0});

    return rc < 0 ? rc
                  : plan_stat_column(p, name, "kurtosis", VALUE_DOUBLE, UNIT_NONE,
                                     (struct output_column){OUTPUT_KURTOSIS, measure, 0});
}

static int quantile_columns(struct aggregate_plan *p, unsigned measure, enum column_unit unit)
{
    const char *name = p->measures.at[measure].name;
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
    p->keys[p->width] = (struct aggregate_key){.name = name};
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
        int known = rc < 0 || optional ? 0 : query_check_argument(p->query, s, "group_keys", err);
        if (known < 0)
            return known;
    }
    if (rc == -E2BIG)
        return err_set_param(err, ERR_PARAM, "group_keys",
                             "`group_keys`: at most %d columns are allowed", GROUP_KEYS_MAX - 7);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

static int counter_sources(struct aggregate_plan *p)
{
    static const char *const paths[COUNTER_COLUMNS] = {[COUNTER_TS] = "ts",
                                                       [COUNTER_DFT_CNT] = "args.dft_cnt",
                                                       [COUNTER_FREQ] = "args.freq",
                                                       [COUNTER_COUNT] = "args.count",
                                                       [COUNTER_DUR_SUM] = "args.dur_sum",
                                                       [COUNTER_ARGS_DUR] = "args.dur",
                                                       [COUNTER_DUR] = "dur",
                                                       [COUNTER_TIME] = "args.time",
                                                       [COUNTER_DUR_MIN] = "args.dur_min",
                                                       [COUNTER_DUR_MAX] = "args.dur_max",
                                                       [COUNTER_SIZE] = "size",
                                                       [COUNTER_SIZE_SUM] = "args.size_sum",
                                                       [COUNTER_SIZE_MIN] = "args.size_min",
                                                       [COUNTER_SIZE_MAX] = "args.size_max",
                                                       [COUNTER_RET_SUM] = "args.ret_sum",
                                                       [COUNTER_RET_MIN] = "args.ret_min",
                                                       [COUNTER_RET_MAX] = "args.ret_max"};
    int rc = query_source(p->query, TEXT("cat"), &p->cat);

    rc = rc < 0 ? rc : query_source(p->query, TEXT("@class"), &p->class);
    for (unsigned i = 0; i < COUNTER_COLUMNS && rc == 0; i++)
        rc = query_source(p->query, text_of(paths[i]), &p->counter[i]);
    return rc;
}

/* Sets the error of a column that `param` adds. */
static int column_error(struct err *err, int rc, const char *param, const char *name)
{
    if (rc == -EEXIST)
        return err_set_param(err, ERR_PARAM, param,
                             "`%s`: a column of \"%.100s\" has the same name as another column",
                             param, name);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

static int requested_column(struct aggregate_plan *p, struct err *err, const char *param,
                            const char *name, enum value_type type, struct output_column t)
{
    return column_error(
        err, plan_column(p, name, type, type == VALUE_UINT ? plan_unit(name) : UNIT_NONE, t), param,
        name);
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
                         UNIT_NONE, (struct output_column){OUTPUT_KEY, i, 0});
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

/* Columns that a request adds follow those of every answer. */
static int requested_columns(struct aggregate_plan *p, const struct aggregate_options *o,
                             struct err *err)
{
    int rc = 0;

    for (unsigned i = 7; i < p->width && rc == 0; i++)
        rc = requested_column(p, err, "group_keys", p->keys[i].name, p->keys[i].type,
                              (struct output_column){OUTPUT_KEY, i, 0});
    rc = rc < 0 ? rc : column_error(err, quantile_columns(p, M_DUR, UNIT_US), "percentiles", "dur");
    rc = rc < 0 ? rc
                : column_error(err, quantile_columns(p, M_SIZE, UNIT_BYTES), "percentiles", "size");
    for (unsigned m = M_FIELDS; m < p->requested_measures && rc == 0; m++)
        rc = column_error(err, measure_columns(p, m, UNIT_NONE), "metric_fields",
                          p->measures.at[m].name);
    for (unsigned m = 0; o->shape && m < p->requested_measures && rc == 0; m++)
        rc = column_error(err, shape_columns(p, m), "metric_fields", p->measures.at[m].name);
    for (unsigned i = 0; i < p->boundary_count && rc == 0; i++)
        rc = requested_column(p, err, "boundary_events", p->boundaries[i].output, VALUE_TEXT,
                              (struct output_column){OUTPUT_BOUNDARY, i, 0});
    if (o->parents && rc == 0)
        rc = requested_column(p, err, "track_process_parents", "parent_pid", VALUE_UINT,
                              (struct output_column){OUTPUT_PARENT, 0, 0});
    if (o->parents && rc == 0)
        rc = requested_column(p, err, "track_process_parents", "root_pid", VALUE_UINT,
                              (struct output_column){OUTPUT_ROOT, 0, 0});
    return rc;
}

static int plan_boundaries(struct aggregate_plan *p, const struct aggregate_options *o,
                           struct err *err)
{
    p->boundaries = arena_alloc(p->arena, (o->boundary_count + 1) * sizeof(*p->boundaries));
    if (!p->boundaries)
        return err_set_code(err, -ENOMEM);
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
            return err_set_code(err, -ENOMEM);
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
        return err_set_code(err, rc);
    p->measures.at[M_DUR].sample = p->measures.at[M_SIZE].sample = p->quantile_count > 0;
    for (size_t i = 0; i < o->metric_field_count && rc == 0; i++)
        rc = plan_field(p, o, o->metric_fields[i], err);
    p->requested_measures = (unsigned)p->measures.count;
    rc = rc < 0 ? rc : base_columns(p) < 0 ? err_set_code(err, -ENOMEM) : 0;
    rc = rc < 0 ? rc : requested_columns(p, o, err);
    return rc < 0 ? rc : plan_system_measures(p, err);
}
