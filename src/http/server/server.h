/* server.h - inside the listener: shared by server.c, mhd_*.c, tick.c and listen.c. */
#ifndef DFTRACERD_HTTP_SERVER_SERVER_H
#define DFTRACERD_HTTP_SERVER_SERVER_H

#include "http/access/clients.h"
#include "http/exchange/exchanges.h"
#include "http/exchange/site.h"
#include "http/metrics/metrics.h"

#include "dftracerd/rewrite.h"

#define HTTP_FIRST_LISTENERS_MAX 16
#define HTTP_LISTENERS_MAX (HTTP_FIRST_LISTENERS_MAX + HTTP_SITES_MAX)
#define HTTP_CARRIERS_MAX 4 /* two for connections with TLS, two for others */
#define SPOOL_BYTES (16ull << 30)
#define HTTP_URI_MAX (16u << 10)
#define HTTP_HEAD_MAX (36u << 10)
/* of memory: a request's head, what is noted of it, and the head of the answer */
#define HTTP_CONNECTION_BYTES (40u << 10)
/* of it for each header or cookie, as libmicrohttpd 0.9.75 aligns what it notes */
#define HTTP_HEADER_COSTS 64
#define HTTP_BODY_MAX (1u << 20)

struct MHD_Daemon;
struct MHD_Connection;

enum connection_state { CONNECTION_IDLE, CONNECTION_ARRIVING, CONNECTION_BUSY };
/* What is known of a connection. What stands before its state is used by its own thread only. */
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

/* A text of the program in a coding: packed when it is asked for first. */
struct packed {
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
    struct packed packed[CODINGS]; /* of the text that is the same for all */
    pthread_mutex_t packed_lock;
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
    pthread_rwlock_t access_lock;      /* options.*token, .allow_users: http_reload changes them */
    atomic_uint access_epoch;          /* counts reloads */
    char *own_token, *own_admin_token; /* what http_reload made of them */
    uid_t *own_users;

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

/* server.c */
/* end.c */
/* Requests of one site or (NULL) all that were begun come to their end, for at most so long; then
 * they are cancelled, and their clients have `grace_ms` to be told. */
void server_end_all(struct http *h, struct site *only, int drain_ms, int grace_ms);

/* access_log.c: a request has ended; `cut`: before its answer had. Caller holds x->lock. */
void access_log(const struct exchange *x, bool cut);

/* mhd_callbacks.c: libmicrohttpd's side of requests */
struct MHD_Daemon *callbacks_start(struct carrier *c);
extern const struct transport callbacks_transport;

/* accept.c: who has connected goes to a carrier. */
int accept_start(struct http *h);
void accept_wake(struct http *h);
void accept_stop(struct http *h); /* what nobody has taken in stays with the sockets */
/* one of its connections; `local`: of a unix socket */
void accept_note(struct carrier *c, bool local, bool begins);

/* site.c */
/* The first one, or a further one; the latter is only prepared. *new*; -ENOMEM. */
int site_new(struct http *h, const struct http_site *s, struct site **ret);
void site_free(struct site *s); /* NULL-safe */
void site_limit_time(struct site *s, int64_t query_time_ms);
/* Whose socket a connection came on. */
struct site *site_of(struct http *h, int fd);

/* listen.c */
int listen_all(struct http *h, struct err *err); /* fills fds, listeners, urls */
void listen_close(struct http *h);
/* A socket file, not yet accepted from; then it is. The path is borrowed. */
int listen_unix(const char *path, struct err *err); /* descriptor, or why not */
void listen_add_unix(struct http *h, int fd, const char *path);
void listen_end_unix(struct http *h, const char *path);

/* tick.c: the 50 ms thread: vanished clients, parked requests, deadlines */
int tick_start(struct http *h);
void tick_stop(struct http *h);

/* mhd_request.c: checks of the message itself; answers and returns false when it is refused */
/* `no_room`: libmicrohttpd has no memory to answer with. `before_body`: the client learns it while
 * it sends. */
struct exchange_refusal {
    int status;
    struct err err;
    const char *detail, *allow;
    bool close, no_room, before_body;
};
bool request_check(struct exchange *x, struct MHD_Connection *c, const char *version,
                   enum access_role peer, struct exchange_refusal *ret);
/* After the body: parameters and format. */
bool request_parse(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *ret);

/* mhd_response.c */
struct MHD_Response;
int response_refuse(struct exchange *x, struct MHD_Connection *c,
                    const struct exchange_refusal *why);
/* Past libmicrohttpd; the connection is closed. Gives MHD_NO. */
int response_past(struct exchange *x, struct MHD_Connection *c, int status, const char *detail);
int response_answer(struct exchange *x, struct MHD_Connection *c);
int response_options(struct exchange *x, struct MHD_Connection *c);

#endif
