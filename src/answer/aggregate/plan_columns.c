/* plan_columns.c - the columns and measures of a plan. */
#include "answer/aggregate/plan_columns.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum value_type plan_type(const char *path, enum value_type other)
{
    const struct query_column *c = query_column_find(text_of(path));

    return !c                            ? other
           : c->unit == UNIT_US          ? VALUE_TIME
           : strcmp(c->type, "int") == 0 ? VALUE_UINT
                                         : other;
}

const char *const aggregate_classes[] = {"event", "profile", "system", NULL};

int plan_column(struct aggregate_plan *p, const char *name, enum value_type type,
                enum column_unit unit, struct output_column t)
{
    for (size_t i = 0; i < p->column_count; i++) {
        if (strcmp(p->columns[i].name, name) == 0)
            return -EEXIST;
    }
    if (p->column_count == p->column_cap) {
        size_t cap = p->column_cap ? p->column_cap * 2 : 64;
        struct table_column *columns = realloc(p->columns, cap * sizeof(*columns));
        p->columns = columns ? columns : p->columns;
        struct output_column *outputs = realloc(p->outputs, cap * sizeof(*outputs));
        p->outputs = outputs ? outputs : p->outputs;
        if (!columns || !outputs)
            return -ENOMEM;
        p->column_cap = cap;
    }
    char *copy = arena_strdup(p->arena, text_of(name));
    if (!copy)
        return -ENOMEM;
    p->outputs[p->column_count] = t;
    p->columns[p->column_count++] =
        (struct table_column){.name = copy,
                              .type = type,
                              .unit = type == VALUE_TIME ? UNIT_US : unit,
                              .key = t.what == OUTPUT_KEY || t.what == OUTPUT_CLASS,
                              .choices = t.what == OUTPUT_CLASS ? aggregate_classes : NULL};
    return 0;
}

int plan_stat_column(struct aggregate_plan *p, const char *name, const char *suffix,
                     enum value_type type, enum column_unit unit, struct output_column t)
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
    m->type = plan_type(path, VALUE_DOUBLE);
    *ret = p->measure_count++;
    return 0;
}
