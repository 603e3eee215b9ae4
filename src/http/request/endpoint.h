/* endpoint.h - what an endpoint is: one file, one const descriptor, three functions.
 *
 * The descriptor drives routing, the 405 `Allow` list, parameter checking, format negotiation and
 * (later) /openapi.json. open() does the heavy work on a request worker and may fail before the
 * first byte; next() appends the next piece of the answer whenever the response has room; close()
 * frees. No function here ever waits for a client.
 */
#ifndef DFTRACERD_HTTP_REQUEST_ENDPOINT_H
#define DFTRACERD_HTTP_REQUEST_ENDPOINT_H

#include "dftracerd/http.h"

enum param_type {
    PARAM_TEXT,
    PARAM_BOOL,       /* true false 1 0 yes no                  -> .number */
    PARAM_UINT,       /* decimal                                -> .number */
    PARAM_DURATION,   /* "10ms"; bare microseconds              -> .ns */
    PARAM_TIME_RANGE, /* "a,b" decimal microseconds or with unit-> .ns, .ns_to */
    PARAM_CHOICE,     /* one of `choices`, separated by '|'     -> .text */
    PARAM_LIST,       /* comma-separated texts                  -> .items */
    PARAM_BYTES,      /* "4MiB"; bare bytes                     -> .number */
    PARAM_NUMBER,     /* a JSON number                          -> .real */
    PARAM_INT,        /* decimal, may be negative               -> .number, as int64_t */
    PARAM_JSON,       /* JSON; in a body any value              -> .text */
};
struct param_spec {
    const char *name;
    enum param_type type;
    bool repeatable;      /* may be given more than once: .items holds all */
    const char *fallback; /* default, as text; NULL = not given */
    const char *choices;  /* PARAM_CHOICE */
    const char *help;
    bool required; /* refused where it is missing, by open(); told to clients by /openapi.json */
};
#define PARAM_ITEMS_MAX 10000 /* values of a repeatable parameter or a list; more is ERR_PARAM */
struct param {
    const struct param_spec *spec;
    bool given;       /* by the client */
    bool set;         /* given, or by default */
    struct text text; /* NUL-terminated, too */
    uint64_t number;
    int64_t ns, ns_to;
    double real;
    const char **items; /* repeatable and PARAM_LIST */
    size_t count;
};

/* Returned by next(): nothing more for now (a stream that follows the index). What was appended
 * goes to the client at once, no worker is held, and next() is called again when the index has
 * changed since this call began, or rq->wait_ms have passed. Changes are told at most every 100 ms,
 * and 5 ms more for each unfinished request, so that many followers cost little; a call without
 * news is possible. The daemon's limit of time is one of work: it begins anew with each call. The
 * client's own `timeout` ends a stream that has waited properly: next() is called with rq->ending,
 * writes its last words and returns ERR_END. When the daemon stops, the stream is cut as any other
 * (an error line in ndjson, no proper end): there would have been more. Such an answer belongs to
 * no generation: with `follow` set there is neither an ETag nor a 304. */
#define NEXT_WAIT 1

/* Returned by next(): it has worked, and there is nothing to send yet (new traces, which may take
 * hours). Others get their turn on the workers now and then, and the daemon's limit of time begins
 * anew each time: it is one of time without progress. The client's own `timeout` stays what it is.
 */
#define NEXT_TURN 2

enum { METHOD_GET = 1, METHOD_HEAD = 2, METHOD_POST = 4, METHOD_OPTIONS = 8, METHOD_DELETE = 16 };

struct request;
struct endpoint {
    const char *path;    /* "/stats" */
    const char *summary; /* one line of help */
    unsigned methods;
    /* NULL-terminated list of groups; a group ends with name NULL */
    const struct param_spec *const *params;
    const enum format *formats; /* first is the default; NULL = no choice */
    size_t format_count;
    const char *own_format; /* a representation of this endpoint alone, told as JSON; or NULL */
    /* cheap and never blocks: answered on libmicrohttpd's thread, without admission
     * (but by a worker where `follow` is a parameter and set) */
    bool immediate;
    bool public; /* served to peers without access (liveness) */
    /* answers depend on more than the index and the request: no ETag, nothing is kept */
    bool apart;
    /* POST may have a tar as its body: rq->upload; parameters are in the URL then */
    bool takes_tar;
    bool changes; /* POST changes something: only with Content-Type: application/json */
    bool admin;   /* ... and is for admins only */
    int (*open)(struct request *rq);
    /* 0 more, ERR_END done, NEXT_WAIT, NEXT_TURN, other: failed (rq->err) */
    int (*next)(struct request *rq, struct buf *out);
    void (*close)(struct request *rq); /* NULL-safe towards a failed open */
    /* may be NULL. Between two next(), once the client has stood still for
     * seconds: give back memory that can be had again */
    void (*rest)(struct request *rq);
};

