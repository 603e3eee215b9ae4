/* compare_request.h - what a request to /compare asks for: sides, nodes, and how they are told. */
#ifndef DFTRACERD_HTTP_REQUEST_COMPARE_REQUEST_H
#define DFTRACERD_HTTP_REQUEST_COMPARE_REQUEST_H

#include "dftracerd/compare.h"
#include "http/request/endpoint.h"

struct compare_request {
    struct compare_options options;
    struct selection sides[COMPARE_SIDES_MAX];
    const char *labels[COMPARE_SIDES_MAX]; /* as people know the sides */
    const char *query;                     /* the common one */
    int fail_on;                           /* enum compare_class, or -1 */
};
extern const struct param_spec compare_params[]; /* baseline, variant, nodes ... */
/* dir ..., baseline.dir ..., variant.dir ... */
extern const struct param_spec compare_selections[];
/* Everything lives in the request's arena. ERR_PARAM, ERR_NOT_FOUND, -ENOMEM. */
int compare_request_read(struct request *rq, struct compare_request *ret);
/* format=collapsed-diff. Errors as of call_tree_open. */
int compare_stacks(struct request *rq, const struct compare_request *asked, struct buf *out);

#endif
