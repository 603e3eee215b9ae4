/* perform.h - performs one operation, in the thread of its lane. */
#ifndef DFTRACERD_REPLAY_PERFORM_PERFORM_H
#define DFTRACERD_REPLAY_PERFORM_PERFORM_H

#include "replay/plan/plan.h"
#include "replay/root/root.h"

struct performed {
    int64_t ret; /* return value of the call, or -errno */
    uint64_t bytes;
    const char *error; /* NULL: none */
};
/* Private memory of a thread, to read into. Zero-initialise. */
struct performer {
    struct root *root;
    const atomic_bool *stopped;
    char *data; /* of one part of a transfer; allocated by the first read */
};
void performer_done(struct performer *p);
/* Performs an operation, and releases its handle. Waits for the call that opens the handle, if
 * another thread performs that. */
void perform(struct performer *p, struct operation *op, struct performed *ret);

#endif
