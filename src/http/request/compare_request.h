/* compare_request.h - a request to /compare as options: sides, nodes, thresholds. Used by
 * endpoints/compare*.c.
 * Threads: those of the request, one at a time. Memory: in the request's arena. */
#ifndef DFTRACERD_HTTP_REQUEST_COMPARE_REQUEST_H
#define DFTRACERD_HTTP_REQUEST_COMPARE_REQUEST_H

#include "dftracerd/compare.h"
#include "http/request/endpoint.h"

struct compare_request {
    struct compare_options options;
    struct selection sides[COMPARE_SIDES_MAX];
    const char *labels[COMPARE_SIDES_MAX]; /* names of the sides in reports */
};
extern const struct param_spec compare_params[]; /* baseline, variant, nodes ... */
/* dir ..., baseline.dir ..., variant.dir ... */
extern const struct param_spec compare_selections[];
/* Results are in the request's arena. Returns 0, ERR_PARAM, ERR_NOT_FOUND or -ENOMEM. */
int compare_request_read(struct request *rq, struct compare_request *ret);

#endif
