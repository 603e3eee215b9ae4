/* recipe.h - a view as a small JSON document: {"name","description","query","include_metadata"}.
 * Used by /view.
 * Threads: those of the request, one at a time. Memory: in the request's arena. */
#ifndef DFTRACERD_HTTP_REQUEST_RECIPE_H
#define DFTRACERD_HTTP_REQUEST_RECIPE_H

#include "http/request/endpoint.h"

/* What a request says by itself and by its `recipe`, ANDed. Texts live in the request's arena. */
struct recipe {
    const char *name, *description;
    const char *query; /* without preset, times and durations; NULL = everything */
    bool include_metadata;
};
extern const struct object_type recipe_type;
/* ERR_PARAM (the recipe is no such document), ERR_QUERY_SYNTAX (position and source are those of
 * the query that is to blame: the recipe's own or the request's). */
int recipe_read(struct request *rq, struct recipe *ret);
/* The whole view as one recipe: the preset, times and durations are told in the query, too.
 * Two-space indent. */
void recipe_write(const struct request *rq, const struct recipe *r, struct buf *out);

#endif
