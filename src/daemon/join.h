/* join.h - --join: a starting daemon passes its directories to a running one with the same user and
 * settings.
 *
 * The running daemon listens on SETTINGS.join in the runtime directory (rendezvous.h). A starting
 * daemon locks the directory, connects, and sends its directories. It exits if the answer is 0;
 * otherwise it serves them itself, and takes over the name of the socket. It holds the lock until
 * then: if two start at once, one joins the other. A daemon without --join that requires one of the
 * indexes sends a request to close it. Both sides check the other's user. */
#ifndef DFTRACERD_DAEMON_JOIN_H
#define DFTRACERD_DAEMON_JOIN_H

#include "daemon/rendezvous.h"

#include <pthread.h>

/* A request to serve directories. Texts are borrowed. */
struct join_request {
    uint64_t threads; /* 0: any number */
    const char *index_path;
    struct roots roots;
};
struct join {
    char *path; /* path of the socket; NULL if there is no runtime directory */
    struct buf settings;
    int lock_fd, fd; /* -1: none */
    uint64_t inode;  /* inode of this daemon's socket file */
    pthread_t thread;
    bool running;
    atomic_bool ending;
    /* Called by the thread. `serve` may steal request->roots, leaving them empty. */
    int (*serve)(void *arg, struct join_request *request, struct err *err);
    int (*end)(void *arg, const char *index_path, struct err *err);
    void *arg;
};
/* Waits for another starting daemon, for some seconds. Returns 0 or -ENOMEM; without a runtime
 * directory, joining is impossible. */
int join_init(struct join *j, const struct rendezvous *m, const struct options *o);
/* Returns whether a running daemon has accepted the directories. */
bool join_running(const struct join *j, const struct join_request *request);
/* Returns whether a running daemon had the index open among others, and has closed it. */
bool join_end(const struct rendezvous *m, const char *index_path);
/* Listens for other daemons, in a thread that calls `serve` and `end`, and releases the lock.
 * Returns 0 or -errno. */
int join_listen(struct join *j);
/* Stops the thread: `serve` and `end` are not called any more. */
void join_stop(struct join *j);
void join_done(struct join *j);

#endif
