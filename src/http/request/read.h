/* read.h - the parameters and the format of a request, from its URL and what else came with it.
 * Used by the server, and by requests without one.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_REQUEST_READ_H
#define DFTRACERD_HTTP_REQUEST_READ_H

#include "http/request/endpoint.h"

/* Parameters of the URL: `search` is what follows its `?`, or NULL. A body may add others
 * (params.h). As params_add. */
int request_begin(struct request *rq, const char *search);
/* All parameters are there: defaults, format and `pretty`. `accept` as for negotiate_format, with
 * its errors. */
int request_finish(struct request *rq, const char *accept);

#endif
