/* plan.h - what /aggregate computes: sources, keys, measures, kept values and the columns of the
 * answer.
 *
 * Used by:   all files of answer/aggregate: only plan.c and the files below it write a plan.
 * Path:      struct aggregate_options -> plan.c (the interval by times.c; columns and measures by
 *            pipeline.c and fields.c, or by general.c; all of them use plan_columns.c) -> struct
 *            aggregate_plan.
 * Sets:      the rows of the three classes of the pipeline are three sets of groups; the general
 *            form has one.
 * Threads:   read-only after aggregate_plan_make, but for the columns of system rows, which are
 *            added after the scan. Memory: in the arena of the plan, and arrays that the owner of
 *            the plan frees.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PLAN_H
#define DFTRACERD_ANSWER_AGGREGATE_PLAN_H

#include "engine/group/quantile.h"
#include "dftracerd/aggregate.h"
#include "engine/group/groups.h"

enum { SET_EVENT, SET_PROFILE, SET_SYSTEM, SETS };
/* measures of the pipeline: these two, then the fields, then arguments of system rows */
enum { M_DUR, M_SIZE, M_FIELDS };

/* A quantity that is summed up in each group. */
struct measure {
    const char *name;
    const struct source *source;
    const struct source *also;                    /* counted only where this is there, too; NULL */
    const struct source *sum, *plain, *min, *max; /* what counters have instead (fields) */
    bool time, sample, system;                    /* system: an argument of system rows only */
    enum value_type type; /* of columns that have such values: see table_column */
};

/* What has to be kept by value: the first, the last, or all different values of a column in each
 * group. */
struct keep {
    enum { KEEP_FIRST, KEEP_LAST, KEEP_DISTINCT } what;
    const struct source *source;
};

enum key_part { KEY_WHOLE, KEY_DIRNAME, KEY_BASENAME };
struct aggregate_key {
    const char *name;
    const struct source *source;
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
/* of: number of the key, measure, keep or boundary */
struct output_column {
    enum output what;
    unsigned of, quantile;
};

/* "event", "profile", "system": by set, up to NULL */
extern const char *const aggregate_classes[];

struct boundary {
    const char *event, *field, *output;
};

struct aggregate_plan {
    struct query *query;
    struct budget *budget;
    struct arena *arena;
    uint64_t max_groups;
    bool general, classes; /* classes: three sets; else all objects are one */
    bool exact, shape, split, intervals, other_row; /* other_row: "(other)" may be one */
    __int128 interval_ns, origin_ns;
    enum aggregate_time time_format;
    const struct source *class, *ts, *te, *dur, *size, *bytes;
    /* of counters */
    const struct source *dft_cnt, *freq, *count, *time, *args_dur, *dur_sum, *dur_min, *dur_max;
    const struct source *size_sum, *size_min, *size_max, *ret_sum, *ret_min, *ret_max, *cat;
    struct aggregate_key keys[GROUP_KEYS_MAX];
    const struct source *key_sources[GROUP_KEYS_MAX];
    unsigned width;
    int bucket_key, pid_key, hhash_key; /* number of the key, -1 none */
    bool parts;                         /* some key is a part of a text */
    struct measure *measures;
    unsigned measure_count, measure_cap, requested_measures; /* plain: those of all sets */
    struct keep *keeps;
    unsigned keep_count;
    struct quantile *quantiles;
    unsigned quantile_count;
    struct boundary *boundaries;
    unsigned boundary_count;
    struct table_column *columns;
    struct output_column *outputs;
    size_t column_count, column_cap;
    const struct pass *pass;  /* the groups of this scan, NULL: all (passes.h) */
    bool tally;               /* only the rows of groups and measures of system rows alone */
    struct grouping grouping; /* of all that (scan.h): accumulators are measures, then the span of
                               * rows of the pipeline, what is kept, and intervals */
    struct group_set sets[SETS];
};
/* Measures of a set: its first accumulators. */
static inline unsigned plan_measures(const struct aggregate_plan *p, unsigned set)
{
    return set == SET_SYSTEM ? p->measure_count : p->requested_measures;
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
/* Where plan.intervals is set. */
static inline struct acc *plan_intervals(const struct aggregate_plan *p, const struct groups *f)
{
    return plan_kept(p, f, p->keep_count + !p->general);
}

int aggregate_plan_make(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err);

/* Columns of those that have a value; `used` by measure. */
int plan_system_columns(struct aggregate_plan *p, const bool *used);

/* First and last ts of the selected rows, ns; `ends`: the last ts or te. Both 0: none has a ts. */
int plan_span(const struct aggregate_plan *p, bool ends, __int128 *ret_least, __int128 *ret_most,
              struct err *err);

/* parts.c: keys of a group as returned: parts of texts instead of texts; for struct grouping. */
int plan_keys(void *plan, const uint64_t *keys, uint64_t *ret);

/* A bucket in the requested format. */
int bucket_format(const struct aggregate_plan *p, struct value *v);

static inline int no_memory(struct err *err)
{
    return err_set(err, -ENOMEM, "%s", err_text(-ENOMEM));
}

#endif
