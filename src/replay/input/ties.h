/* ties.h - events that begin at the same time, longest first: so a call comes before the calls
 * within it, as in call trees.
 *
 * Tracers write a call when it ends, that is behind those within it, and times of microseconds are
 * often equal.
 */
#ifndef DFTRACERD_REPLAY_INPUT_TIES_H
#define DFTRACERD_REPLAY_INPUT_TIES_H

#include "replay/input/input.h"

enum { TIES_MOST = 512 }; /* of more events with one time, these are put in order, then the next */

struct ties {
    struct event *events;
    size_t count, at;
    struct arena texts;
};
void ties_done(struct ties *t); /* zero-initialised or used */
/* Takes a copy. True: those that are kept have to be taken out before `e` is added. */
bool ties_are_full(const struct ties *t, const struct event *e);
int ties_add(struct ties *t, const struct event *e); /* 0, -ENOMEM */
/* The next one, borrowed until ties_add; NULL: there is none. */
const struct event *ties_take(struct ties *t);

#endif
