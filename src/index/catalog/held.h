/* held.h - directories that cannot be read: what is known below them stays.
 *
 * Used by:   catalog, ingest (purges nothing below them), index.
 * Threads:   immutable once made, references are counted; NULL is none.
 */
#ifndef DFTRACERD_INDEX_CATALOG_HELD_H
#define DFTRACERD_INDEX_CATALOG_HELD_H

#include "dftracerd/base.h"

struct held;
struct held *held_ref(struct held *h);
void held_release(struct held *h);
size_t held_count(const struct held *h);
const char *held_dir(const struct held *h, size_t i);
/* One of them is above this name. */
bool held_covers(const struct held *h, const char *name);

#endif
