/* endpoint.h - what an endpoint is: one file, one const descriptor, three functions. The descriptor
 * drives routing, the 405 `Allow` list, parameter checking, format negotiation and /openapi.json.
 *
 * open() does the heavy work on a request worker and may fail before the first byte; next() appends
 * the next piece of the answer whenever the response has space for it; close() frees. No function
 * here ever waits for a client.
 * Used by all of http.
 * Threads: those of the request, one at a time; an immediate one runs on libmicrohttpd's thread.
 * Memory:  in the request's arena, or charged to its budget.
 */
#ifndef DFTRACERD_HTTP_REQUEST_ENDPOINT_H
#define DFTRACERD_HTTP_REQUEST_ENDPOINT_H

#include "http/request/context.h"
#include "http/request/params.h"

/* Returned by next(): nothing more for now (a stream that follows the index). What was appended is
 * sent to the client at once, no worker is held, and next() is called again when the index has
 * changed since this call began, or rq->wait_ms have passed. Changes are passed on at most every
 * 100 ms, plus 5 ms for each unfinished request, so that many followers cost little; a call without
 * any change is possible. The daemon's time limit counts work, so it restarts with each call. The
 * client's own `timeout` ends a stream that has waited properly: next() is called with rq->ending,
 * writes its end and returns ERR_END. When the daemon stops, the stream is cut like any other (an
 * error line in ndjson, no proper end), because there would have been more. The answer belongs to
 * no generation: with `follow` set there is neither an ETag nor a 304. */
#define NEXT_WAIT 1

/* Returned by next(): it has worked, and there is nothing to send yet (new traces, which may take
 * hours). Other requests then get their turn on the workers, and the daemon's time limit restarts
 * each time, so it limits the time without progress. The client's own `timeout` does not restart.
 */
#define NEXT_TURN 2

enum { METHOD_GET = 1, METHOD_HEAD = 2, METHOD_POST = 4, METHOD_OPTIONS = 8, METHOD_DELETE = 16 };

/* The members `params` and `formats` of a descriptor:
 * PARAMS(own_params, answer_params), FORMATS(FORMAT_JSON, FORMAT_TEXT) */
#define PARAMS(...) \
    .params = (const struct param_spec *const[]) \
    { \
        __VA_ARGS__, NULL \
    }
#define FORMATS(...) \
    .formats = (const enum format[]){__VA_ARGS__}, \
    .format_count = sizeof((const enum format[]){__VA_ARGS__}) / sizeof(enum format)

struct request;
struct endpoint {
    const char *path;    /* "/stats" */
    const char *summary; /* one line of help */
    unsigned methods;
    /* NULL-terminated list of groups, or NULL; a group ends with name NULL */
    const struct param_spec *const *params;
    const enum format *formats; /* the first is the default; NULL = no choice */
    size_t format_count;
    /* the JSON answer, and a line of the answer as ndjson; NULL: see http/openapi/answers.c */
    const struct object_type *answer, *line;
    const char *own_format; /* a further representation of this endpoint, in format JSON; or NULL */
    /* cheap and never blocks: answered on libmicrohttpd's thread, without admission (but by a
     * worker if the endpoint has `follow` and it is set) */
    bool immediate;
    bool public; /* served to peers without access (liveness) */
    /* answers depend on more than the index and the request: no ETag, not cached */
    bool apart;
    /* POST accepts a tar as its body: rq->upload; parameters are in the URL then */
    bool takes_tar;
    bool changes;        /* POST changes something, so it requires Content-Type: application/json */
    bool admin;          /* ... and is for admins only */
    size_t options_size; /* of rq->options: zeroed, then filled from parameters with BIND */
    size_t state_size;   /* of rq->state, zeroed before open() */
    bool queries;        /* rq->chosen and rq->query exist from open() to close() */
    int (*open)(struct request *rq);
    /* 0 more, ERR_END done, NEXT_WAIT, NEXT_TURN, other: failed (rq->err) */
    int (*next)(struct request *rq, struct buf *out);
    void (*close)(struct request *rq); /* called after open(), even if that failed */
    /* may be NULL. Called between two next(), when the client has read nothing for seconds: frees
     * memory that can be filled again later */
    void (*trim)(struct request *rq);
};

struct client;
struct spool;
struct stored_query;
struct viewer;
/* One request as an endpoint sees it. */
struct request {
    const struct http_context *http;
    const struct endpoint *endpoint;
    struct param *params; /* in the order of the descriptor */
    size_t param_count;
    enum format format;
    bool format_given; /* by `format`, or by an Accept that names it */
    bool own_format;   /* the endpoint's own; `format` is JSON */
    bool pretty;
    bool post;
    struct spool *upload;  /* the body if it is application/x-tar; else NULL */
    bool admin;            /* it comes from the daemon's own user, or with the admin token */
    struct viewer *viewer; /* the request sees only what this viewer may read; NULL: everything */
    struct client *client; /* the client that sent it */
    const struct stored_query *stored; /* the query that the path names, or NULL */
    struct budget budget;
    struct err err;              /* why open or next failed */
    struct snapshot *snapshot;   /* pinned before open */
    struct query_remote *remote; /* other ranks take part in its scans; NULL: none do */
    struct arena arena;          /* freed with the request */
    int64_t started_ns;
    void *options;           /* filled from the parameters; see BIND */
    struct selection chosen; /* if the endpoint `queries`: selected by the parameters ... */
    struct query *query;     /* ... and its query */
    /* the answer */
    void *state;              /* the endpoint's own; NULL before open() */
    int status;               /* default 200 */
    const char *content_type; /* NULL = that of the format */
    /* an immediate answer that consists of this text alone and never changes: it has an ETag and
     * may be compressed */
    struct text fixed;
    const char *policy; /* Content-Security-Policy of an HTML answer; NULL = no scripts */
    int64_t wait_ms;    /* set before each NEXT_WAIT; 0 = until the index changes */
    bool ending;        /* in next(): do not wait any more, see NEXT_WAIT */
    uint64_t min_bytes; /* minimum size of the answer, if known after open() */
    bool incomplete;    /* X-Dftracer-Complete: false */
};

#endif
