/* routes.h - the table of all endpoints, for the server and for tests. */
#ifndef DFTRACERD_HTTP_SERVER_ROUTES_H
#define DFTRACERD_HTTP_SERVER_ROUTES_H

#include "http/request/endpoint.h"

extern const struct endpoint *const routes[]; /* NULL-terminated */

#endif
