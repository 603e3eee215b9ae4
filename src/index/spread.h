/* spread.h - an index that is spread over several ranks (index/ranks/ranks.h). See spread.c. */
#ifndef DFTRACERD_INDEX_SPREAD_H
#define DFTRACERD_INDEX_SPREAD_H

#include "index/catalog/index.h"

/* Creates links to the other ranks, and the queues of files, before the store is opened. Returns 0,
 * -ENOMEM, or -E2BIG (more than INDEX_RANKS_MAX). */
int spread_init(struct index *ix);
/* After the store is open and before ingest starts. Rank 0 connects to the others, and learns where
 * the chunks are; the others only check their own files. Files that lack chunks are read again. */
int spread_connect(struct index *ix, struct err *err);

#endif
