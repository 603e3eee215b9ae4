/* exchanges.h - the table of all requests of a server that are not finished, and the limits that
 * they share. Used by the server (start, end, the tick) and by endpoints (/requests, /cancel).
 *
 * A request is in the table from before it is first suspended, or its cached answer is sent, until
 * it is completed; refusals and immediate answers never enter it.
 * Threads: any. `lock` is taken before the lock of an exchange, and guards the table alone.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_EXCHANGES_H
#define DFTRACERD_HTTP_EXCHANGE_EXCHANGES_H

#include "http/access/clients.h"
#include "http/exchange/exchange.h"
#include "http/exchange/transport.h"

struct exchanges {
    /* set before the first request */
    const struct transport *transport;
    const struct http_limits *limits;
    struct clients *clients;

    struct budget_share memory; /* of all requests */
    atomic_uint opens;          /* open jobs submitted and not finished: the admission queue */
    atomic_ullong changes;      /* incremented after each change of an index has become visible */
    atomic_llong last_ns;       /* when the last request ended; at first the start */

    pthread_mutex_t lock;
    pthread_cond_t left;    /* signalled when a request has left the table */
    struct exchange *first; /* unfinished requests */
    size_t count;
};

/* Returns 0, or the status of a refusal: 429 if the client's share of queue or memory is used up,
 * 503 if those of all clients are. */
int exchanges_admit(const struct exchange *x);
/* Puts a request into the table, submits it and suspends its connection. `park`: it waits for the
 * index first. Returns false if the daemon is stopping. */
bool exchanges_start(struct exchange *x, bool park);
/* Puts a request into the table whose answer was found in the cache and will be sent now. Returns
 * false if the daemon is stopping. */
bool exchanges_send(struct exchange *x);
void exchanges_remove(struct exchange *x); /* removes it from the table */
/* True if there is a request of this site, or (NULL) of any site. */
bool exchanges_any(struct exchanges *all, const struct site *only);
/* Waits at most `max_ms` until the site has no requests; with `active`, until it has none whose
 * answer is being computed or read by its client. */
void exchanges_wait(struct exchanges *all, const struct site *only, bool active, int max_ms);
/* Ends the unfinished requests of `client` (NULL: of everyone) that have this X-Request-Id, and
 * returns their number. */
unsigned exchanges_cancel(struct exchanges *all, const char *id, const struct client *client);

#endif
