/* child.h - the main function of a process of --processes, and its messages. */
#ifndef DFTRACERD_REPLAY_PROCESSES_CHILD_H
#define DFTRACERD_REPLAY_PROCESSES_CHILD_H

#include "replay/perform/runners.h"

enum { CHILDREN_START_NS = 50000000 /* delay until all processes have their threads */ };

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
    struct report *report; /* copy of the parent's report, which collects for this process */
    pid_t parent;
    int in, out, part; /* in: messages; out: the report; part: its part of the trace, or -1 */
    _Atomic uint64_t *complete;
    size_t ahead_max;
};
/* Performs the operations of the messages, and sends the report: its length as uint64_t, then its
 * bytes. Exits with 0; CHILD_TRACE_LACKS if its part lacks lines; or CHILD_FAILED if there is no
 * report, or the parent has died. */
enum child_status { CHILD_FAILED = 1, CHILD_TRACE_LACKS = 2 };
void child_main(const struct child_setup *setup) __attribute__((noreturn));

#endif
