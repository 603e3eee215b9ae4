/* spread.h - an index that is spread over several ranks (index/ranks/ranks.h). See spread.c. */
#ifndef DFTRACERD_INDEX_SPREAD_H
#define DFTRACERD_INDEX_SPREAD_H

#include "index/catalog/index.h"

/* Creates links to the other ranks, and the queues of files, before the store is opened. Returns 0,
 * -ENOMEM, or -E2BIG (more than INDEX_RANKS_MAX). */
int spread_init(struct index *ix);
/* Connects the ranks after the store is open and before ingest starts: rank 0 learns where the
 * chunks are. Files that lack chunks are read again. */
int spread_meet(struct index *ix, struct err *err);

#endif
