/* lanes.h - a queue and a thread for each (host, pid, tid) of the trace.
 *
 * The planning thread appends operations in order of time, at most REPLAY_AHEAD_MAX in all queues together: then it waits until
 * half of them are done. A thread performs its operations in their order, each not before its time. Threads wait for each other
 * only where one uses a descriptor that another opens; that one is earlier in the trace, so it was queued before.
 * A thread that is behind may fill the queues; then the others wait for it, which their lateness shows.
 */
#ifndef DFT_REPLAY_LANES_H
#define DFT_REPLAY_LANES_H

#include "perform.h"
#include "report.h"
#include "trace_out.h"

#include <pthread.h>

struct lane {
    struct text host;            /* of the trace */
    int64_t pid, tid;
    uint32_t process;
    struct runner *runner;       /* that performs its operations */
    int64_t outer_end_ns;        /* of the planning thread: the end of the outermost call at hand */
};

struct runner;
struct lanes {
    const struct replay_options *options;
    struct root *root;
    struct report *report;
    struct trace_out *trace;     /* or NULL */
    struct intern *keys, *processes;
    struct lane **lanes;
    size_t lanes_cap;
    struct runner *runners;      /* REPLAY_LANES_MAX */
    unsigned runner_count;
    atomic_size_t queued;
    pthread_mutex_t lock;
    pthread_cond_t changed;      /* space in the queues; the start */
    bool started;
    int64_t origin_ns, first_ns; /* of the clock, and of the trace */
    atomic_bool stopped;
};
int lanes_init(struct lanes *l, const struct replay_options *o, struct root *root, struct report *r);
void lanes_done(struct lanes *l);
/* The lane of a thread; NULL: no memory. */
struct lane *lanes_find(struct lanes *l, struct text host, int64_t pid, int64_t tid);
void lanes_again(struct lanes *l);
/* Takes the operation. 0, -EAGAIN (no thread could be started) or -ENOMEM. */
int lanes_push(struct lanes *l, struct operation *op);
/* The clock starts. lanes_push calls it when the queues are full for the first time. */
void lanes_start(struct lanes *l);
/* Waits until everything is done, and ends the threads. */
void lanes_finish(struct lanes *l);
/* What an operation's result means for the report. */
void lanes_report(struct report *r, const struct operation *op, const struct performed *done, int64_t taken_ns, int64_t late_ns);

#endif
