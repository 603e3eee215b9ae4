/* children.h - --processes: a child process for each (host, pid) of the trace, which has the
 * threads of its lanes.
 *
 * The parent alone reads and plans. It sends operations through a pipe to the child of their
 * process, which feeds its threads (runners.h) with them. What they point to is in shared memory.
 * At the end each child sends its report through another pipe. A child that dies is an error; its
 * operations are reported as not replayed, and the others continue. Children end with their parent.
 * There are at most REPLAY_PROCESSES_MAX; further processes of the trace, and those for which none
 * can be started, share them.
 * Threads: the parent has one.
 */
#ifndef DFTRACERD_REPLAY_PROCESSES_CHILDREN_H
#define DFTRACERD_REPLAY_PROCESSES_CHILDREN_H

#include "replay/perform/runners.h"

struct child;
struct children {
    const struct replay_options *options;
    struct shared *shared;
    struct root *root;
    struct report *report;
    struct trace_out *trace; /* or NULL */
    struct child *children;  /* REPLAY_PROCESSES_MAX */
    size_t ahead_max;        /* of each */
    uint32_t count;
    bool ended; /* everything has been sent */
};
int children_init(struct children *c, const struct replay_options *o, struct shared *s,
                  struct root *root, struct report *report);
void children_done(struct children *c);
/* Starts those of the first `processes` of the trace. 0, or -errno with err where not even one can
 * be started. */
int children_start(struct children *c, uint32_t processes, struct err *err);
/* Takes the operation. */
int children_push(struct children *c, struct operation *op);
/* Releases the handle in the child of its process, after all operations so far. */
void children_release(struct children *c, struct handle *h);
/* Sends what is still in memory. Called before waiting for something else. */
void children_flush(struct children *c);
/* Waits for all; merges their reports and traces. 0, or a negative code with err: one has died, or
 * its trace lacks lines. */
int children_finish(struct children *c, struct err *err);

#endif
