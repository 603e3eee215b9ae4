/* parts.h - the pieces of /openapi.json: what the endpoint table does not say is in tables here.
 * Private to this folder: openapi.c writes the document, with answers.c, examples.c and types.c.
 */
#ifndef DFTRACERD_HTTP_OPENAPI_PARTS_H
#define DFTRACERD_HTTP_OPENAPI_PARTS_H

#include "http/request/endpoint.h"

/* ---- examples.c ---------------------------------------------------------------------- */
/* JSON of an example, with ' in the place of "; NULL = none. Of a parameter, and an object of the
 * other parameters that it needs; of a body; of the answer with this schema. */
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
/* Members of components.schemas: the types with names that the answers of endpoints refer to. */
void openapi_write_types(struct jw *j, const struct endpoint *const *endpoints);

/* ---- json.c ------------------------------------------------------------- */
void openapi_member(struct jw *j, const char *key, const char *value);
void openapi_begin(struct jw *j, const char *key, char bracket);
/* {"$ref":"#/components/<kind>/<name>"} as the value of the key; NULL key: in an array. */
void openapi_refer(struct jw *j, const char *key, const char *kind, const char *name);
/* A text with ' for " as JSON, in the arena; "null" where memory is short. */
struct text openapi_json(struct arena *arena, const char *quoted);

#endif
