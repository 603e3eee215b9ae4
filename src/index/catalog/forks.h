/* forks.h - parents of processes that other files know. Private to catalog; under index.lock. */
#ifndef DFTRACERD_INDEX_CATALOG_FORKS_H
#define DFTRACERD_INDEX_CATALOG_FORKS_H

#include "index/catalog/index.h"

/* Where processes came or went, the views of all entries tell the parents known now. */
void forks_link(struct index *ix);

#endif
