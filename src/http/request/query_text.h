/* query_text.h - texts of the query language: from values, and from other queries. Used by
 * endpoints that extend the query of a request.
 * Threads: any; nothing is kept. */
#ifndef DFTRACERD_HTTP_REQUEST_QUERY_TEXT_H
#define DFTRACERD_HTTP_REQUEST_QUERY_TEXT_H

#include "dftracerd/format.h"

/* Writes these bytes as a string of the language. */
void query_text_string(struct buf *out, struct text t);
/* Writes `path == value`, or that the column is missing. The language has no arrays, so for an
 * array it writes a test that nothing passes. */
void query_text_equals(struct buf *out, const char *path, const struct value *v);
/* Checks a query by itself, before it is put into brackets beside another one: "a) or (b" is not a
 * query. A blank one is valid. Returns 0, -ENOMEM or ERR_QUERY_SYNTAX, with this err->param. */
int query_text_check(struct text query, const char *param, struct err *err);
/* Joins two queries by AND; a blank one is left out. *ret is in the arena or borrowed, and empty if
 * both are blank. Returns 0 or -ENOMEM. */
int query_text_and(struct arena *arena, struct text a, struct text b, struct text *ret);

#endif
