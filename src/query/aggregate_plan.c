/* aggregate_plan.c - what is asked for as columns, keys and measures: what both forms share, and the pipeline. */
#include "aggregate.h"
#include "plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int no_memory(struct err *err)
{
    return err_set(err, -ENOMEM, "%s", err_text(-ENOMEM));
}

/* ---- percentiles ------------------------------------------------------------------------------------------ */

enum { DECIMALS = 15 };

/* A decimal number times 10^decimals; digits beyond these must be 0. */
static bool parse_decimal(struct text t, unsigned decimals, uint64_t *ret)
{
    uint64_t value = 0;
    unsigned after = 0, digits = 0;
    bool dot = false;

    for (size_t i = 0; i < t.len; i++) {
        if (t.ptr[i] == '.' && !dot) {
            dot = true;
            continue;
        }
        if (!isdigit((unsigned char)t.ptr[i]))
            return false;
        digits++;
        if (dot && after == decimals) {
            if (t.ptr[i] != '0')
                return false;
            continue;
        }
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(t.ptr[i] - '0');
        after += dot;
    }
    for (; after < decimals; after++) {
        if (value > UINT64_MAX / 10)
            return false;
        value *= 10;
    }
    *ret = value;
    return digits > 0;
}

int quantile_parse(struct arena *arena, struct text t, unsigned of, struct quantile *ret)
{
    const uint64_t whole = 1000000000000000, percent = whole / 100;
    char name[48];

    if (!parse_decimal(t, of == 100 ? DECIMALS - 2 : DECIMALS, &ret->part) || ret->part > whole)
        return -EINVAL;
    ret->whole = whole;
    int len =
        snprintf(name, sizeof(name), "p%llu.%013llu", (unsigned long long)(ret->part / percent),
                 (unsigned long long)(ret->part % percent));
    while (name[len - 1] == '0')
        len--;
    len -= name[len - 1] == '.';
    ret->name = arena_strdup(arena, (struct text){name, (size_t)len});
    return ret->name ? 0 : -ENOMEM;
}

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
                                 "`percentiles`: \"%.40s\" is no number from 0 to 1",
                                 o->percentiles[i]);
    }
    p->quantile_count = (unsigned)o->percentile_count;
    qsort(p->quantiles, p->quantile_count, sizeof(*p->quantiles), compare_quantiles);
    for (unsigned i = 1; i < p->quantile_count; i++) {
        if (p->quantiles[i].part == p->quantiles[i - 1].part)
            return err_set_param(err, ERR_PARAM, "percentiles", "`percentiles`: %s is there twice",
                                 p->quantiles[i].name);
    }
    return 0;
}

/* ---- columns and measures ------------------------------------------------------------------------------------ */

int plan_column(struct aggregate_plan *p, const char *name, enum value_type type,
                enum aggregate_unit unit, struct teller t)
{
    for (size_t i = 0; i < p->column_count; i++) {
        if (strcmp(p->columns[i].name, name) == 0)
            return -EEXIST;
    }
    if (p->column_count == p->column_cap) {
        size_t cap = p->column_cap ? p->column_cap * 2 : 64;
        struct aggregate_column *columns = realloc(p->columns, cap * sizeof(*columns));
        p->columns = columns ? columns : p->columns;
        struct teller *tellers = realloc(p->tellers, cap * sizeof(*tellers));
        p->tellers = tellers ? tellers : p->tellers;
        if (!columns || !tellers)
            return -ENOMEM;
        p->column_cap = cap;
    }
    char *copy = arena_strdup(p->arena, text_of(name));
    if (!copy)
        return -ENOMEM;
    p->tellers[p->column_count] = t;
    p->columns[p->column_count++] =
        (struct aggregate_column){.name = copy,
                                  .type = type,
                                  .unit = unit,
                                  .key = t.what == TELL_KEY || t.what == TELL_CLASS};
    return 0;
}

/* "<name>_<suffix>" */
static int add_column(struct aggregate_plan *p, const char *name, const char *suffix,
                      enum value_type type, enum aggregate_unit unit, struct teller t)
{
    char room[1200];

    snprintf(room, sizeof(room), "%.1000s_%.100s", name, suffix);
    return plan_column(p, room, type, unit, t);
}

