/* spread.h - an index that is spread over several ranks (index/ranks/ranks.h). See spread.c. */
#ifndef DFTRACERD_INDEX_SPREAD_H
#define DFTRACERD_INDEX_SPREAD_H

#include "index/catalog/index.h"

/* Before the store is opened: links to the other ranks, and the queues of files. 0, -ENOMEM;
 * -E2BIG: more than INDEX_RANKS_MAX. */
int spread_init(struct index *ix);
/* The store is open, and ingest is not: rank 0 learns where the chunks are. Files of whose chunks
 * some are not to be had are read anew. */
int spread_meet(struct index *ix, struct err *err);

#endif
