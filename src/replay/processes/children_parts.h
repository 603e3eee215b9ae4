/* children_parts.h - the parent's data about a child, for starting, feeding, collecting. */
#ifndef DFTRACERD_REPLAY_PROCESSES_CHILDREN_PARTS_H
#define DFTRACERD_REPLAY_PROCESSES_CHILDREN_PARTS_H

#include "replay/processes/child.h"
#include "replay/processes/children.h"

struct child {
    pid_t pid;           /* 0 if it is not running */
    uint32_t substitute; /* the child that does its work, + 1, if it could not be started; else 0 */
    int to, from, part;  /* to, from: pipes; part: its part of the trace */
    _Atomic uint64_t *complete; /* bytes of the part; in shared memory */
    struct message *batch;      /* array of CHILD_BATCH messages to be sent */
    /* batched: number of messages; sent: bytes of them that are in the pipe */
    size_t batched, sent;
    VEC(uint64_t) pushed; /* number of operations, by the number of their name */
    struct buf report;
    int status;        /* as returned by waitpid */
    int64_t trace_pid; /* pid of the first process of the trace that it replays */
    struct text trace_host;
    bool started, dead;
    bool finished; /* it has handled all messages and ended: poll reports its pipe at once */
};
enum { CHILD_BATCH = 64 };

/* Finds the child of a process, or another one if it cannot be started. */
int child_of(struct children *c, uint32_t process, struct child **ret);
/* Adds a copy of the message to the batch, or drops it if the child is dead. */
void child_send(struct children *c, struct child *child, struct message *m);

#endif
