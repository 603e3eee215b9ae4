/* chunk.h - the scan of one chunk for a sink. Between scan_run.c and scan_chunk.c. */
#ifndef DFTRACERD_ENGINE_SCAN_CHUNK_H
#define DFTRACERD_ENGINE_SCAN_CHUNK_H

#include <stdatomic.h>

#include "engine/scan/scan.h"

struct chunk_scan {
    const struct scan_sink *sink; /* its callbacks for chunks, batches and values are called */
    void *state;
    const atomic_bool *stop; /* becomes true when another worker has failed; NULL: never */
    uint64_t *rows;          /* see scan_chunk_rows; NULL: the query selects the rows */
    void *part;              /* out: result of chunk_end */
};
/* Scans one chunk, as scan_chunk. */
int chunk_run(struct scan_worker *w, size_t position, struct chunk_scan *s);

#endif
