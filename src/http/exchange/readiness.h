/* readiness.h - is the index ready: for what a request selects (wait=ready), and once for all
 * (/readyz).
 *
 * Ready: the first walk is over, and no selected file is pending or being indexed. A file that has
 * failed, grows or changed after it was indexed is ready. With wait=fresh only if that was read
 * when the request came, or later.
 * Used by open.c, and by the server, which parks a request only if it has to. Threads: as said. */
#ifndef DFTRACERD_HTTP_EXCHANGE_READINESS_H
#define DFTRACERD_HTTP_EXCHANGE_READINESS_H

#include "http/exchange/exchange.h"
#include "http/exchange/site.h"

/* No file of the snapshot is pending or being indexed, as far as is known. Never blocks. */
bool readiness_is_known(struct site *site, const struct snapshot *s);
/* The request is to be judged, whatever is known. */
bool readiness_wants_fresh(const struct exchange *x);
/* Of the files that the request selects in its snapshot; those that are pending are asked for
 * (index_want). On a worker: there may be 10,000. A selection that is wrong counts as ready: open()
 * tells why. */
bool readiness_of(struct exchange *x);
/* The same, of a request without an exchange: nothing is known of its generation. */
bool readiness_of_request(struct request *rq);
/* With strict=true, after open(): ERR_NOT_FOUND if no file is selected, -EEXIST if the answer would
 * be incomplete; else 0. */
int readiness_check_strict(struct request *rq);
/* Why requests that wait for the index do so in vain. */
enum { READINESS_TEXT = 200 };
void readiness_stopped(int error, char *ret, size_t size);
/* Asks for them, unless the client said that it wants what is there (`wait=no`), or the endpoint
 * has no such choice. */
void readiness_want(struct exchange *x);

#endif
