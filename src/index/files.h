/* files.h - adds one file to the sums of index_progress, for all files and for those of a rank.
 *
 * Used by:   index only. Threads: under index.lock.
 */
#ifndef DFTRACERD_INDEX_FILES_H
#define DFTRACERD_INDEX_FILES_H

#include "index/catalog/catalog.h"

void files_add_progress(const struct index *ix, struct index_progress *p, const struct entry *e);

#endif
