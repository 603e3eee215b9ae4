/* context.h - what requests know of the process, whether a server has received them or not.
 * Threads: before the first request. */
#ifndef DFTRACERD_HTTP_SERVER_CONTEXT_H
#define DFTRACERD_HTTP_SERVER_CONTEXT_H

#include "http/request/context.h"

/* Limits that are 0 get their defaults. */
void context_fill_limits(struct http_limits *l, unsigned workers);
/* Options, endpoints and index: what every context has. `options` and `pool` are borrowed;
 * env.covered is *new*, or NULL without memory. */
struct http_context context_of(const struct http_options *options, struct pool *pool);

#endif
