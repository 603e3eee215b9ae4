/* exchange.h - one request from its first line to its last byte, and who may touch it when.
 *
 * The libmicrohttpd thread creates it, checks it and suspends the connection; a worker of the pool
 * runs the endpoint's open() and then next() whenever there is room; the libmicrohttpd thread
 * copies out what is pending. No worker waits for a client: a job ends when the room is used up,
 * and the content reader submits the next one.
 *
 *   RECEIVING -> PARKED (wait=ready) or LOOKING -> JOINED or WORKING (open) -> READY -> STREAMING
 *   -> closed
 *
 * A parked request holds no snapshot; a short job judges, now and whenever the index has changed,
 * whether the files that it selects are ready, and then goes on to open(). One that looks does not
 * wait: its job finds out which files the viewer may see; queue, deadline and drain hold for it as
 * for one that is worked for. A stream whose next() said NEXT_WAIT is `waiting`: there is no job
 * until the tick finds a reason to go on.
 *
 * `lock` guards everything below it in the struct. References are held by libmicrohttpd (until the
 * request is completed), by a submitted job and, for a moment, by the tick. The last one frees. A
 * request is in the table of exchanges.h from before it is first suspended until it is completed.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_EXCHANGE_H
#define DFTRACERD_HTTP_EXCHANGE_EXCHANGE_H

#include "http/exchange/cache.h"
#include "http/exchange/encode.h"
#include "http/request/endpoint.h"

#include <pthread.h>

enum exchange_phase {
    EXCHANGE_RECEIVING,
    EXCHANGE_PARKED,
    EXCHANGE_LOOKING,
    EXCHANGE_JOINED, /* another request computes the same answer; counts as one that is opened */
    EXCHANGE_WORKING,
    EXCHANGE_READY,
    EXCHANGE_STREAMING
};

/* A job ends when it has made so much, and the next one is submitted when less than half of that is
 * pending. */
#define EXCHANGE_STEP_BYTES (256u << 10)
#define EXCHANGE_LONG_STEP_BYTES (512u << 10) /* for a client that has taken so much: */
#define EXCHANGE_LONG_BYTES (16u << 20)

struct http;
struct site;
struct exchange {
    struct http *http;          /* the server's own, for its files */
    struct site *site;          /* rq.http is its context */
    struct request rq;          /* rq.client: *owned*, a reference */
    char id[72];                /* X-Request-Id */
    const char *method;         /* as sent; borrowed from libmicrohttpd */
    char *uri;                  /* raw, with the query string; in the arena of rq, as path */
    const char *path;           /* decoded, for logs and routing */
    bool http10, head, refused; /* refused: an error answer is queued, the body is ignored */
    bool past, delivered;       /* answered past libmicrohttpd; all of it has gone */
    bool draining;              /* ... and its body, which is still coming, is dropped */
    unsigned own_status;        /* what libmicrohttpd has answered by itself, as far as known */
    size_t head_bytes;          /* of libmicrohttpd's memory that the request takes */
    const char *sent_uri;       /* where libmicrohttpd has it: only for its position */
    struct buf body;
    uint64_t body_bytes; /* as received, also what was not kept */
    int upload_error;    /* why rq.upload has not all of it; the reason is in rq.err */
    char content_type[128];
    enum coding coding;
    bool packed;             /* coded, but told as a file that is: /q/ID/x.gz */
    struct encoder *encoder; /* used by the running job only */
    char etag[72];
    const char *if_none_match; /* in the arena, or NULL */
    bool not_modified;         /* the client has this answer already */
    bool shared;               /* the answer is determined by `key` */
    struct cache_key key;
    struct cache_place place;
    struct cache_answer *whole; /* the answer, kept in the cache; then nothing is pending */
    struct cache_place *joined; /* are to be told it: READY, by libmicrohttpd's thread only */
    struct buf gathered;        /* what was sent so far, to be kept; used by the running job only */
    size_t gathered_bytes;      /* told to the cache */
    int64_t until_ns;           /* the client's own `timeout`, 0 = none */
    int body_refused;           /* status, where there was no memory for the body */
    void *connection;           /* struct MHD_Connection; NULL once completed */
    int fd;
    atomic_bool begun; /* a worker has begun to open() it */

