/* params.h - parameters of a request: what an endpoint declares, and what a client has given.
 *
 * An endpoint's descriptor lists its parameters (struct param_spec). Names and values from the URL,
 * a form or a JSON body are checked against that list and become rq->params (struct param), one for
 * each that is declared. Used by all of http.
 * Threads: those of the request, one at a time.
 * Memory:  values are in the request's arena.
 */
#ifndef DFTRACERD_HTTP_REQUEST_PARAMS_H
#define DFTRACERD_HTTP_REQUEST_PARAMS_H

#include "dftracerd/base.h"

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
    /* For /openapi.json, as JSON with ' for ": a value, and an object of other parameters that it
     * needs besides the required ones. Tests send it. */
    const char *example, *example_with;
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

struct request;
/* must be in the descriptor */
const struct param *request_param(const struct request *rq, const char *name);
bool request_flag(const struct request *rq, const char *name);
uint64_t request_uint(const struct request *rq, const char *name);
const char *request_text(const struct request *rq, const char *name); /* NULL when not set */

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
/* Any JSON value, *new*, with flags of jansson; or an object. -EINVAL with `why`, -ENOMEM. */
int params_parse_json(struct text text, size_t flags, struct json_t **ret, char *why, size_t size);
int params_load_json(struct text text, struct json_t **ret, char *why, size_t size);
void params_free_json(struct json_t *root);
/* Percent-decoding; -EINVAL on a bad escape or NUL. Result in the arena. */
int params_decode(struct arena *arena, struct text encoded, bool plus, struct text *ret);
/* Text that is equal for requests that mean the same: for ETags and caches. */
void params_normalised(const struct request *rq, struct buf *out);

#endif