struct metrics;
struct cache;
struct disk_budget;
struct spool;
struct stored;
struct stored_query;
struct viewer;
struct client;
struct http;
/* What the server knows, for all endpoints. */
struct http_context {
    /* of a further site only index, roots, looked, output_dir and texts */
    const struct http_options *options;
    unsigned site; /* number of the site: see http_add_site */
    struct query_env env;
    int64_t started_ns;
    int64_t started_real_ns;    /* by the clock as it was then */
    struct metrics *metrics;    /* counters of requests; NULL in unit tests */
    struct cache *cache;        /* of whole answers; NULL in unit tests */
    struct disk_budget *spools; /* of all files in the making */
    struct stored *stored;      /* questions with a path of their own; NULL in unit tests */
    struct http *server;        /* NULL in unit tests */
    atomic_bool stopping;       /* what was begun comes to its end, nothing new begins */
};

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
    struct spool *upload;  /* the body, where it is application/x-tar; else NULL */
    bool admin;            /* it comes from the daemon's own user, or with the admin token */
    struct viewer *viewer; /* sees only what it may read; NULL: everything */
    struct client *client; /* who asks */
    const struct stored_query *stored; /* that the path names, or NULL */
    struct budget budget;
    struct err err;            /* why open or next failed */
    struct snapshot *snapshot; /* pinned before open */
    struct arena arena;        /* lives as long as the request */
    int64_t started_ns;
    /* answers */
    void *state;              /* the endpoint's own */
    int status;               /* default 200 */
    const char *content_type; /* NULL = that of the format */
    /* an immediate answer that is all of this, as long as the program is the same: it has
     * an ETag and may be packed */
    struct text fixed;
    const char *policy;   /* Content-Security-Policy of an html answer; NULL = no scripts */
    int64_t wait_ms;      /* set before each NEXT_WAIT; 0 = until the index changes */
    bool ending;          /* in next(): no more waiting, see NEXT_WAIT */
    uint64_t least_bytes; /* that the answer has, as far as the endpoint knows when it is open */
    int incomplete;       /* 1: X-Dftracer-Complete: false */
};
/* must be in the descriptor */
const struct param *request_param(const struct request *rq, const char *name);
bool request_flag(const struct request *rq, const char *name);
uint64_t request_uint(const struct request *rq, const char *name);
const char *request_text(const struct request *rq, const char *name); /* NULL when not set */
/* In next(): rq->snapshot becomes the newest one; true when that is another generation. What
 * borrows from the old one must be closed before (a query has a reference of its own). A stream
 * that follows must not keep an old snapshot while it
 * waits: its chunks cannot be deleted. Without memory the old one stays. */
bool request_repin(struct request *rq);
/* The newest one, as far as the request sees it: *new*, or NULL without memory. */
struct snapshot *request_snapshot(const struct request *rq);

/* ---- params.c -------------------------------------------------------------------------------- */
/* Checks name/value pairs against the descriptor; a value ends with NUL and lives as long as the
 * request. 0, ERR_PARAM (rq->err.param), -ENOMEM. */
int params_begin(struct request *rq);
int params_add(struct request *rq, struct text name, struct text value);
int params_finish(struct request *rq);
/* "a=1&b=%20x" with + as blank. */
int params_add_form(struct request *rq, struct text encoded);
int params_add_json(struct request *rq, struct text body);
/* What a document says of parameters that the client did not give; members that are no parameters
 * mean nothing. */
struct json_t;
int params_add_document(struct request *rq, const struct json_t *root);
/* A JSON object, *new*. -EINVAL with `why`, -ENOMEM. */
int params_load_json(struct text text, struct json_t **ret, char *why, size_t size);
void params_free_json(struct json_t *root);
/* Percent-decoding; -EINVAL on a bad escape or NUL. Result in the arena. */
int params_decode(struct arena *arena, struct text encoded, bool plus, struct text *ret);
/* Text that is equal for requests that mean the same: for ETags and caches. */
void params_normalised(const struct request *rq, struct buf *out);

