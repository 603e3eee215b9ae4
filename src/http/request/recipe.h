/* recipe.h - a view as a small JSON document: {"name","description","query","include_metadata"}.
 * Used by /view.
 * Threads: those of the request, one at a time. Memory: in the request's arena. */
#ifndef DFTRACERD_HTTP_REQUEST_RECIPE_H
#define DFTRACERD_HTTP_REQUEST_RECIPE_H

#include "http/request/endpoint.h"

/* The query of the request and that of its `recipe`, joined by AND. Texts are in the request's
 * arena. */
struct recipe {
    const char *name, *description;
    const char *query; /* without preset, times and durations; NULL = everything */
    bool include_metadata;
};
extern const struct object_type recipe_type;
/* Returns 0, -ENOMEM, ERR_PARAM if the recipe is not such a document, or ERR_QUERY_SYNTAX, with
 * position and source of the query that has the error: the recipe's own or the request's. */
int recipe_read(struct request *rq, struct recipe *ret);
/* Writes the whole view as one recipe, with a two-space indent: preset, times and durations become
 * part of the query. */
void recipe_write(const struct request *rq, const struct recipe *r, struct buf *out);

#endif
