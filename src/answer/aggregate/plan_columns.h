/* plan_columns.h - columns and measures of a plan: what the files that make a plan share.
 *
 * Used by:   plan.c, pipeline.c, general.c, fields.c, times.c.
 * Path:      plan.h. Threads: one. Memory: of the plan.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PLAN_COLUMNS_H
#define DFTRACERD_ANSWER_AGGREGATE_PLAN_COLUMNS_H

#include "answer/aggregate/plan.h"

#include <string.h>

/* ---- plan_columns.c -------------------------------------------------------------------------- */

/* Type of a column of the query language; `other`: of arguments, which have any values. */
enum value_type plan_type(const char *path, enum value_type other);
int plan_measure(struct aggregate_plan *p, const char *name, const char *path, unsigned *ret);

int plan_column(struct aggregate_plan *p, const char *name, enum value_type type,
                enum column_unit unit, struct output_column t);
/* "<name>_<suffix>" */
int plan_stat_column(struct aggregate_plan *p, const char *name, const char *suffix,
                     enum value_type type, enum column_unit unit, struct output_column t);

/* ---- fields.c -------------------------------------------------------------------------------- */

/* One of metric_fields. */
int plan_field(struct aggregate_plan *p, const struct aggregate_options *o, const char *path,
               struct err *err);
/* Whether a column of this name may be one that no event has. */
bool plan_is_optional(const struct aggregate_options *o, const char *path);

/* Numeric arguments that counters have: measures of system rows. ERR_ROW_LIMIT: too many of them.
 */
int plan_system_measures(struct aggregate_plan *p, struct err *err);

/* ERR_PARAM where a column is nowhere, or is text everywhere. */
int plan_check_numeric(const struct aggregate_plan *p, const struct measure *m, const char *param,
                       struct err *err);

static inline const char *without_args(const char *path)
{
    return strncmp(path, "args.", 5) == 0 ? path + 5 : path;
}

/* ---- times.c --------------------------------------------------------------------------------- */

/* origin_ns and interval_ns (times.c). */
int plan_times(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err);

static inline const char *bucket_name(const struct aggregate_plan *p)
{
    return p->time_format == AGGREGATE_TIME_US ? "time_bucket" : "time";
}
static inline enum value_type bucket_type(const struct aggregate_plan *p)
{
    return p->time_format == AGGREGATE_TIME_ISO ? VALUE_TEXT : VALUE_TIME;
}

/* ---- pipeline.c, general.c ------------------------------------------------------------------- */

int plan_pipeline(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err);
int plan_general(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err);

#endif
