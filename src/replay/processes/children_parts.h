/* children_parts.h - what the parent knows of a child, and what starting, feeding and collecting
 * have in common. */
#ifndef DFTRACERD_REPLAY_PROCESSES_CHILDREN_PARTS_H
#define DFTRACERD_REPLAY_PROCESSES_CHILDREN_PARTS_H

#include "replay/processes/child.h"
#include "replay/processes/children.h"

struct child {
    pid_t pid;          /* 0: not started, or it has ended */
    uint32_t stands_in; /* the child that does its work, + 1, where it could not be started */
    int to, from, part; /* pipes; its part of the trace */
    _Atomic uint64_t *complete; /* bytes of the part; in shared memory */
    struct message *batch;      /* CHILD_BATCH, on their way to it */
    size_t batched, sent;       /* messages; bytes of them that are in the pipe */
    VEC(uint64_t) pushed;       /* operations, by the number of their name */
    struct buf report;
    int status;        /* as waitpid has it */
    int64_t trace_pid; /* of the first process of the trace that it replays */
    struct text trace_host;
    bool started, dead;
};
enum { CHILD_BATCH = 64 };

/* The child of a process; where it cannot be started, another one. */
int child_of(struct children *c, uint32_t process, struct child **ret);
/* Takes the message: it is in the batch, or dropped where the child is dead. */
void child_send(struct children *c, struct child *child, struct message *m);

#endif
