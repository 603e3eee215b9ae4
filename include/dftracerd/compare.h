/* compare.h - /compare: how the metrics of runs differ from those of a baseline.
 *
 * Used by:   format, http.
 * Path:      compare_run opens a query for each side and node, and scans all sides of a node
 *            together (answer/compare/compare.h) -> struct comparison -> format_compare.
 * Memory:    the answer is in its arena, charged to the budget until comparison_free.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_COMPARE_H
#define DFTRACERD_COMPARE_H

#include "dftracerd/aggregate.h"

/* Metrics of groups of events of a baseline and its variants, and their differences. */
enum {
    COMPARE_COUNT = 1,
    COMPARE_DURATION = 2,
    COMPARE_SIZE = 4,
    COMPARE_TRANSFER_SIZE = 8,
    COMPARE_BANDWIDTH = 16,
    COMPARE_ALL = 31
};
/* Classes of |d|: > 0.2, 0.5, 0.8. */
enum compare_class {
    COMPARE_NEGLIGIBLE,
    COMPARE_SMALL,
    COMPARE_MEDIUM,
    COMPARE_LARGE,
    COMPARE_CLASSES
};
extern const char *const compare_class_names[]; /* "NEGLIGIBLE" ..., NULL-terminated */
#define COMPARE_SIDES_MAX 33                    /* a baseline and 32 variants */
#define COMPARE_NODES_MAX 256 /* including children; each needs a scan of all sides */

/* A node has the events of the sides that match `query` and those of all nodes above. */
struct compare_node_options {
    const char *name, *query; /* query NULL or "": all */
    /* With two or more columns, the first makes children, the others their groups. */
    const char *const *group_by;
    size_t group_by_count;
    unsigned metrics;               /* COMPARE_ bits */
    const char *const *percentiles; /* decimal texts in [0, 1] */
    size_t percentile_count;
    double threshold; /* groups without a change of at least this percentage are omitted */
    bool by_name;     /* orders groups by their keys; else the worst regression comes first */
    const struct compare_node_options *children;
    size_t child_count;
};
struct compare_options {
    const struct selection *sides; /* the baseline first */
    size_t side_count;             /* 2 to COMPARE_SIDES_MAX */
    const char *const *labels; /* names of the sides in reports; borrowed until comparison_free */
    const char *query;         /* the common one, as in the request; borrowed likewise */
    int fail_on;         /* the least class of a regression that counts as a failure; -1: none */
    int64_t interval_ns; /* windows of the peaks; 0 = one */
    const struct compare_node_options *nodes;
    size_t node_count;
};

/* A member of a metric is NAN if it cannot be computed: too few values, or no variance. */
struct compare_test {
    uint64_t baseline_count, variant_count;
    double welch_t, welch_df, welch_p, welch_p_holm; /* > 0: the variant's mean is greater */
    double mann_whitney_u, mann_whitney_p, mann_whitney_p_holm, cliffs_delta;
    /* Tests whose corrected p is below 0.05. */
    enum { COMPARE_SAME, COMPARE_MEAN, COMPARE_RANKS, COMPARE_BOTH } difference;
};
struct compare_change {             /* of a variant, compared with the baseline */
    struct value value, std, delta; /* std null: none */
    double percent;                 /* 100 from a zero baseline to another value, 0 to 0 */
    bool baseline_zero, regression;
    double cohens_d;
    enum compare_class effect_class; /* of cohens_d; COMPARE_NEGLIGIBLE if not tested */
    struct compare_test *test;       /* NULL: the metric is not tested */
};
struct compare_metric {
    const char *name; /* "count", "dur_mean", "dur_p95" ... */
    enum column_unit unit;
    struct value value, std;        /* of the baseline */
    struct compare_change *changes; /* one for each variant */
    size_t change_count;
    bool tested; /* changes have tests */
};
struct compare_group {
    struct value *keys; /* of all columns of group_by; NULL in a summary */
    const char *const *key_names;
    size_t key_count, label_from; /* keys before label_from are those of the node */
    struct compare_metric *metrics;
    size_t metric_count;
};
struct compare_node {
    struct value name;
    const char *query;           /* joined with those of the nodes above */
    const char *const *group_by; /* with pid_tid expanded */
    size_t group_by_count, label_from;
    struct compare_group summary, *groups;
    size_t group_count;
    struct compare_node *children;
    size_t child_count;
};
/* Hosts whose events share no window with those of the hosts with most events: their clocks are
 * wrong, or they ran at another time. */
struct compare_skew {
    struct value host, distance;
};
struct compare_meta { /* totals of a side: its events in the first node */
    uint64_t files, processes, threads, events;
    struct value bytes, io_time, makespan;
    struct compare_skew *skewed;
    size_t skewed_count;
};
struct comparison {
    /* tests: of one kind and variant, for Holm's correction */
    uint64_t generation, damaged_files, tests;
    bool complete;
    int64_t elapsed_ns;
    size_t side_count;
    const char *baseline, *const *variants; /* names of the sides */
    const char *query;
    struct compare_meta *meta, *variant_meta; /* one for each side; from the first variant on */
    size_t variant_count;
    bool failed;
    int worst_regression; /* highest class of a metric that is worse in a variant; -1 none */
    struct compare_node *nodes;
    size_t node_count;
    struct arena arena; /* owns everything above */
};
/* Returns *new*, charged to the budget; borrowed until comparison_free. Errors as query_open and
 * aggregate_open; for an invalid query of a node, err.text names the node. */
int compare_run(const struct query_env *env, struct snapshot *snapshot,
                const struct compare_options *options, struct budget *budget, struct err *err,
                struct comparison **ret);
void comparison_free(struct comparison *c);

#endif
