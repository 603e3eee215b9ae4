/* router.h - finds the endpoint of a path. The table of all endpoints is in http_context.endpoints:
 * an array of descriptors, NULL-terminated.
 * Threads: any.
 */
#ifndef DFTRACERD_HTTP_REQUEST_ROUTER_H
#define DFTRACERD_HTTP_REQUEST_ROUTER_H

#include "http/request/endpoint.h"

/* Returns the endpoint of a path, or NULL. {id} in an endpoint's path matches any part. */
const struct endpoint *router_find(const struct endpoint *const *table, struct text path);
void router_allow(const struct endpoint *e, char *out, size_t size);
/* Writes the error text for a path without an endpoint. */
void router_missing(const char *path, char *out, size_t size);

#endif
