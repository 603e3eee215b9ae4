/* steps.h - the work of an endpoint for one request: open(), steps of next(), close(). Used by
 * exchanges, whose jobs run it, and by requests without a server.
 * Threads: those of the request, one at a time. */
#ifndef DFTRACERD_HTTP_EXCHANGE_STEPS_H
#define DFTRACERD_HTTP_EXCHANGE_STEPS_H

#include "http/request/endpoint.h"

/* Allocates the endpoint's state and calls its open(). */
int steps_open(struct request *rq);
/* Runs next() until `out` has `bytes`, or has something after a while. Returns 0 if there is more,
 * NEXT_TURN (no bytes so far), NEXT_WAIT, ERR_END, or an error. */
int steps_run(struct request *rq, size_t bytes, struct buf *out);
/* A next() for endpoints whose answer describes their state: writes it as JSON. */
int steps_write_state(struct request *rq, struct buf *out);
/* Calls close() and releases the snapshot. */
void steps_close(struct request *rq);

#endif