int plan_measure(struct aggregate_plan *p, const char *name, const char *path, unsigned *ret)
{
    if (p->measure_count == p->measure_cap) {
        unsigned cap = p->measure_cap ? p->measure_cap * 2 : 16;
        struct measure *grown = realloc(p->measures, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        p->measures = grown;
        p->measure_cap = cap;
    }
    struct measure *m = &p->measures[p->measure_count];
    memset(m, 0, sizeof(*m));
    m->name = arena_strdup(p->arena, text_of(name));
    char *copy = arena_strdup(p->arena, text_of(path));
    int rc = m->name && copy ? query_source(p->query, text_of(copy), &m->source) : -ENOMEM;
    if (rc < 0)
        return rc;
    m->time = source_is_time(m->source);
    *ret = p->measure_count++;
    return 0;
}

/* total, min, max, mean, std and, where asked for, skew and kurtosis. */
static int measure_columns(struct aggregate_plan *p, unsigned measure, enum aggregate_unit unit)
{
    const struct {
        const char *suffix;
        enum tell what;
        bool is_double;
    } stats[] = {{"total", TELL_SUM},
                 {"min", TELL_MIN},
                 {"max", TELL_MAX},
                 {"mean", TELL_MEAN, true},
                 {"std", TELL_STD, true}};
    const struct measure *m = &p->measures[measure];
    enum value_type type = m->time ? VALUE_TIME : VALUE_NULL;
    int rc = 0;

    for (size_t i = 0; i < sizeof(stats) / sizeof(*stats) && rc == 0; i++)
        rc = add_column(p, m->name, stats[i].suffix, stats[i].is_double ? VALUE_DOUBLE : type, unit,
                        (struct teller){stats[i].what, measure, 0});
    return rc;
}

/* Behind all others, so that the order of the first columns is always the same. */
static int shape_columns(struct aggregate_plan *p, unsigned measure)
{
    const char *name = p->measures[measure].name;
    int rc = add_column(p, name, "skew", VALUE_DOUBLE, AGGREGATE_PLAIN,
                        (struct teller){TELL_SKEW, measure, 0});

    return rc < 0 ? rc
                  : add_column(p, name, "kurtosis", VALUE_DOUBLE, AGGREGATE_PLAIN,
                               (struct teller){TELL_KURTOSIS, measure, 0});
}

static int quantile_columns(struct aggregate_plan *p, unsigned measure, enum aggregate_unit unit)
{
    const struct measure *m = &p->measures[measure];
    int rc = 0;

    for (unsigned i = 0; i < p->quantile_count && rc == 0; i++)
        rc = add_column(p, m->name, p->quantiles[i].name, m->time ? VALUE_TIME : VALUE_NULL, unit,
                        (struct teller){TELL_QUANTILE, measure, i});
    return rc;
}

/* ---- fields ---------------------------------------------------------------------------------------------------- */

enum { SEEN_NUMBER = 1, SEEN_TEXT = 2, SEEN_MAYBE = 4 };

static unsigned seen_in(struct chunk_view *v, const struct source *s)
{
    const struct text paths[] = {s->info.column, s->info.other};
    struct column c;
    unsigned seen = 0;

    for (unsigned i = 0; i < 2; i++) {
        if (paths[i].len == 0 || chunk_find(v, paths[i], &c) < 0)
            continue;
        seen |= c.type == COLUMN_TEXT || c.type == COLUMN_BOOL ? SEEN_TEXT : SEEN_NUMBER;
    }
    return seen | (seen == 0 && chunk_find(v, TEXT("@other"), &c) == 0 ? SEEN_MAYBE : 0);
}

/* What is known of a column in all chunks, until a number was found. */
static int look_for(const struct aggregate_plan *p, const struct source *const *sources,
                    size_t count, unsigned *ret)
{
    struct query *q = p->query;
    const struct scan_place *places;
    size_t n = scan_places(q, &places);
    int rc = 0;

    *ret = n == 0 ? SEEN_MAYBE : 0;
    for (size_t i = 0; i < n && rc == 0 && !(*ret & (SEEN_NUMBER | SEEN_MAYBE)); i++) {
        const struct index_file *file = snapshot_file(query_snapshot(q), places[i].file);
        struct chunk_view *v;
        rc = chunk_open(query_index(q), query_snapshot(q), file, places[i].chunk, &v);
        for (size_t k = 0; rc == 0 && k < count; k++)
            *ret |= sources[k] ? seen_in(v, sources[k]) : 0;
        if (rc == 0)
            chunk_close(v);
    }
    return rc;
}

int plan_check_numeric(const struct aggregate_plan *p, const struct measure *m, const char *param,
                       struct err *err)
{
    const struct source *const sources[] = {m->source, m->sum};
    unsigned seen = SEEN_NUMBER;
    int rc = 0;

    if (m->source->info.kind == PATH_COLUMN)
        rc = look_for(p, sources, 2, &seen);
    else if (m->source->info.kind != PATH_DUR && m->source->info.kind != PATH_TE &&
             m->source->info.kind != PATH_RANK)
        seen = SEEN_TEXT;
    if (rc < 0)
        return err_set(err, rc, "%s", err_text(rc));
    if (seen & (SEEN_NUMBER | SEEN_MAYBE))
        return 0;
    return err_set_param(err, ERR_PARAM, param,
                         seen ? "`%s`: \"%.100s\" is text, not a number"
                              : "`%s`: no event has \"%.100s\"",
                         param, m->name);
}

static const char *without_args(const char *path)
{
    return strncmp(path, "args.", 5) == 0 ? path + 5 : path;
}

static int argument_source(struct aggregate_plan *p, const char *name, const char *suffix,
                           const struct source **ret)
{
    char room[1200];

    snprintf(room, sizeof(room), "args.%.1000s%s", name, suffix);
    const char *copy = arena_strdup(p->arena, text_of(room));
    return copy ? query_source(p->query, text_of(copy), ret) : -ENOMEM;
}

static int clash(struct err *err, int rc, const char *param, const char *name)
{
    if (rc == -EEXIST)
        return err_set_param(err, ERR_PARAM, param,
                             "`%s`: there is a column of the name of \"%.100s\" already", param,
                             name);
    return rc < 0 ? no_memory(err) : 0;
}

static int plan_field(struct aggregate_plan *p, const char *path, struct err *err)
{
    const char *name = without_args(path);
    unsigned measure;
    int rc = strlen(name) > 1000 ? -ENAMETOOLONG : plan_measure(p, name, path, &measure);

    if (rc == -ENAMETOOLONG)
        return err_set_param(err, ERR_PARAM, "metric_fields",
                             "`metric_fields`: a name is too long");
    struct measure *m = &p->measures[measure];
    rc = rc < 0 ? rc : argument_source(p, name, "_sum", &m->sum);
    rc = rc < 0 ? rc : argument_source(p, name, "_min", &m->min);
    rc = rc < 0 ? rc : argument_source(p, name, "_max", &m->max);
    rc = rc < 0 ? rc : argument_source(p, name, "", &m->plain);
    return rc < 0 ? no_memory(err) : plan_check_numeric(p, m, "metric_fields", err);
}

/* ---- arguments of system rows ------------------------------------------------------------------------------------ */

struct paths {
    const char **list;
    size_t count, cap;
};

static int paths_add(struct aggregate_plan *p, struct paths *paths, struct text path)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (text_eq(text_of(paths->list[i]), path))
            return 0;
    }
    if (paths->count == paths->cap) {
        size_t cap = paths->cap ? paths->cap * 2 : 64;
        const char **grown = realloc(paths->list, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        paths->list = grown;
        paths->cap = cap;
    }
    paths->list[paths->count] = arena_strdup(p->arena, path);
    return paths->list[paths->count++] ? 0 : -ENOMEM;
}

