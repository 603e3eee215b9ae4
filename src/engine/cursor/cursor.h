/* cursor.h - returns the selected objects of a query in file order, by time, or by a column.
 *
 * In file order, places are read one after the other. By a key (time, or the rank by a column), a
 * scan first finds the first key of each place (starts.h, top.h). Places are then made in the order
 * of these keys, each one only when one of its objects may be the next, and merged by a heap. So
 * only places whose keys overlap are in memory.
 *
 * Path:      cursor_new -> cursor_next and cursor_consume for each run of objects -> cursor_free.
 * Used by:   answer/lines: original lines and flat rows.
 * Threads:   a cursor belongs to one thread at a time; items are made on several (read_ahead.h).
 *            On another rank, a cursor only serves items to rank 0 (serve.h).
 */
#ifndef DFTRACERD_ENGINE_CURSOR_CURSOR_H
#define DFTRACERD_ENGINE_CURSOR_CURSOR_H

#include "engine/cursor/item.h"
#include "engine/cursor/read_ahead.h"

struct cursor_options {
    bool order_ts;
    struct top *top; /* by rank; it applies the offset itself. NULL: all objects */
    uint64_t limit, offset;
    /* Returns true to leave an item out, in file order only; may be NULL. `arg` is the maker's. */
    bool (*refuse)(void *arg, const struct item *item);
};
struct cursor;
/* Opens a cursor; *ret: *new*. The maker, which is copied, makes items that begin with a struct
 * item. Returns 0, -ENOMEM, an error of a scan, or on a remote rank ERR_CANCELLED if its part of
 * the request is done. */
int cursor_new(const struct item_maker *maker, const struct cursor_options *o, struct err *err,
               struct cursor **ret);
/* Sets *ret to the item that has the next object, and *ret_run to the number of objects (> 0) that
 * follow each other in it. Returns 0, ERR_END, ERR_STALE if an item has changed since cursor_pause,
 * or an error of the maker. */
int cursor_next(struct cursor *c, struct err *err, struct item **ret, uint32_t *ret_run);
/* Steps over n objects of the item of the last cursor_next. The item may be freed. */
void cursor_consume(struct cursor *c, uint32_t n);
/* Returns what remains of limit and offset. */
void cursor_remaining(const struct cursor *c, uint64_t *ret_limit, uint64_t *ret_offset);
/* Frees the items that were made in advance, because the client is slow. In file order the current
 * item is freed, too, and recreated by the next cursor_next, unless `keep`. */
void cursor_pause(struct cursor *c, bool keep);
void cursor_free(struct cursor *c); /* accepts NULL */

#endif
