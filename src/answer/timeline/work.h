/* work.h - a worker of the scan of /timeline.
 *
 * Used by:   scan.c, offer.c, slices.c.
 * Threads:   each belongs to one thread. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_WORK_H
#define DFTRACERD_ANSWER_TIMELINE_WORK_H

#include "answer/timeline/density.h"
#include "engine/derived/batch_times.h"

#include <stdatomic.h>

struct job {
    const struct timeline_plan *plan;
    struct timeline_found *found;
    uint32_t most;
    bool again; /* only for picks, of chunks that were told from their densities */
    VEC(struct timeline_pending) pending;
    struct group_table colors; /* of groups that have parts; full: crowded */
    atomic_bool crowded;
};
struct worker {
    struct job *job;
    struct group_table colors; /* of groups before colors_of that had parts when they were met */
    uint32_t colors_of;
    struct group_map groups, tuples;
    struct timeline_found own; /* its tables are not used */
    struct timeline_density density;
    bool plain;  /* of the chunk */
    bool by_row; /* of the batch: group has all rows, and 1 more than the group, 0 = not selected */
    uint32_t group[SCAN_BATCH];
    struct { /* rows of a batch that may be picks */
        uint32_t row[SCAN_BATCH], place[SCAN_BATCH], group[SCAN_BATCH], tuple[SCAN_BATCH];
        int64_t dur[SCAN_BATCH]; /* ns */
    } few;
};

/* In ns, beyond 64 bits the nearest that fits. */
static inline bool time_of(const struct batch_times *t, uint32_t row, int64_t *ret)
{
    if (!batch_is_valid(t->ts_valid, row))
        return false;
    if (__builtin_mul_overflow(t->ts[row], t->ts_nano ? 1 : 1000, ret))
        *ret = t->ts[row] < 0 ? INT64_MIN : INT64_MAX;
    return true;
}

/* Of a row with ts; not the sum of two times that were made to fit. */
static inline int64_t end_of(const struct batch_times *t, uint32_t row)
{
    __int128 end = (__int128)t->ts[row] * (t->ts_nano ? 1 : 1000);

    if (batch_is_valid(t->dur_valid, row) && t->dur[row] > 0)
        end += (__int128)t->dur[row] * (t->dur_nano ? 1 : 1000);
    return end < INT64_MIN ? INT64_MIN : end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

/* Of the j-th selected row. */
static inline uint32_t group_of(const struct worker *w, const struct scan_batch *b, uint32_t j)
{
    return w->by_row ? w->group[batch_row(b, j)] - 1 : w->group[j];
}

/* ---- offer.c ------------------------------------------------------------------------ */

/* Of all selected rows, those that may be picks. */
int timeline_offer_rows(struct worker *w, struct scan_batch *b, const struct batch_times *t);
/* The same where they were selected whatever the time range says. */
int timeline_offer_few(struct worker *w, struct scan_batch *b);
/* Of a chunk that is told from its density: one row of each tuple, and the longest ones. */
int timeline_add_tuples(struct worker *w, struct scan_batch *b);

#endif
