/* etag.h - validators: the ETag of an answer, made from what the answer depends on, before any work
 * is done.
 * Used by open.c, and by the server for answers that it makes at once.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_EXCHANGE_ETAG_H
#define DFTRACERD_HTTP_EXCHANGE_ETAG_H

#include "http/exchange/exchange.h"

/* Makes x->etag from the generation, the roots, and the request's parameters and format, and x->key
 * from the same and the content coding. The ETag is weak: content codings share it. There is none
 * if the answer depends on something else as well, nor before the first directory scan is over: a
 * root that has not changed since the last run then has the same generation afterwards. */
void etag_make(struct exchange *x);
/* Makes the ETag of an answer whose bytes are known. */
void etag_of_text(struct exchange *x, struct text text);
/* Compares If-None-Match (a list, or NULL) with an ETag, by weak comparison. `*` does not match
 * here: whether there is an answer at all is known only after the query has been opened. */
bool etag_matches(const char *header, const char *etag);

#endif
