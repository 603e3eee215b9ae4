/* read.h - reads the parameters and the format of a request.
 * Used by the server, and by requests without one.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_REQUEST_READ_H
#define DFTRACERD_HTTP_REQUEST_READ_H

#include "http/request/endpoint.h"

/* Adds the parameters of the URL: `search` is the text after its `?`, or NULL. A body may add
 * others (params.h). Returns as params_add. */
int request_begin(struct request *rq, const char *search);
/* Call it when all parameters are added: sets defaults, format and `pretty`. `accept` and errors as
 * for negotiate_format. */
int request_finish(struct request *rq, const char *accept);

#endif
