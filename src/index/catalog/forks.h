/* forks.h - parents of processes, found in other files. Private to catalog; under index.lock. */
#ifndef DFTRACERD_INDEX_CATALOG_FORKS_H
#define DFTRACERD_INDEX_CATALOG_FORKS_H

#include "index/catalog/index.h"

/* Updates the parents of processes in the views of all entries, if processes have changed. */
void forks_link(struct index *ix);

#endif