static int paths_of_chunk(struct aggregate_plan *p, struct paths *paths, struct chunk_view *v)
{
    struct column c;
    int rc = 0;

    if (chunk_find(v, TEXT("@class"), &c) == 0 && c.constant && c.nulls == 0 &&
        c.min != TRACE_COUNTER && c.min != TRACE_AGGREGATED)
        return 0;
    for (uint32_t i = 0; i < chunk_column_count(v) && rc == 0; i++) {
        chunk_column(v, i, &c);
        if (text_starts(c.path, TEXT("args.")) && c.path.len < 1000 &&
            (c.type == COLUMN_INT || c.type == COLUMN_DOUBLE || c.type == COLUMN_MIXED))
            rc = paths_add(p, paths, c.path);
    }
    return rc;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int plan_system_measures(struct aggregate_plan *p, struct err *err)
{
    const struct scan_place *places;
    size_t n = scan_places(p->query, &places);
    struct paths paths = {0};
    int rc = 0;

    for (size_t i = 0;
         i < n && rc == 0 && query_phases(p->query) & (PHASE_COUNTERS | PHASE_AGGREGATED); i++) {
        const struct index_file *f = snapshot_file(query_snapshot(p->query), places[i].file);
        struct chunk_view *v;
        if (f->counts.counters + f->counts.aggregated == 0)
            continue;
        rc = chunk_open(query_index(p->query), query_snapshot(p->query), f, places[i].chunk, &v);
        if (rc < 0)
            break;
        rc = paths_of_chunk(p, &paths, v);
        chunk_close(v);
    }
    if (paths.count)
        qsort(paths.list, paths.count, sizeof(*paths.list), compare_paths);
    for (size_t i = 0; i < paths.count && rc == 0; i++) {
        unsigned measure;
        rc = plan_measure(p, without_args(paths.list[i]), paths.list[i], &measure);
        if (rc == 0)
            p->measures[measure].system = true;
    }
    free(paths.list);
    return rc < 0 ? err_set(err, rc, "%s", err_text(rc)) : 0;
}

/* Columns of those that have any value; names that are taken are left out. */
int plan_system_columns(struct aggregate_plan *p, const bool *used)
{
    static const struct {
        const char *suffix;
        enum tell what;
        bool is_double;
    } stats[] = {{"mean", TELL_MEAN, true}, {"min", TELL_MIN}, {"max", TELL_MAX}};
    size_t taken = p->column_count;

    for (unsigned m = p->plain_measures; m < p->measure_count; m++) {
        size_t before = p->column_count;
        int rc = used[m] ? 0 : -EEXIST;
        for (size_t i = 0; i < 3 && rc == 0; i++)
            rc = add_column(p, p->measures[m].name, stats[i].suffix,
                            stats[i].is_double ? VALUE_DOUBLE : VALUE_NULL, AGGREGATE_PLAIN,
                            (struct teller){stats[i].what, m, 0});
        if (rc == -EEXIST)
            p->column_count = before;
        else if (rc < 0)
            return rc;
    }
    for (size_t i = taken; i < p->column_count; i++)
        p->columns[i].optional = true;
    return 0;
}

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

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
    rc = rc < 0 ? rc : plan_key(p, "time_bucket", s);
    for (size_t i = 0; i < o->group_key_count && rc == 0; i++) {
        const char *copy = arena_strdup(p->arena, text_of(o->group_keys[i]));
        rc = copy ? query_source(p->query, text_of(copy), &s) : -ENOMEM;
        rc = rc < 0 ? rc : plan_key(p, without_args(copy), s);
    }
    if (rc == -E2BIG)
        return err_set_param(err, ERR_PARAM, "group_keys", "`group_keys`: at most %d columns",
                             GROUP_KEYS_MAX - 7);
    return rc < 0 ? no_memory(err) : 0;
}

