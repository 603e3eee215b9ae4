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

/* Metrics of groups of events on a baseline and on variants of it, and how they differ. */
enum {
    COMPARE_COUNT = 1,
    COMPARE_DURATION = 2,
    COMPARE_SIZE = 4,
    COMPARE_TRANSFER_SIZE = 8,
    COMPARE_BANDWIDTH = 16,
    COMPARE_ALL = 31
};
/* of |d|: > 0.2, 0.5, 0.8 */
enum compare_class {
    COMPARE_NEGLIGIBLE,
    COMPARE_SMALL,
    COMPARE_MEDIUM,
    COMPARE_LARGE,
    COMPARE_CLASSES
};
extern const char *const compare_class_names[]; /* "NEGLIGIBLE" ..., up to NULL */
#define COMPARE_SIDES_MAX 33                    /* a baseline and 32 variants */
#define COMPARE_NODES_MAX 256                   /* with children; each is two scans a side */

/* Events of the sides that match `query` and those of all nodes above. */
struct compare_node_options {
    const char *name, *query; /* query NULL or "": all */
    /* two and more: the first makes children, the others their groups */
    const char *const *group_by;
    size_t group_by_count;
    unsigned metrics;               /* COMPARE_ bits */
    const char *const *percentiles; /* decimal texts in [0, 1] */
    size_t percentile_count;
    double threshold; /* groups in which nothing changes by so many percent are left out */
    bool by_name;     /* groups by their keys; else the worst regression first */
    const struct compare_node_options *children;
    size_t child_count;
};
struct compare_options {
    const struct selection *sides; /* the baseline first */
    size_t side_count;             /* 2 to COMPARE_SIDES_MAX */
    const char *const *labels;     /* of the sides, for people; borrowed until comparison_free */
    const char *query;             /* the common one, as in the request; likewise */
    int fail_on;                   /* class from which a regression is a failure; -1: none */
    int64_t interval_ns;           /* windows of the peaks; 0 = one */
    const struct compare_node_options *nodes;
    size_t node_count;
};

/* What of a metric is NAN could not be computed: too few values, or none that vary. */
struct compare_test {
    uint64_t baseline_count, variant_count;
    double welch_t, welch_df, welch_p, welch_p_holm; /* > 0: the variant's mean is greater */
    double mann_whitney_u, mann_whitney_p, mann_whitney_p_holm, cliffs_delta;
    /* whose corrected p is below 0.05 */
    enum { COMPARE_SAME, COMPARE_MEAN, COMPARE_RANKS, COMPARE_BOTH } difference;
};
struct compare_change {             /* of a variant against the baseline */
    struct value value, std, delta; /* std null where there is none */
    double percent;                 /* 100 from a zero baseline to something, 0 to nothing */
    bool baseline_zero, regression;
    double cohens_d;
    enum compare_class significance;
    struct compare_test *test; /* NULL: not of this metric */
};
struct compare_metric {
    const char *name; /* "count", "dur_mean", "dur_p95" ... */
    enum column_unit unit;
    struct value value, std;        /* of the baseline */
    struct compare_change *changes; /* by variant */
    size_t change_count;
    bool tested; /* changes have tests */
};
struct compare_group {
    struct value *keys; /* of all columns of group_by; NULL in a summary */
    const char *const *key_names;
    size_t key_count, label_from; /* the keys before it are those of the node */
    struct compare_metric *metrics;
    size_t metric_count;
};
struct compare_node {
    struct value name;
    const char *query;           /* with those of the nodes above */
    const char *const *group_by; /* pid_tid expanded */
    size_t group_by_count, label_from;
    struct compare_group summary, *groups;
    size_t group_count;
    struct compare_node *children;
    size_t child_count;
};
/* Hosts whose events share no window with those of the hosts that have most: their clocks are
 * wrong, or they ran at another time. */
struct compare_skew {
    struct value host, distance;
};
struct compare_meta { /* of a side, of its events in the first node */
    uint64_t files, processes, threads, events;
    struct value bytes, io_time, makespan;
    struct compare_skew *skewed;
    size_t skewed_count;
};
struct comparison {
    /* tests: of one kind and variant, what Holm's correction is for */
    uint64_t generation, damaged_files, tests;
    bool complete;
    int64_t elapsed_ns;
    size_t side_count;
    const char *baseline, *const *variants; /* labels */
    const char *query;
    struct compare_meta *meta, *variant_meta; /* by side; from the first variant */
    size_t variant_count;
    bool failed;
    int regression; /* greatest class of a metric that is worse in a variant; -1 none */
    struct compare_node *nodes;
    size_t node_count;
    struct arena arena; /* owns everything above */
};
/* *new*; charged to the budget, borrowed until comparison_free. Errors as query_open and
 * aggregate_open; a bad query of a node: err.text names the node. */
int compare_run(const struct query_env *env, struct snapshot *snapshot,
                const struct compare_options *options, struct budget *budget, struct err *err,
                struct comparison **ret);
void comparison_free(struct comparison *c);

#endif
