/* exchange.h - one request from its first line to its last byte, and who may touch it when.
 *
 * The libmicrohttpd thread creates it, checks it and suspends the connection; a worker of the pool runs the endpoint's
 * open() and then next() whenever there is room; the libmicrohttpd thread copies out what is pending. No worker waits
 * for a client: a job ends when the room is used up, and the content reader submits the next one.
 *
 *   RECEIVING -> PARKED (wait=ready) -> WORKING (open) -> READY -> STREAMING -> closed
 *
 * `lock` guards everything below it in the struct. Two parties may hold a reference: libmicrohttpd (until the request is
 * completed) and a running job. The last one frees.
 */
#ifndef DFT_HTTP_EXCHANGE_H
#define DFT_HTTP_EXCHANGE_H

#include "encode.h"
#include "endpoint.h"

#include <pthread.h>

enum exchange_phase { EXCHANGE_RECEIVING, EXCHANGE_PARKED, EXCHANGE_WORKING, EXCHANGE_READY, EXCHANGE_STREAMING };

#define EXCHANGE_STEP_BYTES (256u << 10)   /* a job ends when it has made so much                     */
#define EXCHANGE_ROOM_BYTES (128u << 10)   /* less than this pending: the next job is submitted       */
#define EXCHANGE_WHOLE_BYTES (1u << 20)    /* answers that end within this get a Content-Length       */

struct http;
struct exchange {
    struct http *http;
    struct request rq;
    char id[72];                      /* X-Request-Id                                                 */
    const char *method;               /* as sent; borrowed from libmicrohttpd                         */
    char *uri;                        /* raw, with the query string                                   */
    char *path;                       /* decoded, for logs and routing                                */
    bool http10, head, refused;       /* refused: an error answer is queued, the body is ignored      */
    struct buf body;
    char content_type[128];
    enum coding coding;
    struct encoder *encoder;          /* used by the running job only                                 */
    char etag[72];
    void *connection;                 /* struct MHD_Connection; NULL once completed                   */
    int fd;

    pthread_mutex_t lock;
    int refs;
    enum exchange_phase phase;
    bool suspended, job, ended, gone; /* gone: the client went away                                   */
    int error;                        /* 0 or why the answer broke                                    */
    struct buf pending;               /* bytes ready for the client from `head` on                    */
    size_t read_at;
    uint64_t sent;
    int status;
    struct exchange *prev, *next;     /* the table of unfinished requests; guarded by the table's lock */
    bool listed;
};

struct exchange *exchange_new(struct http *h, const char *uri);
void exchange_unref(struct exchange *x);
/* Hands the request to a worker: open(), and the first pieces. Caller holds x->lock. 0 or -EPIPE when stopping. */
int exchange_submit_open(struct exchange *x);
/* The next piece for the client: bytes copied, 0 when the connection was suspended, -1 end, -2 broken. */
ssize_t exchange_read(struct exchange *x, char *out, size_t max);
/* Stops the request's work and wakes its connection, wherever it is. Caller does not hold the lock. */
void exchange_cancel(struct exchange *x, int code, bool client_gone);

/* What the server does for exchanges. */
struct pool *http_pool(struct http *h);
void http_suspend(struct exchange *x);      /* caller holds x->lock, on libmicrohttpd's thread */
void http_resume(struct exchange *x);       /* caller holds x->lock; nothing if not suspended  */
void http_opened(struct exchange *x);       /* an open job has finished: admission             */

#endif
