/* picks.h - the longest objects, which are returned one by one: up to twice as many as are wanted
 * are kept, then cut. Once there are as many as are wanted, the last of these is number `most` - 1.
 *
 * Used by:   scan.c, offer.c, timeline.c.
 * Threads:   one at a time. Memory: that of the list.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_PICKS_H
#define DFTRACERD_ANSWER_TIMELINE_PICKS_H

#include "engine/group/groups.h"

/* An object. Times in ns, which may be more than 64 bits have; dur -1: it has none. lane, tuple:
 * its groups of TIMELINE_CELLS and TIMELINE_NAMES. */
struct timeline_pick {
    __int128 ts, dur;
    uint32_t lane, tuple, position, row;
};
extern const struct acc_kind timeline_acc_picks;

/* The order of picks: the longer, then the earlier, then by place. */
bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b);
/* Leaves the `most` that come first, the last of them at the end. */
void picks_cut(struct vec *picks, uint32_t most);
/* The last pick that is wanted; NULL: there are not `most` yet. */
static inline const struct timeline_pick *picks_least(const struct vec *picks, uint32_t most)
{
    const struct timeline_pick *all = picks->at;

    return most > 0 && picks->count >= most ? &all[most - 1] : NULL;
}
/* Adds it if it is before the last one that is wanted. 0, ERR_MEMORY_LIMIT, -ENOMEM. */
int picks_add(struct vec *picks, uint32_t most, const struct timeline_pick *pick);

#endif
