/* plan.c - what is asked for as columns and measures: what both forms share. */
#include "answer/aggregate/aggregate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- columns and measures -------------------------------------------------------------------- */

enum value_type plan_type(const char *path, enum value_type other)
{
    const struct query_column *c = query_column_find(text_of(path));

    return !c                            ? other
           : c->unit == UNIT_US          ? VALUE_TIME
           : strcmp(c->type, "int") == 0 ? VALUE_UINT
                                         : other;
}

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
                                  .unit = type == VALUE_TIME ? AGGREGATE_US : unit,
                                  .key = t.what == TELL_KEY || t.what == TELL_CLASS,
                                  .row_class = t.what == TELL_CLASS};
    return 0;
}

int plan_stat_column(struct aggregate_plan *p, const char *name, const char *suffix,
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
    m->type = plan_type(path, VALUE_DOUBLE);
    *ret = p->measure_count++;
    return 0;
}

/* ---- both forms ------------------------------------------------------------------------------ */

int aggregate_plan_make(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err)
{
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {
        {"ts", &p->ts}, {"te", &p->te}, {"dur", &p->dur}, {"size", &p->size}, {"bytes", &p->bytes}};
    int rc = 0;

    p->max_groups = query_environment(p->query)->max_groups;
    p->exact = o->exact;
    p->shape = o->shape;
    p->interval_ns = o->interval_ns;
    p->time_format = o->time_format;
    p->general = o->aggregate_count > 0;
    p->other_row = o->top > 0;
    p->bucket_key = p->pid_key = p->hhash_key = -1;
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(p->query, text_of(sources[i].path), sources[i].at);
    if (rc < 0)
        return no_memory(err);
    rc = plan_times(p, o, err);
    if (rc < 0)
        return rc;
    p->split = o->split && p->interval_ns > 0;
    return p->general ? plan_general(p, o, err) : plan_pipeline(p, o, err);
}
