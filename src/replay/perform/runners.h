/* runners.h - the threads of one process of the replay, each with a queue of operations.
 *
 * The thread that feeds them appends operations in order of time, at most `ahead_max` in all queues
 * together: then it waits until half of them are done. A thread performs its operations in their
 * order, each not before its time. A thread waits for another if it uses a descriptor that the
 * other opens, and as described in order.h: only for operations that are earlier in the trace, so
 * they were queued before. A slow thread may fill the queues; then the others wait for it, which
 * shows in their delays.
 */
#ifndef DFTRACERD_REPLAY_PERFORM_RUNNERS_H
#define DFTRACERD_REPLAY_PERFORM_RUNNERS_H

#include "replay/perform/lanes.h"
#include "replay/perform/perform.h"
#include "replay/report/report.h"
#include "replay/perform/trace_out.h"

struct runners {
    const struct replay_options *options;
    struct shared *shared;
    struct root *root;
    struct report *report;
    struct trace_out *trace; /* may be NULL */
    struct runner *runners;  /* array of LANES_RUNNERS_MAX */
    unsigned count;          /* of started ones */
    size_t ahead_max;        /* operations in all queues */
    int64_t start_ns;        /* delay before the clock begins: threads are awake by then */
    atomic_size_t queued;    /* operations that have not ended */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signalled when there is space in the queues */
};
int runners_init(struct runners *r, const struct replay_options *o, struct shared *s,
                 struct root *root, struct report *report);
void runners_done(struct runners *r);
/* The operation becomes owned by its thread, or is dropped on errors. Returns 0, or -EAGAIN: no
 * thread could be started. Starts the clock when the queues are full. */
int runners_push(struct runners *r, struct operation *op);
/* Starts the clock, waits until everything is done, and ends the threads. */
void runners_finish(struct runners *r);
/* Adds the result of an operation to the report. */
void runners_report(struct report *r, const struct operation *op, const struct performed *done,
                    int64_t taken_ns, int64_t late_ns);

#endif
