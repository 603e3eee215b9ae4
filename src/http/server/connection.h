/* connection.h - a connection, and the libmicrohttpd thread that has it. Used by all files of this
 * folder; mhd_connection.h has the functions.
 * Threads: a connection is used by its own thread; others read its `fd`, `site` and what follows
 *          `state`, under connections_lock of struct http.
 * Memory:  a connection is created and freed by its own thread, and is in the list meanwhile.
 */
#ifndef DFTRACERD_HTTP_SERVER_CONNECTION_H
#define DFTRACERD_HTTP_SERVER_CONNECTION_H

#include "http/access/access.h"

#define HTTP_IO_THREADS_MAX 4 /* two for connections with TLS, two for others */

struct client;
struct exchange;
struct http;
struct site;
struct viewer;
struct MHD_Daemon;
struct MHD_Connection;

enum connection_state { CONNECTION_IDLE, CONNECTION_ARRIVING, CONNECTION_BUSY };
/* Fields before `state` are written by its own thread only. `fd`, `site`, `io_thread` and `mhd` do
 * not change while it is in the list. */
struct connection {
    struct access_peer peer;
    struct client *client;
    struct viewer *viewer; /* with --enforce-file-permissions; else NULL */
    struct site *site;     /* the site of its socket */
    enum access_role role; /* determined with the first request, and again... */
    unsigned role_epoch;   /* ... when this differs from access_epoch... */
    int64_t role_until; /* ... or after this Unix time in seconds, if a certificate expires then */
    int fd;
    struct io_thread *io_thread;
    struct MHD_Connection *mhd;
    struct exchange *arriving; /* the request whose URI has arrived and whose head is incomplete */
    atomic_int state;
    atomic_llong since_ns;          /* since when it is in this state */
    struct connection *prev, *next; /* guarded by connections_lock */
};

/* A thread of libmicrohttpd, and the number of its connections: from TCP [false] and from Unix
 * sockets [true]. The counts are guarded by connections_lock. */
struct io_thread {
    struct http *http;
    struct MHD_Daemon *daemon;
    bool tls;
    unsigned handed[2]; /* passed to it, and not begun yet */
    unsigned begun[2];
};

#endif
