/* garbage.h - values that are deleted from the store when no snapshot reads them any more.
 *
 * Used by:   the writer; index (at its start, deletes what the last process has left).
 */
#ifndef DFTRACERD_INDEX_INGEST_GARBAGE_H
#define DFTRACERD_INDEX_INGEST_GARBAGE_H

#include "index/store/kv.h"

struct garbage {
    uint64_t generation;
    uint8_t kind;
    uint32_t file;
    uint32_t a, b; /* number and version of a chunk; a: version of a summary */
};
enum garbage_kind { GARBAGE_FILE, GARBAGE_CHUNK, GARBAGE_SUMMARY };
void garbage_delete(struct kv_batch *b, const struct garbage *g);

#endif
