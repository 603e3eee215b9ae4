/* site.h - sites: an index, and what belongs to its requests alone. The server creates them;
 * requests and /metrics use them.
 * Threads: any; fields that are not atomic never change. A site exists as long as the server. Its
 *          index may be closed earlier, so it is used between site_enter and site_leave only.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_SITE_H
#define DFTRACERD_HTTP_EXCHANGE_SITE_H

#include "http/request/context.h"

/* What is served on some of the sockets: one index, and all that belongs to its requests alone. The
 * first site has the sockets of http_options, each further one has a Unix socket. */
struct site {
    struct http_options options;
    struct http_context context;
    char socket[108];    /* path of its Unix socket, also when it has ended; "": it has none */
    atomic_ullong quiet; /* generation of its index that has no pending files, plus 1 */
    atomic_int queued;   /* requests that wait for a worker or are being opened */
    atomic_uint users;   /* requests, and other short uses of the index */
    atomic_bool ended;   /* no new users; without users the index may be closed */
};
struct sites {
    struct site *list[HTTP_SITES_MAX];
    atomic_size_t count; /* grows only: sites before it never change */
};

/* Returns true if the index may be used. In either case site_leave must follow. */
bool site_enter(struct site *s);
void site_leave(struct site *s);

#endif
