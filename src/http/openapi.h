/* openapi.h - the JSON answers as schemas, for /openapi.json. */
#ifndef DFT_HTTP_OPENAPI_H
#define DFT_HTTP_OPENAPI_H

/* JSON members of components.schemas, with ' in the place of ". */
extern const char openapi_schemas[];

#endif
