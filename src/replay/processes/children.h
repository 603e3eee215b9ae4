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
    struct child *children;  /* array of REPLAY_PROCESSES_MAX */
    size_t ahead_max;        /* for each process */
    uint32_t count;
    bool ended; /* everything has been sent */
};
int children_init(struct children *c, const struct replay_options *o, struct shared *s,
                  struct root *root, struct report *report);
void children_done(struct children *c);
/* Starts a child for each of the first `processes` of the trace. Returns 0, or -errno with err if
 * none can be started. */
int children_start(struct children *c, uint32_t processes, struct err *err);
/* Sends a copy of an operation to its process; its handle becomes owned by that. Returns 0, or a
 * negative code, which ends the replay. */
int children_push(struct children *c, struct operation *op);
/* Releases the handle in the child of its process, after all operations so far. */
void children_release(struct children *c, struct handle *h);
/* Sends buffered messages. Must be called before waiting for something else. */
void children_flush(struct children *c);
/* Waits for all children, and merges their reports and traces. Returns 0, or a negative code with
 * err: one has died, or there is no memory for its report. If its trace lacks lines,
 * trace_out_close returns that. */
int children_finish(struct children *c, struct err *err);

#endif
