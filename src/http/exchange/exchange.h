/* exchange.h - one request from its first line to its last byte, and which thread may use it when.
 *
 * The libmicrohttpd thread creates it, checks it and suspends the connection; a worker of the pool
 * runs the endpoint's open() and then next() while there is space for output; the libmicrohttpd
 * thread copies out what is pending. No worker waits for a client: a job ends when its step is
 * full, and the content reader submits the next one.
 *
 *   RECEIVING -> PARKED (wait=ready) or FILTERING -> JOINED or WORKING (open) -> READY -> STREAMING
 *   -> completed; GONE from any but the first, when the client has disconnected
 *
 * A parked request holds no snapshot; a short job checks, now and whenever the index has changed,
 * whether the files that it selects are ready, and then calls open(). A request in FILTERING does
 * not wait for the index: its job finds out which files the viewer may see; queue limit, deadline
 * and drain apply to it as to a request in WORKING. A stream whose next() returned NEXT_WAIT is
 * OUTPUT_WAITING: it has no job until the tick finds a reason to resume it.
 *
 * Which thread may use what:
 *
 *   members             | until the first job | while a job runs | READY and later, without a job
 *   before `rq`, `in`   | libmicrohttpd's; set once, then read by all
 *   `rq` to `begun`     | libmicrohttpd's     | the job          | libmicrohttpd's
 *   `lock` to `sent`    | any thread, under `lock`
 *   `prev` to `read_ns` | any thread, under the lock of the table (exchanges.h)
 *   the rest            | see there
 *
 * The lock of the table is taken before `lock`; `lock` before those of the pool and the cache.
 * References are held by libmicrohttpd (until the request is completed), by a submitted job and,
 * for a moment, by the tick. The last one frees the exchange. A request is in the table from before
 * it is first suspended, or its cached answer is sent, until it is completed.
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
    EXCHANGE_FILTERING,
    EXCHANGE_JOINED, /* another request computes the same answer; counts as one that is opened */
    EXCHANGE_WORKING,
    EXCHANGE_READY,
    EXCHANGE_STREAMING,
    EXCHANGE_GONE
};

/* Whether next() has more bytes: now, when the index changes or a time has come (NEXT_WAIT), or
 * never. */
enum exchange_output { OUTPUT_MORE, OUTPUT_WAITING, OUTPUT_ENDED };

/* An error answer given before the request was complete; the rest of its body is ignored. */
enum refusal_state {
    REFUSAL_NONE,
    REFUSAL_QUEUED,  /* through libmicrohttpd */
    REFUSAL_SENT,    /* written to the socket, without libmicrohttpd; the connection is closed */
    REFUSAL_DRAINING /* likewise, but the rest of the body is read first */
};

/* A step of an answer ends at this size. The next one is submitted when less than half of that is
 * pending. */
#define EXCHANGE_STEP_BYTES (256u << 10)
#define EXCHANGE_LONG_STEP_BYTES (512u << 10) /* for a client that has read EXCHANGE_LONG_BYTES: */
#define EXCHANGE_LONG_BYTES (16u << 20)

struct http;
struct site;
/* The message as it arrives. */
struct exchange_message {
    const char *uri_at;        /* the URI in libmicrohttpd's buffer: only for its position */
    size_t head_bytes;         /* bytes of libmicrohttpd's memory that the request uses */
    bool http10, head;         /* HTTP/1.0; the method HEAD */
    const char *if_none_match; /* in the arena, or NULL */
    struct buf body;
    uint64_t body_bytes; /* received so far, including what was not kept */
    int body_refused;    /* status if there was no memory for the body */
    int upload_error;    /* error of rq.upload; its text is in rq.err */
    enum refusal_state refusal;
    bool delivered;      /* a refusal that was written to the socket is complete */
    unsigned own_status; /* of an answer that libmicrohttpd sends by itself, if known */
};

struct exchange {
    struct http *http;  /* the server, for the files of http/server */
    struct site *site;  /* rq.http is the site's context */
    char id[72];        /* X-Request-Id */
    const char *method; /* as sent; borrowed from libmicrohttpd */
    char *uri;          /* as sent, with the query string; in the arena of rq */
    const char *path;   /* decoded, for logs and routing */
    int fd;
    int64_t until_ns; /* deadline of the client's `timeout`, 0 = none */
    struct exchange_message in;

