/* parts.h - the pieces of /openapi.json; tables here have what the endpoint table does not. Private
 * to this folder: openapi.c writes the document, with answers.c, examples.c and types.c. */
#ifndef DFTRACERD_HTTP_OPENAPI_PARTS_H
#define DFTRACERD_HTTP_OPENAPI_PARTS_H

#include "http/request/endpoint.h"

/* ---- examples.c ---------------------------------------------------------------------- */
/* Each returns an example as JSON, with ' for "; NULL = none: of a parameter, an object of the
 * other parameters that it needs, a body, an answer with this schema. */
const char *openapi_param_example(const struct endpoint *e, const struct param_spec *p);
const char *openapi_example_with(const struct endpoint *e, const struct param_spec *p);
const char *openapi_body_example(const char *path);
const char *openapi_answer_example(const char *schema);

/* ---- answers.c ----------------------------------------------------------------------- */
void openapi_write_responses(struct jw *j, struct arena *arena, const struct endpoint *e,
                             bool post);
/* components.headers and components.responses */
void openapi_write_parts(struct jw *j, struct arena *arena);

/* ---- types.c --------------------------------------------------------------- */
/* Writes the members of components.schemas: the named types to which the answers of endpoints
 * refer. */
void openapi_write_types(struct jw *j, const struct endpoint *const *endpoints);

/* ---- json.c ------------------------------------------------------------- */
void openapi_begin(struct jw *j, const char *key, char bracket);
/* Writes {"$ref":"#/components/<kind>/<name>"} as the value of the key; NULL key: in an array. */
void openapi_refer(struct jw *j, const char *key, const char *kind, const char *name);
/* Writes JSON that is given with ' for "; NULL key: in an array. The arena keeps a copy; without
 * memory it writes null. */
void openapi_json(struct jw *j, struct arena *arena, const char *key, const char *quoted);

#endif
