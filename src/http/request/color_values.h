/* color_values.h - the values that `color_values` of /timeline chooses. Private to http. */
#ifndef DFTRACERD_HTTP_REQUEST_COLOR_VALUES_H
#define DFTRACERD_HTTP_REQUEST_COLOR_VALUES_H

#include "dftracerd/timeline.h"
#include "http/request/endpoint.h"

/* Leaves the options alone where it is not given. 0, ERR_PARAM, -ENOMEM. Borrowed from the request.
 */
int color_values_read(struct request *rq, struct timeline_options *o);

#endif
