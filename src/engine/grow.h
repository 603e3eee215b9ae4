/* grow.h - an array that is used again from chunk to chunk, and grows if necessary.
 *
 * Used by:   engine/ (values and codes of columns, rows that pass a test).
 * Memory:    not charged to a budget: the size of one chunk bounds it.
 * Threads:   one at a time.
 */
#ifndef DFTRACERD_ENGINE_GROW_H
#define DFTRACERD_ENGINE_GROW_H

#include <stddef.h>

struct grow {
    void *data;
    size_t cap;
};
/* Returns at least `bytes`, aligned to 64; the content is lost when the array grows. Returns NULL
 * without memory. */
void *grow_to(struct grow *g, size_t bytes);
void grow_done(struct grow *g);

#endif
