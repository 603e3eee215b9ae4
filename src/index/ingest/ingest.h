/* ingest.h - indexing of files, which starts and stops with the index.
 *
 *   readers --- chunk text ---> workers --- columns ---> writer --- commit, new views
 *
 * May use:   all of index below it, trace, column. Used by: index.
 * Threads:   ingest_start, ingest_stop: one; the rest any.
 */
#ifndef DFTRACERD_INDEX_INGEST_INGEST_H
#define DFTRACERD_INDEX_INGEST_INGEST_H

#include "index/catalog/index.h"

/* Returns the memory of a chunk builder by the size of the chunk's text: measured two and a half
 * times. */
static inline uint64_t builder_bytes(uint64_t text)
{
    return text * 5 / 2;
}
int ingest_start(struct index *ix, struct err *err);
void ingest_stop(struct index *ix);
void ingest_wake(struct index *ix); /* wakes the writer */
/* Returns the number of pieces that workers inflated ahead and a reader used. */
uint64_t ingest_pieces(struct index *ix);

#endif
