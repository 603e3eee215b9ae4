/* server.h - inside the listener: shared by server.c, mhd_*.c, tick.c and listen.c. */
#ifndef DFT_HTTP_SERVER_H
#define DFT_HTTP_SERVER_H

#include "access.h"
#include "exchange.h"

#define HTTP_LISTENERS_MAX 16
#define HTTP_URI_MAX (16u << 10)
#define HTTP_BODY_MAX (1u << 20)

struct MHD_Daemon;
struct MHD_Connection;

struct http {
    struct http_options options;         /* limits filled in                                          */
    struct http_context context;
    struct pool *pool;
    struct MHD_Daemon *daemons[HTTP_LISTENERS_MAX];
    int fds[HTTP_LISTENERS_MAX];
    char *urls[HTTP_LISTENERS_MAX];
    size_t listeners, url_count;
    bool has_unix;

    pthread_mutex_t table_lock;          /* before any exchange's lock                                 */
    struct exchange *table;              /* unfinished requests                                        */
    size_t table_count;
    atomic_uint opens;                   /* admitted, not yet opened: the admission queue              */
    atomic_bool stopping;
    pthread_t ticker;
    bool ticking;
    pthread_mutex_t tick_lock;
    pthread_cond_t tick_wake;
    bool tick_now, tick_stop;
};

/* listen.c */
int listen_all(struct http *h, struct err *err);     /* fills fds, listeners, urls */
void listen_close(struct http *h);

/* tick.c: the 50 ms thread: vanished clients, parked requests, deadlines */
int tick_start(struct http *h);
void tick_stop(struct http *h);
bool tick_index_ready(struct http *h);

/* mhd_request.c: checks of the message itself; answers and returns false when it is refused */
struct exchange_refusal { int status; struct err err; const char *detail, *allow; bool close; };
bool request_check(struct exchange *x, struct MHD_Connection *c, const char *version, enum access_peer peer,
                   struct exchange_refusal *ret);
/* After the body: parameters and format. */
bool request_parse(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *ret);

/* mhd_response.c */
struct MHD_Response;
int response_refuse(struct exchange *x, struct MHD_Connection *c, const struct exchange_refusal *why);
int response_answer(struct exchange *x, struct MHD_Connection *c);
/* Computes the answer's ETag from what it depends on, before any work; -ENOENT unless the client has it already (304). */
int response_not_modified(struct exchange *x, struct MHD_Connection *c);

#endif
