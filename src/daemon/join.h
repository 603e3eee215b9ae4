/* join.h - --join: a daemon that starts hands its directories to one of the same user and settings
 * that runs already.
 *
 * In the runtime directory (meeting.h) the running one listens on SETTINGS.join. Who starts locks
 * the directory, connects, sends what it would serve and ends if the answer is 0; else it serves
 * that itself, and takes the name of the socket over. The lock is held until that is so: of two
 * that start at once one joins the other. A daemon that is to have an index alone (dftracer_server)
 * sends that. Both sides check the other's user. */
#ifndef DFTRACERD_DAEMON_JOIN_H
#define DFTRACERD_DAEMON_JOIN_H

#include "daemon/meeting.h"

#include <pthread.h>

/* What is to be served. Texts are borrowed. */
struct join_request {
    uint64_t threads; /* 0: any number */
    const char *index_path;
    struct roots roots;
};
struct join {
    char *path; /* of the socket; NULL: there is no place for it */
    struct buf settings;
    int lock_fd, fd; /* -1: none */
    uint64_t inode;  /* of our socket file */
    pthread_t thread;
    bool running;
    atomic_bool ending;
    /* may take request->roots */
    int (*serve)(void *arg, struct join_request *request, struct err *err);
    int (*end)(void *arg, const char *index_path, struct err *err);
    void *arg;
};
/* Waits for another one that starts, for some seconds. 0, -ENOMEM; without a place for the socket
 * nothing can be joined. */
int join_init(struct join *j, const struct meeting *m, const struct options *o);
/* Whether a running daemon serves the directories from now on. */
bool join_running(const struct join *j, const struct join_request *request);
/* Whether a running daemon had the index open, serves other directories, too, and has closed it. */
bool join_end(const struct meeting *m, const char *index_path);
/* Listens for others, in a thread that calls `serve` and `end`; and lets those that wait go on. 0,
 * -errno. */
int join_listen(struct join *j);
/* Neither runs any more. */
void join_stop(struct join *j);
void join_done(struct join *j);

#endif
