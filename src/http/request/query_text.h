/* query_text.h - texts of the query language, put together from values. Used by /event and
 * /suggest, whose answers contain queries.
 * Threads: any; nothing is kept. */
#ifndef DFTRACERD_HTTP_REQUEST_QUERY_TEXT_H
#define DFTRACERD_HTTP_REQUEST_QUERY_TEXT_H

#include "dftracerd/format.h"

/* A string of the language with these bytes. */
void query_text_string(struct buf *out, struct text t);
/* `path == value`, or that it is missing; arrays are no values of the language: nothing equals
 * them. */
void query_text_equals(struct buf *out, const char *path, const struct value *v);

#endif
