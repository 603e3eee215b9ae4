/* color_values.h - the values selected by `color_values` of /timeline. Used by /timeline.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_REQUEST_COLOR_VALUES_H
#define DFTRACERD_HTTP_REQUEST_COLOR_VALUES_H

#include "dftracerd/timeline.h"
#include "http/request/endpoint.h"

/* Leaves the options unchanged if the parameter is not given. Returns 0, ERR_PARAM or -ENOMEM. The
 * values are borrowed from the request. */
int color_values_read(struct request *rq, struct timeline_options *o);

#endif
