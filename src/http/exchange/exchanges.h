/* exchanges.h - all requests of a server that are being answered: the table of them, and what they
 * share. Used by the server (start, end, the tick) and by endpoints (/requests, /cancel).
 *
 * A request is in the table from before it is first suspended until it is completed, or it never
 * gets there.
 * Threads: any. `lock` comes before any exchange's lock, and guards the table alone.
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

    struct budget_share memory; /* of all queries */
    atomic_uint opens;          /* open jobs submitted and not finished: the admission queue */
    atomic_ullong changes;      /* grows with every change of an index, after it can be seen */
    atomic_llong last_ns;       /* a request ended, or the start */

    pthread_mutex_t lock;
    pthread_cond_t left;    /* a request has left the table */
    struct exchange *first; /* unfinished requests */
    size_t count;
};

/* 0, or the status that tells why it cannot begin: 429 for its client's share of queue and memory,
 * 503 for those of all. */
int exchanges_admit(const struct exchange *x);
/* Puts a request into the table, submits it and suspends its connection. `park`: it waits for the
 * index first. False: the daemon stops. */
bool exchanges_start(struct exchange *x, bool park);
void exchanges_remove(struct exchange *x); /* out of the table */
/* Is there one of this site, or (NULL) of any? */
bool exchanges_any(struct exchanges *all, const struct site *only);
/* Waits until there is none of them, or with `moving` none whose answer is computed or taken by its
 * client; not longer than that. */
void exchanges_wait(struct exchanges *all, const struct site *only, bool moving, int most_ms);
/* Ends the unfinished requests that have this X-Request-Id: those of `client`, or of everyone
 * (NULL). How many there were. */
unsigned exchanges_end(struct exchanges *all, const char *id, const struct client *client);

#endif
