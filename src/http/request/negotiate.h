/* negotiate.h - content negotiation: format and content coding. Used by the server after the
 * parameters are read, and by /q for queries to be stored.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_REQUEST_NEGOTIATE_H
#define DFTRACERD_HTTP_REQUEST_NEGOTIATE_H

#include "http/request/endpoint.h"

enum coding { CODING_IDENTITY, CODING_GZIP, CODING_ZSTD, CODINGS };

/* Chooses by `format=`, else by Accept (NULL = anything), else the endpoint's first format. Returns
 * 0, ERR_FORMAT or ERR_PARAM. */
int negotiate_format(struct request *rq, const char *accept);
/* Returns the best coding that Accept-Encoding (NULL = identity only) allows. */
enum coding negotiate_coding(const char *accept_encoding);
const char *coding_name(enum coding c);

#endif
