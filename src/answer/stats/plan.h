/* plan.h - what /stats looks at: which counts, groups and quantities, and their sources.
 *
 * Used by:   all files of answer/stats; answer/compare and answer/lines make plans of their own.
 * Path:      struct stats_options -> stats.c -> struct stats_plan -> summary.h, or scan.h.
 * Threads:   read-only once made. Memory: sources are those of the query.
 */
#ifndef DFTRACERD_ANSWER_STATS_PLAN_H
#define DFTRACERD_ANSWER_STATS_PLAN_H

#include "dftracerd/stats.h"
#include "engine/group/group.h"

/* Rows of a loop from one check of the budget (stats_step in result.h) to the next. */
enum { STATS_LOOKED = 1024 };

/* Count tables of an answer. */
enum { COUNT_CATEGORIES, COUNT_NAMES, COUNT_THREADS, COUNT_TABLES };
/* Measured quantities of groups. */
enum { Q_DURATION, Q_SIZE, Q_BANDWIDTH, Q_OFFSET, QUANTITIES };

/* Rows looked up by more keys than those of the groups, and what else is made of them in the same
 * scan. States are of workers. */
struct stats_finer {
    void *arg;
    int (*begin)(void *arg, void **ret_state);
    int (*chunk)(void *state, struct scan_chunk *c);
    /* group[j]: of the j-th selected row, found in `groups` or added to it */
    int (*batch)(void *state, struct scan_batch *b, struct group_table *groups, uint32_t *group);
    /* Takes the state; in the order of workers. Adds to the counts of groups, which nobody else
     * counts. NULL: there are none. */
    int (*end)(void *arg, void *state, uint64_t *counts, bool failed);
};
struct stats_plan {
    struct query *query;
    struct budget *budget;
    uint64_t max_groups;
    bool exact;
    bool count[COUNT_TABLES];
    bool total_duration; /* of all objects, with histogram */
    bool groups;
    bool no_rates; /* neither bandwidths nor offsets of groups, but what they moved */
    const struct stats_finer *finer; /* finds the groups of rows; NULL: by their keys */
    const struct source *ts, *dur, *size, *bytes, *offset; /* bytes: where no_rates is set */
    const struct source *count_keys[COUNT_TABLES][3];
    unsigned count_width[COUNT_TABLES];
    const struct source *group_keys[GROUP_KEYS_MAX];
    unsigned group_width;
};

#endif
