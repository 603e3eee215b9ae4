/* plan.h - what /aggregate computes: sources, keys, measures, kept values and the columns of the
 * answer.
 *
 * Used by:   all files of answer/aggregate: only plan.c and the files below it write a plan.
 * Path:      struct aggregate_options -> plan.c (the interval by times.c; columns and measures by
 *            pipeline.c and fields.c, or by general.c; all of them use plan_columns.c) -> struct
 *            aggregate_plan.
 * Sets:      the rows of the three classes of the pipeline are three sets of groups; the general
 *            form has one.
 * Threads:   read-only after aggregate_plan_make, except that the columns of system rows are added
 *            after the scan. Memory: in the arena of the plan; the owner of the plan frees the
 *            arrays measures, columns and outputs.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PLAN_H
#define DFTRACERD_ANSWER_AGGREGATE_PLAN_H

#include "engine/group/quantile.h"
#include "dftracerd/aggregate.h"
#include "engine/group/groups.h"
#include "dftracerd/vec.h"

enum { SET_EVENT, SET_PROFILE, SET_SYSTEM, SETS };
/* Measures of the pipeline: these two, then metric_fields, then arguments of system rows. */
enum { M_DUR, M_SIZE, M_FIELDS };
/* Columns of counters and aggregated records (see counters.c); their paths are in pipeline.c. */
enum {
    COUNTER_TS,
    COUNTER_DFT_CNT,
    COUNTER_FREQ,
    COUNTER_COUNT,
    COUNTER_DUR_SUM,
    COUNTER_ARGS_DUR,
    COUNTER_DUR,
    COUNTER_TIME,
    COUNTER_DUR_MIN,
    COUNTER_DUR_MAX,
    COUNTER_SIZE,
    COUNTER_SIZE_SUM,
    COUNTER_SIZE_MIN,
    COUNTER_SIZE_MAX,
    COUNTER_RET_SUM,
    COUNTER_RET_MIN,
    COUNTER_RET_MAX,
    COUNTER_COLUMNS
};

/* A quantity that is summed up in each group. */
struct measure {
    const char *name;
    const struct source *source;
    const struct source *with; /* rows without a value of it are not counted; NULL: all are */
    /* metric_fields: columns that counters have in its place (args.x_sum, args.x ...) */
    const struct source *sum, *plain, *min, *max;
    bool time;            /* its integers are times */
    bool sample;          /* percentiles are requested */
    bool system;          /* it is an argument of system rows only */
    enum value_type type; /* of columns that have such values: see table_column */
};

/* Values that are kept of each group: the first, the last, or all different ones of a column. */
enum keep_kind { KEEP_FIRST, KEEP_LAST, KEEP_DISTINCT };
struct keep {
    enum keep_kind kind;
    const struct source *source;
};

enum key_part { KEY_WHOLE, KEY_DIRNAME, KEY_BASENAME };
struct aggregate_key {
    const char *name;
    enum key_part part;   /* of a text */
    enum value_type type; /* see table_column */
};

enum output {
    OUTPUT_CLASS,
    OUTPUT_KEY,
    OUTPUT_COUNT,
    OUTPUT_TS,
    OUTPUT_TE,
    OUTPUT_SUM,
    OUTPUT_MIN,
    OUTPUT_MAX,
    OUTPUT_MEAN,
    OUTPUT_STD,
    OUTPUT_SKEW,
    OUTPUT_KURTOSIS,
    OUTPUT_QUANTILE,
    OUTPUT_KEEP,
    OUTPUT_BUSY,
    OUTPUT_CONCURRENCY,
    OUTPUT_BANDWIDTH,
    OUTPUT_BOUNDARY,
    OUTPUT_PARENT,
    OUTPUT_ROOT
};
struct output_column {
    enum output what;
    unsigned of; /* number of the key, measure, keep or boundary */
    /* QUANTILE: number of the quantile. BANDWIDTH: the measure that `of` is divided by. */
    unsigned quantile;
};

/* "event", "profile", "system": by set, NULL at the end */
extern const char *const aggregate_classes[];

/* See aggregate_options.boundaries. */
struct boundary {
    const char *event, *field, *output;
};

struct aggregate_plan {
    struct query *query;
    struct budget *budget;
    struct arena *arena;
    uint64_t max_groups;
    bool general;             /* `agg` is given; else the pipeline */
    bool classes;             /* three sets; else all objects are in one */
    bool exact, shape, split; /* as in aggregate_options */
    bool intervals;           /* the intervals of each group are kept (busy, concurrency) */
    bool other_row;           /* a row may be "(other)" */
    __int128 interval_ns, origin_ns;
    enum aggregate_time time_format;
    const struct source *ts, *te, *dur, *size, *bytes;
    const struct source *class, *cat, *counter[COUNTER_COLUMNS]; /* if `classes` */
    struct aggregate_key keys[GROUP_KEYS_MAX];
    const struct source *key_sources[GROUP_KEYS_MAX];
    unsigned width;                     /* number of keys */
    int bucket_key, pid_key, hhash_key; /* number of the key, -1 none */
    bool parts;                         /* some key is a part of a text */
    VEC(struct measure) measures;
    unsigned requested_measures; /* all others are arguments of system rows */
    struct keep *keeps;
    unsigned keep_count;
    struct quantile *quantiles;
    unsigned quantile_count;
    struct boundary *boundaries;
    unsigned boundary_count;
    VEC(struct table_column) columns;
    VEC(struct output_column) outputs; /* by column */
    const struct pass *pass;           /* the groups of this scan (passes.h); NULL: all */
    bool tally; /* only rows are counted, and measures of system rows alone are kept */
    /* plan_grouping in scan.h makes it of the above. Accumulators are measures, then the extent of
     * rows of the pipeline, kept values, and intervals. */
    struct grouping grouping;
    struct group_set sets[SETS];
};
/* Returns the number of measures of a set, which are its first accumulators. */
static inline unsigned plan_measures(const struct aggregate_plan *p, unsigned set)
{
    return set == SET_SYSTEM ? (unsigned)p->measures.count : p->requested_measures;
}
static inline struct extent *plan_extent(const struct aggregate_plan *p,
                                         const struct groups_of_set *s, unsigned set,
                                         uint32_t group)
{
    return group_slot(s, group, plan_measures(p, set));
}
static inline struct acc *plan_kept(const struct aggregate_plan *p, const struct groups *f,
                                    unsigned keep)
{
    return &f->set[SET_EVENT].accs[p->requested_measures + keep];
}
/* Only if plan.intervals is set. */
static inline struct acc *plan_intervals(const struct aggregate_plan *p, const struct groups *f)
{
    return plan_kept(p, f, p->keep_count + !p->general);
}

int aggregate_plan_make(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err);

/* Adds the columns of measures of system rows that have a value (used[measure]), unless another
 * column has the name. Returns 0 or -ENOMEM. */
int plan_system_columns(struct aggregate_plan *p, const bool *used);

/* Scans for the smallest and the greatest ts of the selected rows, in ns; `ends`: the greatest ts
 * or te. Both are 0 if no row has a ts. */
int plan_span(const struct aggregate_plan *p, bool ends, __int128 *ret_first, __int128 *ret_last,
              struct err *err);

/* parts.c: translate_keys of struct grouping: replaces keys by parts of their texts. */
int plan_keys(void *plan, const uint64_t *keys, uint64_t *ret);

/* Converts a bucket to the requested format of time. */
int bucket_format(const struct aggregate_plan *p, struct value *v);

#endif