    struct request rq; /* rq.client: *owned*, a reference */
    enum coding coding;
    int coding_level;
    bool packed; /* sent as a compressed file, without Content-Encoding: /q/ID/x.gz */
    struct encoder *encoder;
    char etag[72];
    bool not_modified; /* the client already has this answer */
    bool shared;       /* the answer is determined by `key` */
    struct cache_key key;
    struct cache_place place;
    struct cache_answer *whole; /* the answer as kept in the cache; nothing is pending then */
    struct cache_place *joined; /* have to get `whole`: READY, libmicrohttpd's thread */
    struct buf copy;            /* sent so far, for the cache */
    size_t copy_bytes;          /* counted by cache_reserve */
    int status;
    atomic_bool begun; /* a worker has started to open() it */

    pthread_mutex_t lock;
    int refs;
    void *connection; /* struct MHD_Connection; NULL once completed */
    enum exchange_phase phase;
    enum exchange_phase aborted_in; /* answered in this phase without waiting for its job, or 0 */
    enum exchange_output output;
    int error;            /* of an ended output: 0, or the error that broke the answer */
    bool suspended;       /* the connection is; resumed by the next bytes */
    bool job;             /* a job is submitted or runs: one at a time */
    bool waited;          /* it has returned NEXT_WAIT: `until_ns` is its end, not its deadline */
    bool trimmed;         /* has given back memory since the last step */
    int64_t wake_ns;      /* while OUTPUT_WAITING; 0 = when the index changes */
    int64_t cancelled_ns; /* when POST /cancel ended it, or 0 */
    struct buf pending;   /* bytes ready for the client from `read_at` on */
    size_t read_at;
    struct buf queued; /* follows the pending bytes; empty while there is a job */
    struct buf spare;  /* for the next step */
    uint64_t sent;
    /* links of the table of unfinished requests; guarded by the table's lock */
    struct exchange *prev, *next;
    /* what exchange_is_active has seen: bytes that the client has read, and since when as many;
     * likewise */
    uint64_t read;
    int64_t read_ns;
    /* written by the running job without a lock; read under `lock`, when there is none */
    int64_t stepped_ns;    /* start of the last step */
    int64_t check_ns;      /* time taken to check whether the index is ready for it */
    uint64_t seen_changes; /* exchanges.changes before the answer last read the index */
    size_t step_bytes;     /* size of the present step */
};

struct exchange *exchange_new(struct http *h, const char *uri);
void exchange_unref(struct exchange *x);
/* Pins the snapshot that the answer is computed on: NULL if there is no memory for the part that
 * its viewer sees. */
void exchange_pin(struct exchange *x);
void exchange_unpin(struct exchange *x);
/* Makes the ETag of the pinned snapshot. Returns true if the client has that answer already. */
bool exchange_validate(struct exchange *x);
/* Starts the deadlines of the work that begins: the daemon's limit and the client's own. */
void exchange_set_deadline(struct exchange *x);
/* Looks the answer up in the cache. Returns true if it is there; `whole` is set then. */
bool exchange_find(struct exchange *x);
/* Checks a parked request again if the index has changed; if it is not ready and indexing has
 * stopped, it is answered with that error. `gap_ns` as in exchange_wake. Caller does not hold the
 * lock. */
void exchange_recheck(struct exchange *x, int64_t now_ns, int64_t gap_ns);
/* Passes the answer to the requests that joined, and resumes their connections. Called by
 * libmicrohttpd's thread, before the request's own answer. */
void exchange_answer_joined(struct exchange *x);
/* Copies the next bytes for the client. Returns their number, 0 if the connection was suspended, -1
 * at the end, -2 if the answer broke. */
ssize_t exchange_read(struct exchange *x, char *out, size_t max);
/* Stops the request's work, unless other requests wait for it, too. If it has no answer yet, it is
 * answered with `code` at once, without waiting for the job of open(). Caller does not hold the
 * lock. */
void exchange_cancel(struct exchange *x, int code, bool client_gone);
/* Does the same for POST /cancel. */
void exchange_cancel_by_request(struct exchange *x);
/* Closes the connection of a client that does not read the end of a cancelled answer. */
void exchange_close_cancelled(struct exchange *x, int64_t now_ns);
/* True while the answer is being computed or read by its client, which becomes known by several
 * calls. Caller holds the table's lock only. */
bool exchange_is_active(struct exchange *x, int64_t now_ns);
/* Called when libmicrohttpd is done with the request. Caller holds the lock. */
void exchange_completed(struct exchange *x);

/* Resumes a stream that waits, if there is a reason. A change of the index is one no earlier than
 * `gap_ns` after the last step began. Caller does not hold the lock. */
void exchange_wake(struct exchange *x, int64_t now_ns, int64_t gap_ns);

/* Lets a stream whose client reads nothing give back memory; returns true if it starts to. Caller
 * does not hold the lock. */
bool exchange_trim(struct exchange *x, int64_t now_ns);

#endif
