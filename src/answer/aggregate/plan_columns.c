/* plan_columns.c - the columns and measures of a plan. */
#include "answer/aggregate/plan_columns.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdio.h>

enum value_type plan_type(const char *path, enum value_type other)
{
    const struct query_column *c = query_column_find(text_of(path));

    return !c                            ? other
           : c->unit == UNIT_US          ? VALUE_TIME
           : strcmp(c->type, "int") == 0 ? VALUE_UINT
                                         : other;
}

enum column_unit plan_unit(const char *path)
{
    const struct query_column *c = query_column_find(text_of(path));

    return c && c->unit == UNIT_BYTES ? UNIT_BYTES : UNIT_NONE;
}

const char *const aggregate_classes[] = {"event", "profile", "system", NULL};

int plan_column(struct aggregate_plan *p, const char *name, enum value_type type,
                enum column_unit unit, struct output_column t)
{
    for (size_t i = 0; i < p->columns.count; i++) {
        if (strcmp(p->columns.at[i].name, name) == 0)
            return -EEXIST;
    }
    char *copy = arena_strdup(p->arena, text_of(name));
    if (!copy || vec_push(&p->outputs, t) < 0)
        return -ENOMEM;
    return vec_push(&p->columns, {.name = copy,
                                  .type = type,
                                  .unit = type == VALUE_TIME ? UNIT_US : unit,
                                  .key = t.what == OUTPUT_KEY || t.what == OUTPUT_CLASS,
                                  .choices = t.what == OUTPUT_CLASS ? aggregate_classes : NULL});
}

int plan_stat_column(struct aggregate_plan *p, const char *name, const char *suffix,
                     enum value_type type, enum column_unit unit, struct output_column t)
{
    char column[1200];

    snprintf(column, sizeof(column), "%.1000s_%.100s", name, suffix);
    return plan_column(p, column, type, unit, t);
}

int plan_measure(struct aggregate_plan *p, const char *name, const char *path, unsigned *ret)
{
    const char *name_copy = arena_strdup(p->arena, text_of(name)),
               *path_copy = arena_strdup(p->arena, text_of(path));
    struct measure m = {.name = name_copy, .type = plan_type(path, VALUE_DOUBLE)};
    int rc =
        name_copy && path_copy ? query_source(p->query, text_of(path_copy), &m.source) : -ENOMEM;

    if (rc < 0)
        return rc;
    m.time = source_is_time(m.source);
    *ret = (unsigned)p->measures.count;
    return vec_push(&p->measures, m);
}
