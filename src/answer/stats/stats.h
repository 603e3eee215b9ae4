/* stats.h - the parts of /stats: what is asked, what a scan or the summaries found, what is told.
 * Private to stats*.c.
 *
 * Way:       stats.c plans (struct stats_plan) -> scan.c or summary.c fill struct
 *            stats_found -> order.c sorts and cuts -> stats.c tells.
 */
#ifndef DFTRACERD_ANSWER_STATS_STATS_H
#define DFTRACERD_ANSWER_STATS_STATS_H

#include "dftracerd/stats.h"
#include "engine/group/group.h"
#include "engine/group/tally.h"

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

struct count_table {
    struct group_map map;
    uint64_t *counts;
    uint32_t cap;
};
/* The bytes of objects, exact in any order as a fixed-point number, and the duration of those that
 * have some. */
enum { MOVED_BITS = 32 };
struct moved {
    __int128 bytes, ns;
    bool any;
};
/* Groups with their measured quantities; an array of tallies is there only where some value was
 * met. */
struct group_tallies {
    struct group_map map;
    uint64_t *counts;
    struct tally *tally[QUANTITIES];
    struct moved *moved;
    uint32_t cap, tally_cap[QUANTITIES], moved_cap;
    size_t charged;
};
struct time_span {
    bool any;
    __int128 min_ts, max_te;
}; /* ns */

/* What one worker, and in the end all together, found. */
struct stats_found {
    const struct stats_plan *plan;
    struct sample_memory memory;
    uint64_t events;
    struct time_span span;
    struct tally total;
    struct count_table count[COUNT_TABLES];
    struct group_tallies groups;
};
int found_init(struct stats_found *f, const struct stats_plan *plan);
void found_done(struct stats_found *f);
/* Tallies of a quantity for groups [0, count) at least. */
int tallies_need(struct stats_found *f, unsigned quantity, uint32_t count);
/* `moved` of groups [0, count) at least. */
int moved_need(struct stats_found *f, uint32_t count);
void moved_add(struct moved *to, const struct moved *m);
int found_merge(struct stats_found *into, const struct stats_found *from);

/* Moments of doubles of groups, merged in (file, chunk) order. */
struct doubles {
    struct group_table table;
    struct moments_f64 *moments[QUANTITIES];
    uint32_t cap;
    size_t charged;
};
struct moments_f64 *doubles_find(const struct doubles *d, const uint64_t *keys, unsigned quantity);

/* The scan: `found` and `doubles` are initialised by it and are the caller's, on failure too. */
int stats_scan(const struct stats_plan *plan, struct stats_found *found, struct doubles *doubles,
               struct err *err);
/* Several at once; -ENOMEM: none has begun. */
struct stats_scan {
    const struct stats_plan *plan;
    struct stats_found *found;
    struct doubles *doubles;
    int error; /* out: 0, or what the scan failed with */
};
int stats_scan_all(struct stats_scan *all, size_t count);
void doubles_done(struct doubles *d);

/* Numbers of the first `top` (0: all) groups by count descending, then keys by value. *new* array.
 */
int stats_order(struct query *q, const struct group_table *t, const uint64_t *counts, uint64_t top,
                struct budget *budget, uint32_t **ret, size_t *ret_count);

/* Room for groups [0, count) in arrays that grow by doubling; charged to *charged. */
int grow_counts(struct budget *b, uint64_t **counts, uint32_t *cap, uint32_t count,
                size_t *charged);

/* ---- without a scan -------------------------------------------------------------------------- */
struct stats_options;
bool stats_can_summarise(const struct stats_plan *plan, const struct stats_options *o);
/* Fills everything the plan asks for but groups. -EDOM: there are more names than summaries tell
 * apart; nothing is filled. */
int stats_from_summary(const struct stats_plan *plan, struct stats *s,
                       const struct stats_options *o);
/* Objects of the selection when query_unfiltered. */
int stats_summary_count(struct query *q, uint64_t *ret);

/* ---- telling --------------------------------------------------------------------------------- */
/* rows until stats_step is due: it charges what the arena took, and asks the budget whether to go
 * on */
enum { STATS_LOOKED = 1024 };
int stats_step(struct stats *s);
/* in the arena, charged before; not when *error is set */
void *stats_rows(struct stats *s, size_t count, size_t each, int *error);
/* copied into the arena; ptr NULL: null */
struct value stats_text(struct stats *s, struct text t, int *error);
struct value stats_time(__int128 ns);
int stats_set_histogram(struct stats *s, const struct histogram *h);

#endif
