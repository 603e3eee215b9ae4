/* compare_stacks.h - the part of /compare that writes format=collapsed-diff. Used by compare.c.
 * Threads: the worker that has the request. Memory: in the request's arena and budget. */
#ifndef DFTRACERD_HTTP_ENDPOINTS_COMPARE_STACKS_H
#define DFTRACERD_HTTP_ENDPOINTS_COMPARE_STACKS_H

#include "http/request/compare_request.h"

/* Returns the errors of call_tree_open. */
int compare_stacks(struct request *rq, const struct compare_request *compare, struct buf *out);

#endif
