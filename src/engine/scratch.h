/* scratch.h - scratch memory that is reused from chunk to chunk.
 *
 * Used by:   engine/ (values and codes of columns, rows that pass a test).
 * Memory:    not charged to a budget: the size of one chunk limits it.
 * Threads:   one at a time.
 */
#ifndef DFTRACERD_ENGINE_SCRATCH_H
#define DFTRACERD_ENGINE_SCRATCH_H

#include <stddef.h>

struct scratch {
    void *data;
    size_t cap; /* bytes */
};              /* zero-initialise */
/* Returns memory of at least `bytes`, aligned to 64, whose content is undefined; NULL: no memory.
 */
void *scratch_reserve(struct scratch *g, size_t bytes);
void scratch_done(struct scratch *g);

#endif
