/* sockets.h - listening sockets and the thread that accepts: listen.c opens and closes the sockets,
 * accept.c accepts from all of them. Used by start, stop and sites.
 * Threads: one at a time starts, adds, ends and stops; accept_wake and accept_count: any.
 */
#ifndef DFTRACERD_HTTP_SERVER_SOCKETS_H
#define DFTRACERD_HTTP_SERVER_SOCKETS_H

#include "http/server/connection.h"

/* listen.c */
int listen_all(struct http *h, struct err *err); /* fills fds, listeners, urls */
void listen_close(struct http *h);
/* Binds a socket file without accepting from it; listen_add then does. The path is borrowed. */
int listen_unix(const char *path, struct err *err); /* returns the descriptor, or an error */
void listen_add_unix(struct http *h, int fd, const char *path);
void listen_end_unix(struct http *h, const char *path);

/* accept.c: passes new connections to I/O threads */
int accept_start(struct http *h);
void accept_wake(struct http *h);
void accept_stop(struct http *h); /* connections not accepted stay in the sockets */
/* Counts the begin or end of a connection; `local`: of a Unix socket. */
void accept_count(struct io_thread *c, bool local, bool begins);

#endif
