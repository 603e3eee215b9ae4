/* context.h - fills in the context of requests, for a server and for requests without one.
 * Threads: before the first request. */
#ifndef DFTRACERD_HTTP_SERVER_CONTEXT_H
#define DFTRACERD_HTTP_SERVER_CONTEXT_H

#include "http/request/context.h"

/* Replaces limits that are 0 by their defaults. */
void context_fill_limits(struct http_limits *l, unsigned workers);
/* Returns a context with options, endpoints and index, which every context has. `options` and
 * `pool` are borrowed; env.covered is *new*, or NULL if there is no memory. */
struct http_context context_of(const struct http_options *options, struct pool *pool);

#endif
