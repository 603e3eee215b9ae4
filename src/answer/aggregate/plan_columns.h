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

/* Returns the type of a column of the query language; `other`: that of arguments, which have any
 * values. */
enum value_type plan_type(const char *path, enum value_type other);
/* Returns UNIT_BYTES for columns in bytes. The unit of times follows from their type. */
enum column_unit plan_unit(const char *path);
/* Adds a measure. Returns 0 or -ENOMEM. */
int plan_measure(struct aggregate_plan *p, const char *name, const char *path, unsigned *ret);
/* Adds a column of the answer. Returns 0, -ENOMEM, or -EEXIST if there is one of this name. */
int plan_column(struct aggregate_plan *p, const char *name, enum value_type type,
                enum column_unit unit, struct output_column t);
/* Adds the column "<name>_<suffix>". */
int plan_stat_column(struct aggregate_plan *p, const char *name, const char *suffix,
                     enum value_type type, enum column_unit unit, struct output_column t);

/* ---- fields.c -------------------------------------------------------------------------------- */

/* Adds the measure of one of metric_fields. */
int plan_field(struct aggregate_plan *p, const struct aggregate_options *o, const char *path,
               struct err *err);
/* Returns true if a column of this name may be missing in all events. */
bool plan_is_optional(const struct aggregate_options *o, const char *path);

/* Adds the numeric arguments of counters as measures of system rows. ERR_ROW_LIMIT: there are too
 * many. */
int plan_system_measures(struct aggregate_plan *p, struct err *err);

/* Returns ERR_PARAM if no event has the column, or if it is always text. */
int plan_check_numeric(const struct aggregate_plan *p, const struct measure *m, const char *param,
                       struct err *err);

static inline const char *without_args(const char *path)
{
    return strncmp(path, "args.", 5) == 0 ? path + 5 : path;
}

/* ---- times.c --------------------------------------------------------------------------------- */

/* Sets origin_ns and interval_ns. */
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
