/* sockets.h - from the sockets that are listened on to the carriers: listen.c opens and closes
 * them, accept.c has a thread that accepts from all of them. Used by start, stop and sites.
 * Threads: one at a time starts, adds, ends and stops; accept_wake and accept_note: any.
 */
#ifndef DFTRACERD_HTTP_SERVER_SOCKETS_H
#define DFTRACERD_HTTP_SERVER_SOCKETS_H

#include "http/server/connection.h"

/* listen.c */
int listen_all(struct http *h, struct err *err); /* fills fds, listeners, urls */
void listen_close(struct http *h);
/* A socket file, not yet accepted from; then it is. The path is borrowed. */
int listen_unix(const char *path, struct err *err); /* descriptor, or why not */
void listen_add_unix(struct http *h, int fd, const char *path);
void listen_end_unix(struct http *h, const char *path);

/* accept.c: who has connected goes to a carrier. */
int accept_start(struct http *h);
void accept_wake(struct http *h);
void accept_stop(struct http *h); /* what nobody has taken in stays with the sockets */
/* one of its connections; `local`: of a unix socket */
void accept_note(struct carrier *c, bool local, bool begins);

#endif
