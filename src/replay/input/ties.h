/* ties.h - orders events that begin at the same time, longest first: so a call comes before the
 * calls within it, as in call trees.
 *
 * Tracers write a call when it ends, that is after those within it, and times in microseconds are
 * often equal.
 */
#ifndef DFTRACERD_REPLAY_INPUT_TIES_H
#define DFTRACERD_REPLAY_INPUT_TIES_H

#include "replay/input/input.h"

/* if more events have the same time, they are ordered in groups of this size */
enum { TIES_MAX = 512 };

struct ties {
    struct event *events;
    size_t count, at;
    struct arena texts;
};
void ties_done(struct ties *t); /* *t may be zero-initialised */
/* Returns whether the stored events must be taken before `e` is added. */
bool ties_are_full(const struct ties *t, const struct event *e);
int ties_add(struct ties *t, const struct event *e); /* 0, -ENOMEM */
/* Returns the next event, borrowed until ties_add; NULL if there is none. */
const struct event *ties_take(struct ties *t);

#endif
