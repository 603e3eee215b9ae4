/* general.c - plans the general form (`group_by` and `agg`): keys, measures, kept values and
 * columns. */
#include "answer/aggregate/plan_columns.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdio.h>

static const struct function {
    const char *name;
    enum output what;
    enum { PATH_NONE, PATH_REQUIRED, PATH_OPTIONAL } path;
    bool numbers;         /* its column must have numbers */
    enum value_type type; /* VALUE_NULL: that of the column */
    enum keep_kind kept;  /* KEEP */
} functions[] = {
    {"count", OUTPUT_COUNT, PATH_NONE, false, VALUE_UINT},
    {"sum", OUTPUT_SUM, PATH_REQUIRED, true, VALUE_NULL},
    {"mean", OUTPUT_MEAN, PATH_REQUIRED, true, VALUE_DOUBLE},
    {"min", OUTPUT_MIN, PATH_REQUIRED, true, VALUE_NULL},
    {"max", OUTPUT_MAX, PATH_REQUIRED, true, VALUE_NULL},
    {"std", OUTPUT_STD, PATH_REQUIRED, true, VALUE_DOUBLE},
    {"skew", OUTPUT_SKEW, PATH_REQUIRED, true, VALUE_DOUBLE},
    {"kurtosis", OUTPUT_KURTOSIS, PATH_REQUIRED, true, VALUE_DOUBLE},
    {"distinct", OUTPUT_KEEP, PATH_REQUIRED, false, VALUE_UINT, KEEP_DISTINCT},
    {"first", OUTPUT_KEEP, PATH_REQUIRED, false, VALUE_NULL, KEEP_FIRST},
    {"last", OUTPUT_KEEP, PATH_REQUIRED, false, VALUE_NULL, KEEP_LAST},
    {"busy", OUTPUT_BUSY, PATH_NONE, false, VALUE_TIME},
    {"concurrency", OUTPUT_CONCURRENCY, PATH_NONE, false, VALUE_DOUBLE},
    {"bandwidth", OUTPUT_BANDWIDTH, PATH_OPTIONAL, false, VALUE_DOUBLE},
};
static const struct function quantile_function = {"pNN", OUTPUT_QUANTILE, PATH_REQUIRED, true,
                                                  VALUE_DOUBLE};

/* An item of `agg`: [name=]function[:path] */
struct item {
    const struct function *function;
    const char *name, *path;
    struct quantile quantile;
};

static int bad_item(struct err *err, const char *text, const char *why)
{
    return err_set_param(err, ERR_PARAM, "agg", "`agg`: \"%.100s\" %s", text, why);
}

/* Sets the function of the item, and its quantile. Returns 0, -EINVAL if no function has this name,
 * or -ENOMEM. */
static int find_function(struct arena *arena, struct text name, struct item *ret)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        if (text_eq(name, text_of(functions[i].name))) {
            ret->function = &functions[i];
            return 0;
        }
    }
    ret->function = &quantile_function;
    return text_starts(name, TEXT("p"))
               ? quantile_parse(arena, (struct text){name.ptr + 1, name.len - 1}, 100,
                                &ret->quantile)
               : -EINVAL;
}

static int name_item(struct aggregate_plan *p, struct item *it)
{
    const char *suffix =
        it->function == &quantile_function ? it->quantile.name : it->function->name;
    char name[1200];

    if (it->name)
        return 0;
    if (it->path)
        snprintf(name, sizeof(name), "%.1000s_%.100s", without_args(it->path), suffix);
    else
        snprintf(name, sizeof(name), "%.100s", suffix);
    it->name = arena_strdup(p->arena, text_of(name));
    return it->name ? 0 : -ENOMEM;
}

static int parse_item(struct aggregate_plan *p, const char *source, struct item *ret,
                      struct err *err)
{
    struct text rest = text_of(source), function;
    const char *equals = strchr(source, '='), *colon = strchr(source, ':');

    memset(ret, 0, sizeof(*ret));
    if (equals && (!colon || equals < colon)) {
        ret->name = arena_strdup(p->arena, (struct text){source, (size_t)(equals - source)});
        if (!ret->name)
            return err_set_code(err, -ENOMEM);
        if (!*ret->name)
            return bad_item(err, source, "has no name before '='");
        rest = text_of(equals + 1);
    }
    text_split(&rest, ':', &function);
    int rc = find_function(p->arena, function, ret);
    if (rc == -ENOMEM)
        return err_set_code(err, rc);
    if (rc < 0)
        return bad_item(
            err, source,
            "is not one of count, sum:x, mean:x, min:x, max:x, std:x, skew:x, kurtosis:x, pNN:x, "
            "distinct:x, first:x, last:x, busy, concurrency, bandwidth, bandwidth:x");
    if (ret->function->path != PATH_OPTIONAL &&
        (ret->function->path == PATH_REQUIRED) != (rest.len > 0))
        return bad_item(err, source,
                        ret->function->path == PATH_REQUIRED ? "requires a column: function:column"
                                                             : "takes no column");
    if (rest.len > 1000)
        return bad_item(err, "...", "has a column of more than 1000 bytes");
    ret->path = rest.len ? arena_strdup(p->arena, rest) : NULL;
    if ((rest.len && !ret->path) || name_item(p, ret) < 0)
        return err_set_code(err, -ENOMEM);
    return 0;
}

