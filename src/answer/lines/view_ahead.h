/* view_ahead.h - makes items of places in parallel and ahead, and hands them out in order.
 *
 * An item is what the answer needs of one chunk (lines, flat rows). Workers of the pool make items
 * of the next places while the caller writes out earlier ones; the caller makes the one it waits
 * for itself when no worker has begun it, and others while it would wait, so a busy pool cannot
 * stop it. More are made ahead of small items, and a worker is not woken for a few of them. The
 * window grows while items are taken quickly, so that neither small answers nor slow clients pay
 * for large ones. When the budget is short, items are made one at a time.
 * Threads:   an ahead belongs to one thread at a time; `make` and `drop` run on any thread, several
 *            at once.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_AHEAD_H
#define DFTRACERD_ANSWER_LINES_VIEW_AHEAD_H

#include "answer/lines/view_maker.h"

struct ahead;
/* Items of positions[0..count) (copied). */
int ahead_new(const struct ahead_maker *maker, const size_t *positions, size_t count,
              struct ahead **ret);
/* The next item, in order; it is the caller's then. ERR_END. */
int ahead_next(struct ahead *a, struct err *err, void **ret);
/* Nobody will ask for a while: drops what was made ahead, and the workers' tools. `again`: the next
 * item is to be the last one once more (of which the caller has dropped its own). */
void ahead_rest(struct ahead *a, bool again);
void ahead_free(struct ahead *a);

#endif
