/* compare_nodes.h - the nodes of /compare as JSON, and the names in them. Used by compare_request.c
 * alone.
 * Threads: those of the request, one at a time. Memory: in the request's arena. */
#ifndef DFTRACERD_HTTP_REQUEST_COMPARE_NODES_H
#define DFTRACERD_HTTP_REQUEST_COMPARE_NODES_H

#include "dftracerd/compare.h"
#include "http/request/endpoint.h"

/* Results are in the request's arena. The functions return 0, -ENOMEM, or ERR_PARAM, with the
 * parameter that has the error: `nodes` or `defaults` if it is in one of these documents. */
int compare_metrics(struct request *rq, const char *const *names, size_t count, unsigned *ret);
int compare_order(struct request *rq, const char *name, bool *ret_by_name);
/* Reads a JSON list of nodes; members that a node does not have are as in the node above it, at the
 * top as in `up`. A node has a query and children of its own. */
int compare_read_nodes(struct request *rq, const char *text, const struct compare_node_options *up,
                       struct compare_options *o);
/* Reads a JSON object; leaves unchanged what it does not have. Sets o->name for errors. */
int compare_read_defaults(struct request *rq, const char *text, struct compare_node_options *o,
                          int64_t *interval_ns);

#endif
