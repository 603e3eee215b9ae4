/* server.h - the server as its own files see it (dftracerd/http.h is what others see): struct http,
 * and what starts and ends with it.
 *
 * A connection is accepted (sockets.h) and given to a carrier, a thread of libmicrohttpd
 * (connection.h). What it calls for a request (mhd_message.h) makes an exchange of a site and puts
 * it into h->exchanges; from there it is worked for (exchange/exchange.h). The tick looks after
 * those that wait.
 * Threads: as each field says; what says nothing is written before the carriers start.
 * Locks:   exchanges.lock comes before any exchange's lock. The others are leaves.
 * Memory:  all of it belongs to struct http; http_stop frees it.
 */
#ifndef DFTRACERD_HTTP_SERVER_SERVER_H
#define DFTRACERD_HTTP_SERVER_SERVER_H

#include "http/exchange/exchanges.h"
#include "http/exchange/site.h"
#include "http/server/connection.h"

#include "dftracerd/rewrite.h"

#define HTTP_FIRST_LISTENERS_MAX 16
#define HTTP_LISTENERS_MAX (HTTP_FIRST_LISTENERS_MAX + HTTP_SITES_MAX)
/* A text of the program in a coding: packed when it is asked for first. */
struct compressed {
    const char *of;
    struct buf bytes;
};

struct http {
    struct http_options options; /* limits filled in */
    struct cache *cache;         /* of whole answers */
    int64_t started_ns, started_real_ns;
    struct sites sites;
    struct exchanges exchanges;
    struct http_facts facts;
    struct compressed compressed[CODINGS]; /* of the text that is the same for all */
    pthread_mutex_t compressed_lock;
    struct disk_budget spools;
    struct pool *pool;
    struct carrier carriers[HTTP_CARRIERS_MAX];
    size_t carrier_count;
    atomic_int fds[HTTP_LISTENERS_MAX];
    atomic_bool closing[HTTP_LISTENERS_MAX]; /* the thread that accepts is to close it */
    bool is_tls[HTTP_LISTENERS_MAX];         /* ... of fds */
    bool is_unix[HTTP_LISTENERS_MAX];
    const char *unlinks[HTTP_LISTENERS_MAX]; /* socket files of ours */
    char *urls[HTTP_LISTENERS_MAX];
    atomic_size_t listeners; /* as sites.count */
    size_t url_count;
    pthread_rwlock_t access_lock; /* options.*token, .allow_users: http_reload changes them */
    atomic_uint access_epoch;     /* counts reloads */
    struct arena reloaded;        /* what http_reload made of them */

    pthread_mutex_t connections_lock; /* no other lock is taken under it */
    struct connection *connections;
    pthread_t acceptor;
    bool accepting;
    int accept_wake; /* an eventfd: there is one more listener, or it is to end */
    atomic_bool accept_ends;
    pthread_t ticker;
    bool ticking;
    struct pulse tick_pulse;
    pthread_mutex_t tick_lock;
    pthread_cond_t tick_wake;
    bool tick_now, tick_stop;
    unsigned tick_trim; /* of the ticker alone: in so many seconds memory is trimmed; 0 = no */
};

/* end.c */
/* Requests of one site or (NULL) all that were begun come to their end, for at most so long; then
 * they are cancelled, and their clients have `grace_ms` to be told. */
void server_end_all(struct http *h, struct site *only, int drain_ms, int grace_ms);

/* access_log.c: a request has ended; `cut`: before its answer had. Caller holds x->lock. */
void access_log(const struct exchange *x, bool cut);

/* tick.c: the 50 ms thread: vanished clients, parked requests, deadlines */
int tick_start(struct http *h);
void tick_stop(struct http *h);

#endif
