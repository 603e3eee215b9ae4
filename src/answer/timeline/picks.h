/* picks.h - the longest objects, which are returned one by one: twice as many as are wanted are
 * kept, then cut.
 *
 * Used by:   found.h, scan.c, offer.c, timeline.c.
 * Threads:   one at a time. Memory: charged by picks_init (found.h).
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_PICKS_H
#define DFTRACERD_ANSWER_TIMELINE_PICKS_H

#include <stdbool.h>
#include <stdint.h>

/* An object that may be told by itself. In ns, which may be more than 64 bits have; dur -1: it has
 * none. */
struct timeline_pick {
    __int128 ts, dur;
    uint32_t group, tuple, file, chunk, row;
};
struct timeline_picks {
    struct timeline_pick *picks;
    uint32_t count, most; /* room for twice as many as are wanted */
    bool full;            /* least: the last that is wanted */
    struct timeline_pick least;
};

/* Whether `a` is told rather than `b`: the longer, then the earlier, then by place. */
bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b);
/* Leaves the `most` that come first, in any order. */
void picks_cut(struct timeline_picks *p);
bool picks_want(const struct timeline_picks *p, const struct timeline_pick *pick);
void picks_add(struct timeline_picks *p, const struct timeline_pick *pick);

#endif
