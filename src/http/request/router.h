/* router.h - from a path to its endpoint. The table of all endpoints is the server's
 * (http_context.endpoints): an array of descriptors, NULL-terminated.
 * Threads: any.
 */
#ifndef DFTRACERD_HTTP_REQUEST_ROUTER_H
#define DFTRACERD_HTTP_REQUEST_ROUTER_H

#include "http/request/endpoint.h"

/* {id} in the path of an endpoint matches any part. NULL: there is none. */
const struct endpoint *router_find(const struct endpoint *const *table, struct text path);
void router_allow(const struct endpoint *e, char *out, size_t size);
/* What to say of a path without an endpoint. */
void router_missing(const char *path, char *out, size_t size);

#endif
