/* found.h - what a scan of /stats found: counts by key, and tallies of quantities by group.
 *
 * Used by:   scan.c, times.c, stats.c; answer/compare.
 * Path:      one a worker (found.c) -> found_merge -> one for all.
 * Threads:   each belongs to one thread. Memory: charged to the budget of the plan until
 *            found_done.
 */
#ifndef DFTRACERD_ANSWER_STATS_FOUND_H
#define DFTRACERD_ANSWER_STATS_FOUND_H

#include "answer/stats/plan.h"
#include "dftracerd/vec.h"
#include "engine/group/tally.h"

struct count_table {
    struct group_map map;
    VEC(uint64_t) counts;
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
    VEC(uint64_t) counts;
    struct tally *tally[QUANTITIES];
    VEC(struct moved) moved;
    uint32_t tally_cap[QUANTITIES];
    size_t charged; /* tallies */
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
void moved_add(struct moved *to, const struct moved *m);
int found_merge(struct stats_found *into, const struct stats_found *from);

struct moments_of_group {
    struct moments_f64 of[QUANTITIES];
};
/* Moments of doubles of groups, merged in (file, chunk) order. */
struct doubles {
    struct group_table table;
    VEC(struct moments_of_group) moments;
};
struct moments_f64 *doubles_find(const struct doubles *d, const uint64_t *keys, unsigned quantity);
void doubles_done(struct doubles *d);

#endif
