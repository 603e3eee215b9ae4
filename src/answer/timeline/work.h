/* work.h - the state of a worker in the scans for cells and picks.
 *
 * Used by:   scan.c, offer.c; slices.c (times).
 * Threads:   each belongs to one thread. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_WORK_H
#define DFTRACERD_ANSWER_TIMELINE_WORK_H

#include "answer/timeline/density.h"
#include "engine/derived/batch_times.h"

struct timeline_worker {
    struct group_table colors; /* of groups before colors_of that had parts when they were read */
    uint32_t colors_of;
    struct timeline_density density;
    bool plain; /* the chunk's times are plain */
    struct {    /* rows of a batch that may be picks */
        struct timeline_pick pick[SCAN_BATCH];
        uint32_t place[SCAN_BATCH];
        int64_t dur[SCAN_BATCH]; /* ns */
    } few;
};

/* Returns the time in ns, clamped to 64 bits. */
static inline bool row_start_ns(const struct batch_times *t, uint32_t row, int64_t *ret)
{
    if (!batch_is_valid(t->ts_valid, row))
        return false;
    if (__builtin_mul_overflow(t->ts[row], t->ts_nano ? 1 : 1000, ret))
        *ret = t->ts[row] < 0 ? INT64_MIN : INT64_MAX;
    return true;
}

/* Returns the end of a row with ts, clamped only after the addition. */
static inline int64_t row_end_ns(const struct batch_times *t, uint32_t row)
{
    __int128 end = (__int128)t->ts[row] * (t->ts_nano ? 1 : 1000);

    if (batch_is_valid(t->dur_valid, row) && t->dur[row] > 0)
        end += (__int128)t->dur[row] * (t->dur_nano ? 1 : 1000);
    return end < INT64_MIN ? INT64_MIN : end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

/* ---- offer.c --------------------------------------------------------------------------------- */

/* Returns picks_last of the worker, or of the scan before. */
const struct timeline_pick *timeline_last_pick(const struct group_worker *w);
/* Offers all selected rows that may be picks. */
int timeline_offer_rows(struct group_worker *w, struct scan_batch *b);
/* Does the same for rows that were selected regardless of the time range. */
int timeline_offer_few(struct group_worker *w, struct scan_batch *b);
/* For a chunk whose density is used: adds one row of each tuple, and the longest ones. */
int timeline_add_tuples(struct group_worker *w, struct scan_batch *b);

#endif
