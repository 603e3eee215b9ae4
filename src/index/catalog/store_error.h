/* store_error.h - errors of the store: why indexing stopped, and that the store is corrupt. For one
 * corrupt file: index_file_corrupt (dftracerd/index.h).
 *
 * Used by:   catalog, ingest, index. Threads: any, without index.lock.
 */
#ifndef DFTRACERD_INDEX_CATALOG_STORE_ERROR_H
#define DFTRACERD_INDEX_CATALOG_STORE_ERROR_H

#include "index/catalog/index.h"

/* Records why indexing stopped; 0: it continues. ERR_CORRUPT stays until the index is reopened. */
void index_set_store_error(struct index *ix, int error);
/* Returns it, without the errors of other ranks and of single files. */
int index_own_store_error(struct index *ix);
/* Reports that the whole store is corrupt: nothing more is written, and the next start rebuilds
 * it. */
void index_report_corrupt(struct index *ix);

#endif