/* ---- measures and kept values ---------------------------------------------------------------- */

/* Finds or adds a measure. */
static int measure_of(struct aggregate_plan *p, const char *path, const struct source *with,
                      unsigned *ret)
{
    const struct source *s;
    int rc = query_source(p->query, text_of(path), &s);

    for (unsigned i = 0; rc == 0 && i < p->measures.count; i++) {
        if (p->measures.at[i].source == s && p->measures.at[i].with == with) {
            *ret = i;
            return 0;
        }
    }
    rc = rc < 0 ? rc : plan_measure(p, path, path, ret);
    if (rc == 0)
        p->measures.at[*ret].with = with;
    return rc;
}

static int keep_add(struct aggregate_plan *p, const struct item *it, unsigned *ret, struct err *err)
{
    struct keep *k = &p->keeps[p->keep_count];

    k->kind = it->function->kept;
    *ret = p->keep_count++;
    int rc = query_source(p->query, text_of(it->path), &k->source);
    return rc < 0 ? err_set_code(err, -ENOMEM)
                  : query_check_argument(p->query, k->source, "agg", err);
}

/* Finds or inserts a quantile; they are sorted. */
static unsigned quantile_number(struct aggregate_plan *p, const struct quantile *q)
{
    unsigned i = 0;

    while (i < p->quantile_count && p->quantiles[i].part < q->part)
        i++;
    if (i < p->quantile_count && p->quantiles[i].part == q->part)
        return i;
    memmove(&p->quantiles[i + 1], &p->quantiles[i],
            (p->quantile_count - i) * sizeof(*p->quantiles));
    p->quantiles[i] = *q;
    p->quantile_count++;
    return i;
}

static enum column_unit unit_of(const struct item *it, const struct measure *m)
{
    enum output what = it->function->what;

    if (what == OUTPUT_SKEW || what == OUTPUT_KURTOSIS)
        return UNIT_NONE;
    if (m && m->time)
        return UNIT_US;
    if (what == OUTPUT_BANDWIDTH)
        return !it->path || plan_unit(it->path) == UNIT_BYTES ? UNIT_BYTES_PER_S : UNIT_NONE;
    bool is_value = m || (what == OUTPUT_KEEP && it->function->type == VALUE_NULL);
    return is_value ? plan_unit(it->path) : UNIT_NONE;
}

/* Adds two measures: bytes, and the duration of the events that have them. */
static int plan_bandwidth(struct aggregate_plan *p, const struct item *it, struct output_column *t,
                          struct err *err)
{
    int rc = measure_of(p, it->path ? it->path : "size", NULL, &t->of);

    if (rc < 0)
        return err_set_code(err, rc);
    rc = plan_check_numeric(p, &p->measures.at[t->of], "agg", err);
    if (rc == 0 && measure_of(p, "dur", p->measures.at[t->of].source, &t->quantile) < 0)
        return err_set_code(err, -ENOMEM);
    return rc;
}

