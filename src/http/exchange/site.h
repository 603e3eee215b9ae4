/* site.h - sites: an index, and what belongs to its requests alone. The server makes them; requests
 * and /metrics use them.
 * Threads: any. What is not atomic never changes. A site is there as long as the server; its index
 * may be closed before: it is used between site_enter and site_leave only.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_SITE_H
#define DFTRACERD_HTTP_EXCHANGE_SITE_H

#include "http/request/context.h"

/* What is served on some of the sockets: one index, and all that belongs to its requests alone. The
 * first site has the sockets of http_options, each further one has a Unix socket. */
struct site {
    struct http_options options;
    struct http_context context;
    atomic_ullong quiet; /* a generation of its index without pending files, plus 1 */
    atomic_int queued;   /* requests that wait for a worker, or are opened by one */
    atomic_uint users;   /* requests, and whoever looks at the index for a moment */
    atomic_bool ended;   /* nobody comes any more; without users its index is not used */
};
struct sites {
    struct site *list[HTTP_SITES_MAX];
    atomic_size_t count; /* grows only: those before it never change */
};

/* Whether its index may be used; until site_leave, which follows in any case. */
bool site_enter(struct site *s);
void site_leave(struct site *s);

#endif
