/* daemon_site.h - a site: directories with an index of their own, and the thread that watches
 * them. A daemon has one, or several with --join (join.h). */
#ifndef DFTRACERD_DAEMON_DAEMON_SITE_H
#define DFTRACERD_DAEMON_DAEMON_SITE_H

#include "dftracerd/index.h"
#include "daemon/rendezvous.h"
#include "daemon/roots.h"

#include <pthread.h>

/* The ranks of a job of several processes (dftracerd-mpi). */
struct daemon_ranks {
    struct index_ranks links;
    unsigned on_node; /* number of ranks on this node, which share its processors and memory */
    /* Sets the index that receives messages of other ranks. After a call with NULL, no index
     * receives any. */
    void (*receive)(void *arg, struct index *ix);
    void *arg;
};

struct watch;
struct daemon_site {
    const struct daemon_ranks *ranks; /* NULL: this process alone */
    struct roots roots;
    char *index_path, *output_dir;
    struct rendezvous rendezvous;
    const char *socket; /* path of its Unix socket; NULL if there is none */
    struct index *index;
    struct watch *watch;
    pthread_t watcher;
    bool watching;
    atomic_bool stop;
    bool ended; /* its index is being closed, or NULL; guarded by daemon.site_lock */
    uint64_t rescan_ms;
    /* Last logged values; used by the main thread. */
    int store_error;
    uint64_t files_failed, files_corrupt;
};
/* Opens the index at index_path, and prepares the watcher, which calls `call` after each scan. If a
 * daemon that a client has started has the index, and this is not such a daemon, that one ends, or
 * closes the index if it serves others. Returns like index_open. */
int daemon_site_open(struct daemon_site *s, const struct options *o, struct index_share *share,
                     void (*call)(void *arg), void *arg, struct err *err);
/* Opens the index only: for a rank that neither watches nor answers requests. */
int daemon_site_open_index(struct daemon_site *s, const struct options *o,
                           struct index_share *share, struct err *err);
/* Returns executor-threads; the ranks of a node share the default, all processors. 0: the default
 * of http, for one process alone. */
unsigned daemon_site_workers(const struct daemon_site *s, const struct options *o);
/* Starts the thread that scans the directories: a slow file system must not hold up signals.
 * Returns 0 or -errno. */
int daemon_site_watch(struct daemon_site *s);
/* Ends the thread: no files are offered to the index any more, and it reports no changes. */
void daemon_site_stop_watching(struct daemon_site *s);
/* Closes and frees everything, even if it is incomplete, and clears *s; the index must not be in
 * use any more. */
void daemon_site_close(struct daemon_site *s);

#endif
