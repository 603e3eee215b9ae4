/* order.h - keeps calls of different threads on one file in the order of the trace.
 *
 * The later of two calls may depend on one that ended before it began: a file was created, written
 * or removed. So it waits for the earlier one in these cases:
 *   a call that changes what is at a path   waits for all earlier calls on this path and below it,
 *                                           and for reads and writes of its file;
 *   a call that uses a path                 waits for those that changed it, or one of the nearest
 *                                           three directories above it that the trace changes;
 *   a read                                  waits for writes to the file.
 * Writes do not wait for each other, unless a call between them waits for the earlier one. The same
 * holds for reads and uses. Calls that overlap in the trace do not wait for each other either, nor
 * for those that overlap with one of them, directly or through others: only numbers of calls are
 * kept. A call waits only for earlier ones, which were queued before, so none waits forever.
 * After the death of a process, no thread waits any more.
 * Threads: order_plan by the planning thread, the others by the thread that performs the operation,
 * in any process.
 */
#ifndef DFTRACERD_REPLAY_PLAN_ORDER_H
#define DFTRACERD_REPLAY_PLAN_ORDER_H

#include "replay/plan/plan.h"

/* During the first reading: records which paths the trace changes. */
void order_survey(const struct operation *op);
/* Called once for each operation that will be performed or dropped, in order of time. */
void order_plan(struct files *f, struct operation *op);
void order_wait(const struct shared *s, const struct operation *op);
void order_ended(const struct operation *op);

#endif
