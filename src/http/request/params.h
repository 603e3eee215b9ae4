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

#include <stddef.h>

enum param_type {
    PARAM_TEXT,
    PARAM_BOOL,       /* true false 1 0 yes no                  -> .number */
    PARAM_UINT,       /* decimal                                -> .number */
    PARAM_DURATION,   /* "10ms"; bare microseconds              -> .ns */
    PARAM_INTERVAL,   /* "5s"; bare milliseconds                -> .ns */
    PARAM_TIME,       /* "1.5s"; bare microseconds, any sign    -> .ns */
    PARAM_TIME_RANGE, /* "a,b" decimal microseconds or with unit-> .ns, .ns_to */
    PARAM_CHOICE,     /* one of `choices`, separated by '|'     -> .text */
    PARAM_LIST,       /* comma-separated texts                  -> .items */
    PARAM_BYTES,      /* "4MiB"; bare bytes                     -> .number */
    PARAM_NUMBER,     /* a JSON number                          -> .real */
    PARAM_INT,        /* decimal, may be negative               -> .number, as int64_t */
    PARAM_JSON,       /* JSON; in a body any value              -> .text */
};
/* Where a value goes in rq->options, and of which type the member there is: see BIND. */
enum param_member {
    TO_NONE, /* nowhere; request_param() finds the value */
    TO_BOOL,
    TO_U32, /* or an enum */
    TO_U64,
    TO_I64,
    TO_REAL,
    TO_CSTRING,
    TO_LIST
};
struct param_place {
    enum param_member member;
    unsigned short at, count_at; /* count_at: of a list */
};
struct param_spec {
    const char *name;
    enum param_type type;
    const char *help;
    bool repeatable;      /* may be given more than once: .items holds all */
    bool required;        /* must be given, unless the body is a tar */
    bool post;            /* GET refuses it; `required` is so of POST */
    const char *fallback; /* default, as text; NULL = not given */
    const char *choices;  /* PARAM_CHOICE */
    /* Constraints on what a client gives; a flag that is false, or an empty list, counts as not
     * given. Names are separated by '|'. */
    const char *needs;    /* one of these parameters must be given, too */
    const char *not_with; /* none of these may be given */
    unsigned formats;     /* the formats that it may be given with: FORMAT_BIT(); 0: all */
    double min, max;      /* of UINT, BYTES, NUMBER, both inclusive; max 0: unlimited */
    bool filled;          /* a list must have an item */
    struct param_place to;
    /* For /openapi.json, as JSON with ' for ": a value, and an object of other parameters that it
     * needs besides the required ones. Tests send it. */
    const char *example, *example_with;
};
/* A row of a table of parameters, which ends with {0}:
 * PARAM("top_n", UINT, "maximum number of rows", .fallback = "10", BIND(top_n)) */
#define PARAM(name_, type_, help_, ...) \
    { \
        .name = name_, .type = PARAM_##type_, .help = help_, ##__VA_ARGS__ \
    }
/* To a member of OPTIONS, the type of rq->options: bool, a number, const char *; of PARAM_CHOICE an
 * enum whose values are in the order of `choices`, or for two a bool. What is larger than a
 * uint32_t becomes UINT32_MAX. A member of a parameter that is not set stays 0. */
#define BIND(field) \
    .to = {_Generic(((OPTIONS *)0)->field, \
           bool: TO_BOOL, \
           uint64_t: TO_U64, \
           int64_t: TO_I64, \
           double: TO_REAL, \
           const char *: TO_CSTRING, \
           default: TO_U32), \
           .at = offsetof(OPTIONS, field)}
/* A list: const char *const *items and size_t count. */
#define BIND_LIST(items, count) \
    .to = {TO_LIST, .at = offsetof(OPTIONS, items), .count_at = offsetof(OPTIONS, count)}
#define FORMAT_BIT(format) (1u << FORMAT_##format)
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
uint64_t request_limit(const struct request *rq); /* `limit`; UINT64_MAX where it is not set */

/* Checks name/value pairs against the descriptor; a value ends with NUL and lives as long as the
 * request. 0, ERR_PARAM (rq->err.param), -ENOMEM. */
int params_begin(struct request *rq);
int params_add(struct request *rq, struct text name, struct text value);
int params_finish(struct request *rq);
/* "`name` why": ERR_PARAM. */
int params_refuse(struct request *rq, const char *name, const char *why);
/* Once the format is known: constraints that concern several parameters or formats. ERR_PARAM. */
int params_check(struct request *rq);
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
