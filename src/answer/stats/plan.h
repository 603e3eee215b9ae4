/* plan.h - the counts, groups and quantities that a /stats report needs, and their sources.
 *
 * Used by:   all files of answer/stats; answer/lines (counting lines).
 * Path:      struct stats_options -> stats.c -> struct stats_plan -> summary.h, or scan.h.
 * Threads:   read-only once made. Memory: sources are those of the query.
 */
#ifndef DFTRACERD_ANSWER_STATS_PLAN_H
#define DFTRACERD_ANSWER_STATS_PLAN_H

#include "dftracerd/stats.h"
#include "engine/group/groups.h"

/* Number of rows between two checks of the budget (stats_step in result.h). */
enum { STATS_CHECKED = 1024 };

/* Count tables of an answer. */
enum { COUNT_CATEGORIES, COUNT_NAMES, COUNT_THREADS, COUNT_TABLES };
/* Measured quantities of groups: accumulators of SET_GROUPS. */
enum { Q_DURATION, Q_SIZE, Q_BANDWIDTH, Q_OFFSET, QUANTITIES };
/* Sets of groups; those of count tables are SET_COUNTS and the next. */
enum { SET_TOTAL, SET_COUNTS, SET_GROUPS = SET_COUNTS + COUNT_TABLES, STATS_SETS };

struct stats_plan {
    struct query *query;
    struct budget *budget;
    uint64_t max_groups;
    bool exact;
    bool count[COUNT_TABLES];
    bool total_duration; /* of all objects, with histogram */
    bool groups;
    const struct source *ts, *dur, *size, *offset;
    const struct source *count_keys[COUNT_TABLES][3];
    unsigned count_width[COUNT_TABLES];
    const struct source *group_keys[GROUP_KEYS_MAX];
    unsigned group_width;
};

#endif
