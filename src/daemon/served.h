/* served.h - directories that are served: their index, and the thread that watches them. A daemon
 * has one such set, and with --join more of them (join.h). */
#ifndef DFTRACERD_DAEMON_SERVED_H
#define DFTRACERD_DAEMON_SERVED_H

#include "dftracerd/index.h"
#include "daemon/meeting.h"
#include "daemon/roots.h"

#include <pthread.h>

/* A job of several processes, its ranks (dftracerd-mpi). */
struct daemon_ranks {
    struct index_ranks links;
    unsigned on_node; /* ranks of this node, which share its processors and memory */
    /* The index gets what comes from other ranks. With NULL none does any more on return. */
    void (*receive)(void *arg, struct index *ix);
    void *arg;
};

struct watch;
struct served {
    const struct daemon_ranks *ranks; /* NULL: this process alone */
    struct roots roots;
    char *index_path, *output_dir;
    struct meeting meeting;
    const char *socket; /* where it is reached; NULL: no Unix socket */
    struct index *index;
    struct watch *watch;
    pthread_t watcher;
    bool watching;
    atomic_bool stop;
    bool ended; /* it has been closed; guarded by daemon.served_lock */
    uint64_t rescan_ms;
    /* In the log: of the main thread. */
    int store_error;
    uint64_t files_failed, files_corrupt;
};
/* Opens the index at index_path, and prepares the watcher: `call` is called after each look of it.
 * Where a daemon of the client's has the index, and this one is none, that one ends, or closes the
 * index if it serves more. As index_open. */
int served_open(struct served *s, const struct options *o, struct index_share *share,
                void (*call)(void *arg), void *arg, struct err *err);
/* The index alone: of a rank that watches and answers nothing itself. */
int served_open_index(struct served *s, const struct options *o, struct index_share *share,
                      struct err *err);
/* executor-threads; the default, all processors, is shared by the ranks of a node. 0: of one
 * process alone, as each part has it. */
unsigned served_workers(const struct served *s, const struct options *o);
/* Starts the thread that scans the directories: a slow file system must not hold up signals. 0,
 * -errno. */
int served_watch(struct served *s);
/* Ends it: the index is offered nothing more, and reports no changes. */
void served_rest(struct served *s);
/* Closes and frees what is in it, also what is there in part, and leaves it empty; nobody uses the
 * index any more. */
void served_close(struct served *s);

#endif
