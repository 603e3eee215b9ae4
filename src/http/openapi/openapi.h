/* openapi.h - the endpoint /openapi.json: OpenAPI 3.1, made from the table of all endpoints. */
#ifndef DFTRACERD_HTTP_OPENAPI_OPENAPI_H
#define DFTRACERD_HTTP_OPENAPI_OPENAPI_H

#include "http/request/endpoint.h"

extern const struct endpoint endpoint_openapi;

#endif
