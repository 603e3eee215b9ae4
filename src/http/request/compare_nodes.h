/* compare_nodes.h - the nodes of /compare as JSON, and the words in them. Used by
 * compare_request.c alone.
 * Threads: those of the request, one at a time. Memory: in the request's arena. */
#ifndef DFTRACERD_HTTP_REQUEST_COMPARE_NODES_H
#define DFTRACERD_HTTP_REQUEST_COMPARE_NODES_H

#include "dftracerd/compare.h"
#include "http/request/endpoint.h"

/* All live in the request's arena; ERR_PARAM names what is wrong, and in which node; -ENOMEM. */
int compare_metrics(struct request *rq, const char *const *names, size_t count, unsigned *ret);
int compare_order(struct request *rq, const char *name, bool *ret_by_name);
/* A JSON list of nodes; what one of them does not say is as in `up`. */
int compare_read_nodes(struct request *rq, const char *text, const struct compare_node_options *up,
                       struct compare_options *o);
/* A JSON object; leaves alone what it does not name. */
int compare_read_defaults(struct request *rq, const char *text, struct compare_node_options *o,
                          int64_t *interval_ns);

#endif
