/* picks.h - the longest objects, which are returned one by one: up to twice as many as are wanted
 * are kept, then cut. Once there are as many as are wanted, the last of these is number `max` - 1.
 *
 * Used by:   scan.c, offer.c, timeline.c.
 * Threads:   one at a time. Memory: that of the list.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_PICKS_H
#define DFTRACERD_ANSWER_TIMELINE_PICKS_H

#include "engine/group/groups.h"

/* An object. Times are in ns, which may exceed 64 bits; dur -1: it has none. lane, tuple: its
 * groups of TIMELINE_CELLS and TIMELINE_NAMES. */
struct timeline_pick {
    __int128 ts, dur;
    uint32_t lane, tuple, position, row;
};
extern const struct acc_kind timeline_acc_picks;

/* The order of picks: the longer first, then the earlier, then by position. */
bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b);
/* Keeps the first `max` picks, with the last of them at the end. */
void picks_cut(struct vec *picks, uint32_t max);
/* Returns the last wanted pick; NULL if there are fewer than `max`. */
static inline const struct timeline_pick *picks_last(const struct vec *picks, uint32_t max)
{
    const struct timeline_pick *all = picks->at;

    return max > 0 && picks->count >= max ? &all[max - 1] : NULL;
}
/* Adds the pick if it precedes the last wanted one. Returns 0, ERR_MEMORY_LIMIT or -ENOMEM. */
int picks_add(struct vec *picks, uint32_t max, const struct timeline_pick *pick);

#endif
