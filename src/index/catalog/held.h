/* held.h - directories that cannot be read: files below them are kept.
 *
 * Used by:   catalog, ingest (purges nothing below them), index.
 * Threads:   immutable once created, with a count of references; NULL means none.
 */
#ifndef DFTRACERD_INDEX_CATALOG_HELD_H
#define DFTRACERD_INDEX_CATALOG_HELD_H

#include "dftracerd/base.h"

struct held;
struct held *held_ref(struct held *h);
void held_release(struct held *h);
size_t held_count(const struct held *h);
const char *held_dir(const struct held *h, size_t i);
/* Returns whether one of the directories contains this name. */
bool held_covers(const struct held *h, const char *name);

#endif