/* ---- the pipeline ------------------------------------------------------------------------------------------------------ */

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

static int base_columns(struct aggregate_plan *p)
{
    int rc = plan_column(p, "batch_type", VALUE_TEXT, AGGREGATE_PLAIN,
                         (struct teller){TELL_CLASS, 0, 0});

    for (unsigned i = 0; i < 7 && rc == 0; i++)
        rc = plan_column(p, p->keys[i].name,
                         i == 6             ? VALUE_TIME
                         : i == 2 || i == 3 ? VALUE_INT
                                            : VALUE_TEXT,
                         i == 6 ? AGGREGATE_US : AGGREGATE_PLAIN, (struct teller){TELL_KEY, i, 0});
    rc = rc < 0 ? rc
                : plan_column(p, "count", VALUE_UINT, AGGREGATE_PLAIN,
                              (struct teller){TELL_COUNT, 0, 0});
    rc = rc < 0 ? rc : measure_columns(p, M_DUR, AGGREGATE_US);
    rc = rc < 0 ? rc : measure_columns(p, M_SIZE, AGGREGATE_BYTES);
    rc = rc < 0 ? rc
                : plan_column(p, "ts", VALUE_TIME, AGGREGATE_US, (struct teller){TELL_TS, 0, 0});
    return rc < 0 ? rc
                  : plan_column(p, "te", VALUE_TIME, AGGREGATE_US, (struct teller){TELL_TE, 0, 0});
}

