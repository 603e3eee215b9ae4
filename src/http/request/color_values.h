/* color_values.h - the values that `color_values` of /timeline chooses. Used by
 * /timeline.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_REQUEST_COLOR_VALUES_H
#define DFTRACERD_HTTP_REQUEST_COLOR_VALUES_H

#include "dftracerd/timeline.h"
#include "http/request/endpoint.h"

/* Leaves the options alone where it is not given. 0, ERR_PARAM, -ENOMEM. Borrowed from the request.
 */
int color_values_read(struct request *rq, struct timeline_options *o);

#endif
