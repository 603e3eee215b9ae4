/* chunk.h - one chunk of a scan, with the hooks of a sink. Between scan_run.c and scan_chunk.c. */
#ifndef DFTRACERD_ENGINE_SCAN_CHUNK_H
#define DFTRACERD_ENGINE_SCAN_CHUNK_H

#include <stdatomic.h>

#include "engine/scan/scan.h"

/* The callbacks of scan_sink that concern one chunk. */
struct chunk_hooks {
    void *arg;
    int (*plan)(void *arg, struct scan_chunk *c);
    int (*begin)(void *arg, struct scan_chunk *c);
    int (*batch)(void *arg, struct scan_batch *b);
    int (*end)(void *arg, struct scan_chunk *c);
    const struct source *only; /* NULL: batches */
    int (*values)(void *arg, const struct scan_values *v);
    const atomic_bool *stop; /* becomes true when another worker has failed; NULL: never */
    uint64_t *rows;          /* see scan_chunk_rows; NULL: the query selects the rows */
};
/* Scans one chunk, as scan_chunk. */
int chunk_run(struct scan_worker *w, size_t position, const struct chunk_hooks *hooks);

#endif
