/* connection.h - what is known of a connection, and the thread of libmicrohttpd that has it. Used
 * by all files of this folder; mhd_connection.h has what is done with one.
 * Threads: a connection is used by its own thread; others read its fields from `state` on, under
 *          connections_lock of struct http.
 * Memory:  a connection is made and freed by its own thread, which has it in the list meanwhile.
 */
#ifndef DFTRACERD_HTTP_SERVER_CONNECTION_H
#define DFTRACERD_HTTP_SERVER_CONNECTION_H

#include "http/access/access.h"

#define HTTP_CARRIERS_MAX 4 /* two for connections with TLS, two for others */

struct client;
struct exchange;
struct http;
struct site;
struct viewer;
struct MHD_Daemon;
struct MHD_Connection;

enum connection_state { CONNECTION_IDLE, CONNECTION_ARRIVING, CONNECTION_BUSY };
/* Fields before `state` are used by its own thread only. */
struct connection {
    struct access_peer peer;
    struct client *client;
    struct viewer *viewer; /* where files have permissions; else NULL */
    struct site *site;     /* of the socket that it came on */
    enum access_role role; /* found out with the first request, and again... */
    unsigned role_epoch;   /* ... when this is not the access_epoch... */
    int64_t role_until;    /* ... or by a certificate: after this, Unix time in seconds */
    int fd;
    struct carrier *carrier;
    struct MHD_Connection *mhd;
    struct exchange *arriving; /* its URI has come, the rest of its head has not */
    atomic_int state;
    atomic_llong since_ns;          /* it is in this state */
    struct connection *prev, *next; /* guarded by connections_lock */
};

/* A thread of libmicrohttpd, and how many connections it has: of TCP [false] and of unix sockets
 * [true]. The counts are guarded by connections_lock. */
struct carrier {
    struct http *http;
    struct MHD_Daemon *daemon;
    bool tls;
    unsigned handed[2]; /* given to it, and not begun yet */
    unsigned begun[2];
};

#endif