/* ---- router.c -------------------------------------------------------------------------------- */
/* {id} in the path of an endpoint stands for any part */
const struct endpoint *router_find(struct text path);
const struct endpoint *const *router_table(void); /* NULL-terminated */
void router_allow(const struct endpoint *e, char *out, size_t size);
/* what to tell about a path without an endpoint */
void router_missing(const char *path, char *out, size_t size);

/* ---- selection.c: the parameters that all queries share -------------------------------------- */
/* dir, file, recursive, query, preset ... with these defaults; `prefix` before each name. */
#define SELECTION_PARAMS(prefix, recursive, time, phase) \
    { \
        prefix "dir", PARAM_TEXT, \
        true,         NULL, \
        NULL,         "directory whose trace files are selected; repeatable; default all"}, \
        {prefix "file", PARAM_TEXT, true, NULL, NULL, "trace file or glob pattern; repeatable"}, \
        {prefix "recursive", PARAM_BOOL, false, recursive, NULL, "include subdirectories"}, \
        {prefix "query", PARAM_TEXT, \
         false,          NULL, \
         NULL,           "filter expression, for example: cat == \"POSIX\" and dur > 1ms"}, \
        {prefix "preset", \
         PARAM_CHOICE, \
         false, \
         NULL, \
         "io|compute|dlio", \
         "predefined filter, ANDed with query"}, \
        {prefix "time_range", \
         PARAM_TIME_RANGE, \
         false, \
         NULL, \
         NULL, \
         "from,to: select events that start in this window (microseconds)"}, \
        {prefix "time", \
         PARAM_CHOICE, \
         false, \
         time, \
         "start|overlap", \
         "start: select events that start in time_range; overlap: select events that overlap it"}, \
        {prefix "min_duration", PARAM_DURATION, false, NULL, NULL, "minimum duration, inclusive"}, \
        {prefix "max_duration", PARAM_DURATION, false, NULL, NULL, "maximum duration, inclusive"}, \
        {prefix "phase", \
         PARAM_CHOICE, \
         false, \
         phase, \
         "events|counters|aggregated|metadata|data|any", \
         "kinds of objects to select; data: all but metadata"}, \
        {prefix "within", \
         PARAM_TEXT, \
         false, \
         NULL, \
         NULL, \
         "filter for other events: select only objects that overlap one of them in time"}, \
    { \
        prefix "within_scope", PARAM_CHOICE, false, NULL, "process|thread|host|all", \
            "with within: where the other event must be: in the same process (default), thread " \
            "or host, " \
            "or anywhere (all)" \
    }
#define CLIP_PARAM(prefix) \
    { \
        prefix "clip", PARAM_BOOL, false, NULL, NULL, \
            "with within: count only the overlapping parts of durations" \
    }
extern const struct param_spec selection_params[];        /* dir file recursive query preset ... */
extern const struct param_spec selection_events_params[]; /* the same, phase=events unless given */
extern const struct param_spec clip_params[];             /* clip, where durations are told */
extern const struct param_spec answer_params[];           /* format pretty wait timeout */
extern const struct param_spec page_params[];             /* limit offset */
/* dir, file, recursive, as far as the endpoint has them. Borrowed from the request. */
void selection_read_files(struct request *rq, struct selection *s);
int selection_read(struct request *rq, struct selection *ret);
/* Changes what parameters with this prefix say. */
int selection_change(struct request *rq, const char *prefix, struct selection *s);
/* Opens the query of a selection and notes completeness in the answer. */
int selection_open(struct request *rq, const struct selection *s, struct query **ret);

extern const struct endpoint endpoint_healthz, endpoint_readyz, endpoint_info, endpoint_stats,
    endpoint_view, endpoint_page;
extern const struct endpoint endpoint_aggregate, endpoint_event_count, endpoint_schema,
    endpoint_read, endpoint_metrics, endpoint_openapi, endpoint_index, endpoint_compare,
    endpoint_store, endpoint_stored, endpoint_open, endpoint_call_tree, endpoint_processes,
    endpoint_merge, endpoint_split, endpoint_pgzip, endpoint_organize, endpoint_reconstruct,
    endpoint_timeline, endpoint_histogram, endpoint_event, endpoint_find, endpoint_suggest,
    endpoint_progress, endpoint_cancel, endpoint_requests, endpoint_tar, endpoint_dlio_config;

#endif
