/* read_ahead.h - makes the items of consecutive positions in parallel and in advance, and returns
 * them in order.
 *
 * An item is what an answer needs of one chunk (lines, flat rows). While the caller writes one
 * item, pool threads make the next ones. The caller makes the item it waits for itself if no thread
 * has started it, and further items while it waits, so a busy pool cannot block it. The number of
 * items made in advance grows while the caller returns quickly: neither small answers nor slow
 * clients pay for items that nobody reads. Small items are made in larger groups, because waking a
 * thread costs as much as making one. When memory runs short, items are made one at a time.
 *
 * Used by:   cursor.c, serve.c, shared text.
 * Threads:   a read_ahead belongs to one thread at a time; `make` and `drop` of the maker run on
 *            any thread, several at once.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_READ_AHEAD_H
#define DFTRACERD_ENGINE_CURSOR_READ_AHEAD_H

#include "engine/cursor/maker.h"

struct read_ahead;
/* Sets *ret to a *new* object for the items of positions[0..count). The positions and the maker are
 * copied. Returns 0 or -ENOMEM. */
int read_ahead_new(const struct item_maker *maker, const size_t *positions, size_t count,
                   struct read_ahead **ret);
/* Sets *ret to the next item, *new*, or to NULL if its place has none. Returns 0, ERR_END or an
 * error of the maker. */
int read_ahead_next(struct read_ahead *a, struct err *err, void **ret);
/* Frees the items that were made in advance, and the threads' tools, because the caller pauses.
 * repeat: the last item is made and returned once more; the caller has dropped it. */
void read_ahead_pause(struct read_ahead *a, bool repeat);
void read_ahead_free(struct read_ahead *a); /* accepts NULL */

#endif