static int more_columns(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err)
{
    int rc = 0;

    for (unsigned i = 7; i < p->width && rc == 0; i++)
        rc = clash(err,
                   plan_column(p, p->keys[i].name, VALUE_NULL, AGGREGATE_PLAIN,
                               (struct teller){TELL_KEY, i, 0}),
                   "group_keys", p->keys[i].name);
    rc = rc < 0 ? rc : clash(err, quantile_columns(p, M_DUR, AGGREGATE_US), "percentiles", "dur");
    rc = rc < 0 ? rc
                : clash(err, quantile_columns(p, M_SIZE, AGGREGATE_BYTES), "percentiles", "size");
    for (unsigned m = M_FIELDS; m < p->plain_measures && rc == 0; m++)
        rc = clash(err, measure_columns(p, m, AGGREGATE_PLAIN), "metric_fields",
                   p->measures[m].name);
    for (unsigned m = 0; o->shape && m < p->plain_measures && rc == 0; m++)
        rc = clash(err, shape_columns(p, m), "metric_fields", p->measures[m].name);
    for (unsigned i = 0; i < p->boundary_count && rc == 0; i++)
        rc = clash(err,
                   plan_column(p, p->boundaries[i].output, VALUE_TEXT, AGGREGATE_PLAIN,
                               (struct teller){TELL_BOUNDARY, i, 0}),
                   "boundary_events", p->boundaries[i].output);
    if (o->parents && rc == 0)
        rc = clash(err,
                   plan_column(p, "parent_pid", VALUE_INT, AGGREGATE_PLAIN,
                               (struct teller){TELL_PARENT, 0, 0}),
                   "boundary_events", "parent_pid");
    if (o->parents && rc == 0)
        rc = clash(err,
                   plan_column(p, "root_pid", VALUE_INT, AGGREGATE_PLAIN,
                               (struct teller){TELL_ROOT, 0, 0}),
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
            return err_set_param(err, ERR_PARAM, "boundary_events",
                                 "`boundary_events`: \"%.100s\" is not event:field:output",
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

static int plan_pipeline(struct aggregate_plan *p, const struct aggregate_options *o,
                         struct err *err)
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
        rc = plan_field(p, o->metric_fields[i], err);
    p->plain_measures = p->measure_count;
    rc = rc < 0 ? rc : base_columns(p) < 0 ? no_memory(err) : 0;
    rc = rc < 0 ? rc : more_columns(p, o, err);
    return rc < 0 ? rc : plan_system_measures(p, err);
}

/* ---- both forms ----------------------------------------------------------------------------------------------------------- */

struct earliest {
    const struct source *ts;
    bool any;
    __int128 ns;
};

static int earliest_batch(void *state, struct scan_batch *b)
{
    struct earliest *e = state;
    const int64_t *ts;
    const uint64_t *valid;
    bool nano;
    int rc = batch_i64(b, e->ts, &ts, &valid, &nano);

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        __int128 ns = (__int128)ts[row] * (nano ? 1 : 1000);
        if (batch_is_valid(valid, row) && (!e->any || ns < e->ns)) {
            e->any = true;
            e->ns = ns;
        }
    }
    return rc == -EDOM ? 0 : rc;
}

static int earliest_begin(void *arg, unsigned worker, void **ret)
{
    struct earliest *e = calloc(1, sizeof(*e));
    (void)worker;

    if (e)
        e->ts = ((struct earliest *)arg)->ts;
    *ret = e;
    return e ? 0 : -ENOMEM;
}

static int earliest_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct earliest *all = arg, *e = state;
    (void)worker;
    (void)failed;

    if (e->any && (!all->any || e->ns < all->ns)) {
        all->any = true;
        all->ns = e->ns;
    }
    free(e);
    return 0;
}

/* The smallest ts of the selection is 0 from now on. */
static int find_origin(struct aggregate_plan *p, struct err *err)
{
    struct earliest e = {.ts = p->ts};
    struct scan_sink sink = {.arg = &e,
                             .worker_begin = earliest_begin,
                             .batch = earliest_batch,
                             .worker_end = earliest_end};
    int rc = scan_run(p->query, &sink, err);

    p->origin_ns = e.ns;
    return rc;
}

int aggregate_plan_make(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err)
{
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {{"ts", &p->ts}, {"te", &p->te}, {"dur", &p->dur}, {"size", &p->size}};
    int rc = 0;

    p->max_groups = query_environment(p->query)->max_groups;
    p->exact = o->exact;
    p->shape = o->shape;
    p->interval_ns = o->interval_ns;
    p->split = o->split && o->interval_ns > 0;
    p->general = o->aggregate_count > 0;
    p->bucket_key = p->pid_key = p->hhash_key = -1;
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(p->query, text_of(sources[i].path), sources[i].at);
    if (rc < 0)
        return no_memory(err);
    if (o->relative)
        rc = find_origin(p, err);
    if (rc < 0)
        return rc;
    return p->general ? plan_general(p, o, err) : plan_pipeline(p, o, err);
}
