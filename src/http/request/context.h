/* context.h - the state of the server that requests of a site may use: written by http/server
 * before the first request, read by all modules below it. Fields that change later are atomic, or
 * have a lock of their own. */
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

/* What the server reports about itself in /metrics. */
struct http_facts {
    atomic_uint connections;  /* open connections */
    atomic_llong tls_expires; /* expiry of the certificate in use: Unix time, seconds; -1: none */
};

struct http_context {
    /* of a further site, only index, roots, scanned_since, output_dir and texts are its own */
    const struct http_options *options;
    unsigned site;                           /* number of the site: see http_add_site */
    const struct endpoint *const *endpoints; /* NULL-terminated */
    struct query_env env;
    int64_t started_ns;
    int64_t started_real_ns;     /* wall clock time of the start */
    struct metrics *metrics;     /* counters of requests; NULL in unit tests */
    struct cache *cache;         /* response cache; NULL in unit tests */
    struct disk_budget *spools;  /* of all temporary files */
    struct verdicts *verdicts;   /* with --enforce-file-permissions: what users may read */
    struct stored *stored;       /* stored queries; NULL in unit tests */
    struct exchanges *exchanges; /* unfinished requests of all sites */
    const struct sites *sites;   /* NULL in unit tests, as is... */
    const struct http_facts *facts;
    atomic_bool stopping; /* unfinished requests are completed, no new ones begin */
};

#endif
