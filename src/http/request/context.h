/* context.h - what the server knows, for all requests of a site: written by http/server before the
 * first request, read by all below it. What changes later is atomic, or has a lock of its own.
 */
#ifndef DFTRACERD_HTTP_REQUEST_CONTEXT_H
#define DFTRACERD_HTTP_REQUEST_CONTEXT_H

#include "dftracerd/http.h"

struct cache;
struct disk_budget;
struct endpoint;
struct exchanges;
struct metrics;
struct sites;
struct stored;
struct verdicts;

/* What the server reports of itself in /metrics. */
struct http_facts {
    atomic_uint connections; /* open now */
    atomic_llong tls_until; /* the certificate in use ends: Unix time, seconds; -1: there is none */
};

struct http_context {
    /* of a further site only index, roots, looked, output_dir and texts */
    const struct http_options *options;
    unsigned site;                           /* number of the site: see http_add_site */
    const struct endpoint *const *endpoints; /* all there are; NULL-terminated */
    struct query_env env;
    int64_t started_ns;
    int64_t started_real_ns;     /* by the clock as it was then */
    struct metrics *metrics;     /* counters of requests; NULL in unit tests */
    struct cache *cache;         /* of whole answers; NULL in unit tests */
    struct disk_budget *spools;  /* of all files in the making */
    struct verdicts *verdicts;   /* with --enforce-file-permissions: what users may read */
    struct stored *stored;       /* questions with a path of their own; NULL in unit tests */
    struct exchanges *exchanges; /* requests that are being answered, of all sites */
    const struct sites *sites;   /* NULL in unit tests, as is... */
    const struct http_facts *facts;
    atomic_bool stopping; /* what was begun comes to its end, nothing new begins */
};

#endif