static int plan_item(struct aggregate_plan *p, const struct item *it, struct err *err)
{
    struct output_column t = {.what = it->function->what};
    const struct measure *m = NULL;
    int rc = 0;

    if (it->function->numbers) {
        if (measure_of(p, it->path, NULL, &t.of) < 0)
            return err_set_code(err, -ENOMEM);
        m = &p->measures.at[t.of];
        rc = plan_check_numeric(p, m, "agg", err);
        if (it->function == &quantile_function) {
            p->measures.at[t.of].sample = true;
            t.quantile = quantile_number(p, &it->quantile);
        }
        p->shape |= t.what == OUTPUT_SKEW || t.what == OUTPUT_KURTOSIS;
    } else if (t.what == OUTPUT_KEEP) {
        rc = keep_add(p, it, &t.of, err);
    } else if (t.what == OUTPUT_BANDWIDTH) {
        rc = plan_bandwidth(p, it, &t, err);
    } else if (t.what == OUTPUT_CONCURRENCY) {
        rc = measure_of(p, "dur", NULL, &t.of);
        rc = rc < 0 ? err_set_code(err, rc) : 0;
    }
    if (rc < 0)
        return rc;
    p->intervals |= t.what == OUTPUT_BUSY || t.what == OUTPUT_CONCURRENCY;
    enum value_type type = it->function->type != VALUE_NULL ? it->function->type
                           : m                              ? m->type
                                                            : plan_type(it->path, VALUE_TEXT);
    rc = plan_column(p, it->name, type, unit_of(it, m), t);
    if (rc == -EEXIST)
        return err_set_param(err, ERR_PARAM, "agg",
                             "`agg`: two columns are named \"%.100s\"; rename one with name=...",
                             it->name);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* For dirname(column) and basename(column), returns the part and sets *path to the column. */
static enum key_part part_of(struct text *path)
{
    static const struct {
        const char *begin;
        enum key_part part;
    } parts[] = {{"dirname(", KEY_DIRNAME}, {"basename(", KEY_BASENAME}};

    for (unsigned i = 0; i < 2; i++) {
        struct text begin = text_of(parts[i].begin);
        if (text_starts(*path, begin) && path->len > begin.len + 1 &&
            path->ptr[path->len - 1] == ')') {
            *path = (struct text){path->ptr + begin.len, path->len - begin.len - 1};
            return parts[i].part;
        }
    }
    return KEY_WHOLE;
}

static int plan_group_key(struct aggregate_plan *p, const char *name, struct err *err)
{
    char *copy = arena_strdup(p->arena, text_of(name));
    struct text path = text_of(copy);
    enum value_type type = VALUE_TEXT;
    int rc = 0;

    if (!copy)
        return err_set_code(err, -ENOMEM);
    if (p->width == GROUP_KEYS_MAX)
        return err_set_param(err, ERR_PARAM, "group_by",
                             "`group_by`: at most %d columns are allowed", GROUP_KEYS_MAX);
    struct aggregate_key *k = &p->keys[p->width];
    const struct source **source = &p->key_sources[p->width];
    *k = (struct aggregate_key){.name = copy, .part = part_of(&path)};
    p->parts |= k->part != KEY_WHOLE;
    if (text_eq(path, TEXT("time_bucket"))) {
        rc = query_source_bucket(p->query, p->interval_ns, p->origin_ns, source);
        p->bucket_key = (int)p->width;
        type = bucket_type(p);
        copy = arena_strdup(p->arena, text_of(bucket_name(p)));
        k->name = copy;
    } else {
        rc = query_source(p->query, path, source);
        type = k->part == KEY_WHOLE ? plan_type(copy, VALUE_TEXT) : type;
    }
    if (p->other_row && p->width == 0) /* the first key of "(other)" is a text */
        type = VALUE_TEXT;
    if (rc < 0 || !copy)
        return err_set_code(err, -ENOMEM);
    rc = query_check_argument(p->query, *source, "group_by", err);
    if (rc < 0)
        return rc;
    rc = plan_column(p, copy, type, type == VALUE_UINT ? plan_unit(copy) : UNIT_NONE,
                     (struct output_column){OUTPUT_KEY, p->width++, 0});
    if (rc == -EEXIST)
        return err_set_param(err, ERR_PARAM, "group_by", "`group_by`: \"%.100s\" is listed twice",
                             name);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

int plan_general(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err)
{
    size_t n = o->aggregate_count;
    struct item *items = arena_alloc(p->arena, n * sizeof(*items));
    int rc = 0;

    p->quantiles = arena_alloc(p->arena, (n + 1) * sizeof(*p->quantiles));
    p->keeps = arena_alloc(p->arena, (n + 1) * sizeof(*p->keeps));
    if (!items || !p->quantiles || !p->keeps)
        return err_set_code(err, -ENOMEM);
    for (size_t i = 0; i < o->group_by_count && rc == 0; i++) {
        bool both = strcmp(o->group_by[i], "pid_tid") == 0;
        rc = plan_group_key(p, both ? "pid" : o->group_by[i], err);
        if (both && rc == 0)
            rc = plan_group_key(p, "tid", err);
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = parse_item(p, o->aggregates[i], &items[i], err);
        rc = rc < 0 ? rc : plan_item(p, &items[i], err);
    }
    /* Numbers of quantiles change while others are inserted before them. */
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (items[i].function == &quantile_function)
            p->outputs.at[p->columns.count - n + i].quantile =
                quantile_number(p, &items[i].quantile);
    }
    p->requested_measures = (unsigned)p->measures.count;
    p->split = p->split && p->bucket_key >= 0;
    return rc;
}
