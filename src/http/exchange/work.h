/* work.h - the work of a request, for the files of this folder alone: steps, hand-over, answers at
 * once. What others use is in exchange.h.
 *
 * A worker runs steps (exchange_step); what they made is gathered for the cache (exchange_gather)
 * and handed over to the content reader (exchange_hand_over).
 * Threads: workers; what needs x->lock says so.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_WORK_H
#define DFTRACERD_HTTP_EXCHANGE_WORK_H

#include "http/exchange/exchange.h"

/* What a worker is to do first for the request: open(), and the first pieces. NULL: another one
 * computes the answer already, or it has come meanwhile (READY). `park`: only when the index is
 * ready for it. Caller holds x->lock. */
pool_job *exchange_start(struct exchange *x, bool park);
/* Hands that to a worker; a request that none takes is answered so. Caller does not hold x->lock:
 * who wakes a worker may lose the processor to it, which would compute the answer and then wait for
 * the lock. */
void exchange_submit(struct exchange *x, pool_job *job);
/* One step of work: fills `out` with what the client is to get; 0, NEXT_TURN (nothing yet),
 * NEXT_WAIT, ERR_END, or why not. */
int exchange_step(struct exchange *x, bool first, struct buf *out);
/* What was made, to be kept: takes the bytes with the answer it returns. NULL: it is not for
 * others, or no memory. */
struct cache_answer *exchange_answer_of(struct exchange *x, struct buf *body);
/* A copy of a step's bytes, as long as the answer may be kept; the last one has it kept. */
void exchange_gather(struct exchange *x, const struct buf *fresh, int rc);
/* Gives up the copies. */
void exchange_scatter(struct exchange *x);
/* Makes the step's bytes visible to the content reader, and its result. Caller holds the lock. */
void exchange_hand_over(struct exchange *x, struct buf *fresh, int rc);
/* Answers at once. Caller holds the lock. */
void exchange_answer_now(struct exchange *x, int code);

/* pool_submit, in its client's turn. */
int exchange_queue(struct exchange *x, pool_job *job);
/* Open jobs submitted and not finished: admission. */
void exchange_opening(struct exchange *x, int delta);
void exchange_suspend(struct exchange *x); /* caller holds x->lock, on libmicrohttpd's thread */
void exchange_resume(struct exchange *x);  /* caller holds x->lock; nothing if not suspended */

#endif
