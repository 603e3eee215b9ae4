/* grow.h - an array that is kept from chunk to chunk and grows with what it has to hold.
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
/* At least `bytes`, contents lost when it grows; aligned to 64. NULL: no memory. */
void *grow_to(struct grow *g, size_t bytes);
void grow_done(struct grow *g);

#endif
