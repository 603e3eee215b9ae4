/* query_text.h - makes texts of the query language from values. Used by /event and /suggest, whose
 * answers contain queries.
 * Threads: any; nothing is kept. */
#ifndef DFTRACERD_HTTP_REQUEST_QUERY_TEXT_H
#define DFTRACERD_HTTP_REQUEST_QUERY_TEXT_H

#include "dftracerd/format.h"

/* Writes these bytes as a string of the language. */
void query_text_string(struct buf *out, struct text t);
/* Writes `path == value`, or that the column is missing. The language has no arrays, so for an
 * array it writes a test that nothing passes. */
void query_text_equals(struct buf *out, const char *path, const struct value *v);

#endif
