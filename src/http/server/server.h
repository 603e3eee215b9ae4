/* server.h - the server for the files of this folder (dftracerd/http.h is the public header):
 * struct http, and the parts that start and end with it.
 *
 * A connection is accepted (sockets.h) and passed to an I/O thread, a thread of libmicrohttpd
 * (connection.h). The callbacks of a request (mhd_message.h) make an exchange of a site and put it
 * into h->exchanges, where workers find it (exchange/exchange.h). The tick resumes those that wait.
 * Threads: as each field says; the other fields are written before the I/O threads start.
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
/* A text of the program in a content coding, compressed at its first use. */
struct compressed {
    const char *of;
    struct buf bytes;
};

struct http {
    struct http_options options; /* limits filled in */
    struct cache *cache;         /* response cache */
    int64_t started_ns, started_real_ns;
    struct sites sites;
    struct exchanges exchanges;
    struct http_facts facts;
    struct compressed compressed[CODINGS]; /* of the text that is the same for all clients */
    pthread_mutex_t compressed_lock;
    struct disk_budget spools;
    struct pool *pool;
    struct io_thread io_threads[HTTP_IO_THREADS_MAX];
    size_t io_thread_count;
    atomic_int fds[HTTP_LISTENERS_MAX];
    atomic_bool closing[HTTP_LISTENERS_MAX]; /* the thread that accepts has to close it */
    bool is_tls[HTTP_LISTENERS_MAX];         /* parallel to fds */
    bool is_unix[HTTP_LISTENERS_MAX];
    const char *unlinks[HTTP_LISTENERS_MAX]; /* socket files that the server created */
    char *urls[HTTP_LISTENERS_MAX];
    atomic_size_t listeners; /* as sites.count */
    size_t url_count;
    pthread_rwlock_t access_lock; /* guards options.*token and .allow_users; see http_reload */
    atomic_uint access_epoch;     /* counts reloads */
    struct arena reloaded;        /* the texts that http_reload allocated */

    pthread_mutex_t connections_lock; /* no other lock is taken under it */
    struct connection *connections;
    pthread_t acceptor;
    bool accepting;
    int accept_wake; /* eventfd: there is one more listener, or the thread has to end */
    atomic_bool accept_ends;
    pthread_t ticker;
    bool ticking;
    struct pulse tick_pulse;
    pthread_mutex_t tick_lock;
    pthread_cond_t tick_wake;
    bool tick_now, tick_stop;
    unsigned tick_trim; /* of the ticker alone: seconds until memory is trimmed; 0 = no */
};

/* end.c */
/* Completes the requests of one site or (NULL) of all, for at most drain_ms; then cancels them, and
 * gives their clients `grace_ms` to read the end. */
void server_end_all(struct http *h, struct site *only, int drain_ms, int grace_ms);

/* access_log.c: logs a request that has ended; `cut`: before its answer had. Caller holds x->lock.
 */
void access_log(const struct exchange *x, bool cut);

/* tick.c: the 50 ms thread: vanished clients, parked requests, deadlines */
int tick_start(struct http *h);
void tick_stop(struct http *h);

#endif
