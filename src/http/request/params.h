/* params.h - parameters of a request: what an endpoint declares, and what a client has given.
 *
 * An endpoint's descriptor lists its parameters (struct param_spec). Names and values from the URL,
 * a form or a JSON body are checked against that list and become rq->params (struct param), one for
 * each that is declared.
 * Used by all of http.
 * Threads: those of the request, one at a time.
 * Memory:  values are in the request's arena.
 */
#ifndef DFTRACERD_HTTP_REQUEST_PARAMS_H
#define DFTRACERD_HTTP_REQUEST_PARAMS_H

#include "dftracerd/base.h"

#include <stddef.h>

enum param_type {
    PARAM_TEXT,
    PARAM_BOOL,       /* true false 1 0 yes no on off; "": true -> .number */
    PARAM_UINT,       /* decimal                                -> .number */
    PARAM_DURATION,   /* "10ms"; bare microseconds              -> .ns */
    PARAM_INTERVAL,   /* "5s"; bare milliseconds                -> .ns */
    PARAM_TIME,       /* "1.5s"; bare microseconds, any sign    -> .ns */
    PARAM_TIME_RANGE, /* "a,b" decimal microseconds or with unit-> .ns, .ns_to */
    PARAM_CHOICE,     /* one of `choices`, separated by '|'     -> .text; .number: its position */
    PARAM_LIST,       /* comma-separated texts                  -> .items */
    PARAM_BYTES,      /* "4MiB"; bare bytes                     -> .number */
    PARAM_NUMBER,     /* a JSON number                          -> .real */
    PARAM_INT,        /* decimal, may be negative               -> .number, as int64_t */
    PARAM_JSON,       /* JSON; in a body any value              -> .text */
};
/* The type of the member of rq->options to which a value is written: see BIND. */
enum param_member {
    TO_NONE, /* not written; request_param() returns the value */
    TO_BOOL,
    TO_U32, /* or an enum */
    TO_U64,
    TO_NS, /* int64_t */
    TO_REAL,
    TO_CSTRING,
    TO_LIST
};
struct param_place {
    enum param_member member;
    unsigned short at, count_at; /* offset of the member; count_at: of a list's count */
};
struct param_spec {
    const char *name;
    enum param_type type;
    const char *help;
    bool repeatable;      /* may be given more than once; .items has all values */
    bool required;        /* must be given, unless the body is a tar */
    bool post;            /* only POST accepts it; `required` applies to POST only */
    const char *fallback; /* default, as text; NULL = not given */
    const char *choices;  /* PARAM_CHOICE */
    /* Constraints on the parameters that a client gives; a false flag or an empty list counts as
     * not given. Names are separated by '|'. */
    const char *needs;    /* one of these parameters must be given, too */
    const char *not_with; /* none of these may be given */
    unsigned formats;     /* formats that it may be combined with: FORMAT_BIT(); 0: all */
    double min, max;      /* of UINT, BYTES, NUMBER, both inclusive; max 0: unlimited */
    bool filled;          /* a list must have at least one item */
    bool distinct;        /* a list must not have an item twice: they become members of an object */
    struct param_place to;
    /* For /openapi.json, as JSON with ' for ": a value, and an object of other parameters that it
     * needs in addition to the required ones. Tests send it. */
    const char *example, *example_with;
};
/* A row of a table of parameters, which ends with {0}: PARAM("top_n", UINT, "maximum number of
 * rows", .fallback = "10", BIND(top_n)) */
#define PARAM(name_, type_, help_, ...) \
    { \
        .name = name_, .type = PARAM_##type_, .help = help_, ##__VA_ARGS__ \
    }
/* Binds a parameter to a member of OPTIONS, the type of rq->options: bool, a number, const char *;
 * for PARAM_CHOICE an enum whose values are in the order of `choices`, or a bool if there are two;
 * an int64_t is a time in ns. A uint32_t member gets UINT32_MAX if the value is larger. The member
 * of a parameter that is not set stays 0. */
#define BIND(field) \
    .to = {_Generic(((OPTIONS *)0)->field, \
           bool: TO_BOOL, \
           uint64_t: TO_U64, \
           int64_t: TO_NS, \
           double: TO_REAL, \
           const char *: TO_CSTRING, \
           default: TO_U32), \
           .at = offsetof(OPTIONS, field)}
/* Binds a list to two members: const char *const *items and size_t count. */
#define BIND_LIST(items, count) \
    .to = {TO_LIST, .at = offsetof(OPTIONS, items), .count_at = offsetof(OPTIONS, count)}
#define FORMAT_BIT(format) (1u << FORMAT_##format)
#define PARAM_ITEMS_MAX 10000 /* values of a repeatable parameter or a list; more are ERR_PARAM */
struct param {
    const struct param_spec *spec;
    bool given;       /* by the client */
    bool set;         /* given, or by default */
    struct text text; /* NUL-terminated */
    uint64_t number;
    int64_t ns, ns_to;
    double real;
    const char **items; /* if repeatable or PARAM_LIST */
    size_t count;
};

struct endpoint;
struct request;
/* Returns the parameters of an endpoint one after the other, then NULL. Zero-initialise. */
struct param_cursor {
    size_t group, at;
};
const struct param_spec *params_next(const struct endpoint *e, struct param_cursor *c);
/* `name` must be in the descriptor. */
const struct param *request_param(const struct request *rq, const char *name);
bool request_flag(const struct request *rq, const char *name);
uint64_t request_uint(const struct request *rq, const char *name);
const char *request_text(const struct request *rq, const char *name); /* NULL when not set */
uint64_t request_limit(const struct request *rq); /* `limit`; UINT64_MAX if it is not set */

/* Checks names and values against the descriptor. Values end with NUL and must live as long as the
 * request. Return 0, ERR_PARAM (rq->err.param) or -ENOMEM. */
int params_begin(struct request *rq);
int params_add(struct request *rq, struct text name, struct text value);
int params_finish(struct request *rq);
/* Sets the error "`name` why" and returns ERR_PARAM. */
int params_refuse(struct request *rq, const char *name, const char *why);
/* Checks constraints between parameters, and between parameters and the format. Call it once the
 * format is known. Returns 0 or ERR_PARAM. */
int params_check(struct request *rq);
/* Adds the parameters of "a=1&b=%20x", in which + is a space. */
int params_add_form(struct request *rq, struct text encoded);
/* Decodes percent-encoded text into the arena. Returns 0, -ENOMEM, or -EINVAL for an invalid escape
 * or a NUL. */
int params_decode(struct arena *arena, struct text encoded, bool plus, struct text *ret);
/* Appends a text that is equal for requests with the same meaning, for ETags and the cache. */
void params_normalised(const struct request *rq, struct buf *out);

/* ---- params_json.c --------------------------------------------------------------------------- */

struct json_t;
/* Parses a JSON array or object (*new*), with flags of jansson; params_parse_object accepts an
 * object only. Returns 0, -EINVAL with `why`, or -ENOMEM; *ret is NULL after an error. */
int params_parse_json(struct text text, size_t flags, struct json_t **ret, char *why, size_t size);
int params_parse_object(struct text text, struct json_t **ret, char *why, size_t size);
void params_free_json(struct json_t *root); /* NULL-safe */
/* Adds the members of a body, which must be a JSON object, as parameters. */
int params_add_json(struct request *rq, struct text body);
/* Adds members of a document as parameters that the client did not give; other members are ignored.
 */
int params_add_document(struct request *rq, const struct json_t *root);

#endif
