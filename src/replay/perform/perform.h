/* perform.h - does one operation, by the thread of its lane. */
#ifndef DFTRACERD_REPLAY_PERFORM_PERFORM_H
#define DFTRACERD_REPLAY_PERFORM_PERFORM_H

#include "replay/plan/plan.h"
#include "replay/root/root.h"

struct performed {
    int64_t ret; /* as the call returned it, or -errno */
    uint64_t bytes;
    const char *error; /* NULL: none */
};
/* What a thread has for itself: memory to read into. Zero-initialise. */
struct performer {
    struct root *root;
    const atomic_bool *stopped;
    char *data;
};
void performer_done(struct performer *p);
/* Waits for the call that opens the handle, if another thread does that. Releases the handle. */
void perform(struct performer *p, struct operation *op, struct performed *ret);

#endif
