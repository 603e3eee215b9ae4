/* unreadable_dirs.h - directories that cannot be read: files below them are kept.
 *
 * Used by:   catalog, ingest (purges nothing below them), index.
 * Threads:   immutable once created, with a count of references; NULL means none.
 */
#ifndef DFTRACERD_INDEX_CATALOG_UNREADABLE_DIRS_H
#define DFTRACERD_INDEX_CATALOG_UNREADABLE_DIRS_H

#include "dftracerd/base.h"

struct unreadable_dirs;
struct unreadable_dirs *unreadable_dirs_ref(struct unreadable_dirs *d);
void unreadable_dirs_release(struct unreadable_dirs *d);
size_t unreadable_dirs_count(const struct unreadable_dirs *d);
const char *unreadable_dirs_get(const struct unreadable_dirs *d, size_t i);
/* Returns whether one of the directories contains this name. */
bool unreadable_dirs_covers(const struct unreadable_dirs *d, const char *name);

#endif
