/* spread.h - a request in whose scans other ranks take part (struct query_remote of query.h).
 * Threads: those of the request, one at a time. Memory: in the request's arena. */
#ifndef DFTRACERD_HTTP_REQUEST_SPREAD_H
#define DFTRACERD_HTTP_REQUEST_SPREAD_H

#include "http/request/endpoint.h"

/* Prepares the request for other ranks, if there are any and a URL without a body can express it.
 * Returns 0 or -ENOMEM. */
int request_spread(struct request *rq);
void request_spread_done(struct request *rq);
/* Returns the environment for the queries of the request. */
struct query_env request_env(const struct request *rq);

#endif