    pthread_mutex_t lock;
    int refs;
    enum exchange_phase phase;
    bool suspended, job, ended;
    bool rested;           /* since the last step */
    bool waiting, waited;  /* for the index, now or ever: see NEXT_WAIT */
    int64_t wake_ns;       /* while waiting; 0 = when the index changes */
    int64_t stepped_ns;    /* the last step began */
    int64_t judged_ns;     /* so long took judging whether the index is ready for it */
    uint64_t seen_changes; /* exchanges.changes before the answer looked at the index last */
    bool gone;             /* the client went away */
    bool abandoned;        /* answered without waiting for the job of open() */
    bool unready;          /* ... while it was parked */
    int64_t ended_ns;      /* POST /cancel has ended it then, or 0 */
    int error;             /* 0 or why the answer broke */
    struct buf pending;    /* bytes ready for the client from `read_at` on */
    size_t read_at;
    struct buf queued; /* comes after what is pending; empty while there is a job */
    struct buf spare;  /* for the next step */
    size_t step_bytes; /* of the present step; set by its job */
    uint64_t sent;
    int status;
    /* the table of unfinished requests; guarded by the table's lock */
    struct exchange *prev, *next;
    bool listed;
};

struct exchange *exchange_new(struct http *h, const char *uri);
void exchange_unref(struct exchange *x);
/* Pins the snapshot that the answer is computed on. NULL: no memory for the part that its viewer
 * sees. */
void exchange_pin(struct exchange *x);
void exchange_unpin(struct exchange *x);
/* Makes the ETag of what is pinned, and says whether the client has that answer already. */
bool exchange_validate(struct exchange *x);
/* Starts the clock of the work to come: the daemon's limit and the client's own. */
void exchange_set_deadline(struct exchange *x);
/* Looks for the answer in the cache; it is whole then. */
bool exchange_find(struct exchange *x);
/* Judges a parked request again, if the index has changed. `gap_ns` as below. Caller does not hold
 * the lock. */
void exchange_rejudge(struct exchange *x, int64_t now_ns, int64_t gap_ns);
/* Those that joined get the answer, which is ready: by libmicrohttpd's thread, before the request's
 * own. */
void exchange_answer_joined(struct exchange *x);
/* The next piece for the client: bytes copied, 0 when the connection was suspended, -1 end, -2
 * broken. */
ssize_t exchange_read(struct exchange *x, char *out, size_t max);
/* Stops the request's work (unless others wait for it, too). If it has no answer yet, it is
 * answered with `code` at once, without waiting for the job of open(). Caller does not hold the
 * lock. */
void exchange_cancel(struct exchange *x, int code, bool client_gone);
/* The same, because somebody asked for it (POST /cancel). */
void exchange_end(struct exchange *x);
/* A client that does not take the last words of a request that was ended loses its connection. */
void exchange_cut_ended(struct exchange *x, int64_t now_ns);
/* It is being computed, or its client takes it. Caller does not hold the lock. */
bool exchange_is_moving(struct exchange *x, int64_t now_ns);
/* libmicrohttpd is done with it. Caller holds the lock. */
void exchange_completed(struct exchange *x);

/* Goes on with a stream that waits, if there is a reason. A change of the index is one only
 * `gap_ns` after the last step began. Caller does not hold the lock. */
void exchange_wake(struct exchange *x, int64_t now_ns, int64_t gap_ns);

/* Lets a stream whose client stands still give back memory; true when it began to. Caller does not
 * hold the lock. */
bool exchange_rest(struct exchange *x, int64_t now_ns);

#endif
