/* child.h - what a process of --processes does, and the messages that it gets. */
#ifndef DFTRACERD_REPLAY_PROCESSES_CHILD_H
#define DFTRACERD_REPLAY_PROCESSES_CHILD_H

#include "replay/perform/runners.h"

enum { CHILDREN_START_NS = 50000000 /* all processes have their threads by then */ };

struct message {
    enum message_kind { MESSAGE_OPERATION, MESSAGE_RELEASE, MESSAGE_END } kind;
    union {
        struct operation op;
        struct handle *handle;
    };
};

struct child_setup {
    const struct replay_options *options;
    struct shared *shared;
    struct root *root;
    struct report *report; /* of the parent: its copy collects for this process */
    pid_t parent;
    int in, out, part; /* messages; the report; its part of the trace or -1 */
    _Atomic uint64_t *complete;
    size_t ahead_max;
};
/* Performs the operations of the messages, and sends the report: its length as uint64_t, and
 * itself. Exits with 0, CHILD_TRACE_LACKS lines in its part, or CHILD_FAILED: there is no report,
 * or nobody who wants it. */
enum child_status { CHILD_FAILED = 1, CHILD_TRACE_LACKS = 2 };
void child_main(const struct child_setup *setup) __attribute__((noreturn));

#endif
