/* work.h - the work of a request, for the files of this folder alone: steps, hand-over, immediate
 * answers. The public part is in exchange.h.
 *
 * A worker runs steps (exchange_step); their bytes are copied for the cache
 * (exchange_copy_for_cache) and handed over to the content reader (exchange_hand_over).
 * Threads: workers; functions that need x->lock say so.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_WORK_H
#define DFTRACERD_HTTP_EXCHANGE_WORK_H

#include "http/exchange/exchange.h"

/* Returns the first job of the request: open(), and the first bytes. NULL: another request computes
 * the answer already, or it has become available (READY). `park`: open() only when the index is
 * ready for it. Caller holds x->lock. */
pool_job *exchange_start(struct exchange *x, bool park);
/* Submits that job; if the pool refuses it, the request is answered with the error. Caller does not
 * hold x->lock: a thread that wakes a worker may lose the processor to it, and the worker would
 * compute the answer and then wait for the lock. */
void exchange_submit(struct exchange *x, pool_job *job);
/* Runs one step of work, which fills `out` with bytes for the client. `first`: the headers have not
 * been sent, so an error becomes the status and nothing is written. Returns 0, NEXT_TURN (nothing
 * yet), NEXT_WAIT, ERR_END, or an error. */
int exchange_step(struct exchange *x, bool first, struct buf *out);
/* Returns a *new* answer for the cache, which steals the bytes; or NULL, and leaves them, if the
 * answer is not for others, or there is no memory. */
struct cache_answer *exchange_answer_of(struct exchange *x, struct buf *body);
/* Copies a step's bytes as long as the answer may be kept; after the last step the cache keeps it.
 */
void exchange_copy_for_cache(struct exchange *x, const struct buf *fresh, int rc);
/* Drops the copies. */
void exchange_drop_copy(struct exchange *x);
/* Makes the step's bytes and its result visible to the content reader. Caller holds the lock. */
void exchange_hand_over(struct exchange *x, struct buf *fresh, int rc);
/* Answers the request at once. Caller holds the lock. */
void exchange_answer_now(struct exchange *x, int code);

/* Submits a job to the pool, in the client's lane. */
int exchange_queue(struct exchange *x, pool_job *job);
/* Counts jobs that open a request, submitted and not finished, for admission. */
void exchange_opening(struct exchange *x, int delta);
void exchange_suspend(struct exchange *x); /* caller holds x->lock, on libmicrohttpd's thread */
void exchange_resume(struct exchange *x);  /* caller holds x->lock; nothing if not suspended */

#endif
