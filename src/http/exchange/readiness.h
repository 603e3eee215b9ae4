/* readiness.h - whether the index is ready for what a request selects (wait=ready) and for all
 * files (/readyz).
 *
 * Ready means that the first directory scan is over, and that no selected file is pending or being
 * indexed. A file that has failed, grows or changed after it was indexed is ready; with wait=fresh
 * only if it was read when the request came, or later.
 * Used by open.c, and by the server, which parks a request only if it has to.
 * Threads: any, except where a function says otherwise. */
#ifndef DFTRACERD_HTTP_EXCHANGE_READINESS_H
#define DFTRACERD_HTTP_EXCHANGE_READINESS_H

#include "http/exchange/exchange.h"
#include "http/exchange/site.h"

/* True if no file of the snapshot is known to be pending or being indexed. Never blocks. */
bool readiness_is_known(struct site *site, const struct snapshot *s);
/* True if the request must be checked, whatever is known. */
bool readiness_wants_fresh(const struct request *rq);
/* Checks the files that the request selects in its snapshot, and requests indexing of those that
 * are pending (index_request_file). Run it on a worker: there may be 10,000 files. An invalid
 * selection counts as ready, because open() reports the error. */
bool readiness_check(struct exchange *x);
/* Does the same for a request without an exchange, which has no result of its generation to use. */
bool readiness_check_request(struct request *rq);
/* text that says why requests wait for the index in vain */
enum { READINESS_TEXT = 200 };
void readiness_stopped(int error, char *ret, size_t size);
/* Requests indexing of the selected files, unless the client sent `wait=no` or the endpoint has no
 * such parameter. */
void readiness_request_files(struct exchange *x);

#endif
