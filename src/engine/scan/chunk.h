/* chunk.h - one chunk of a scan, with the hooks of a sink. Between scan_run.c and scan_chunk.c. */
#ifndef DFTRACERD_ENGINE_SCAN_CHUNK_H
#define DFTRACERD_ENGINE_SCAN_CHUNK_H

#include <stdatomic.h>

#include "engine/scan/scan.h"

/* scan_chunk with the hooks of a sink; `opened` is told before the first batch. */
struct chunk_hooks {
    void *arg;
    int (*plan)(void *arg, struct scan_chunk *c); /* as in scan_sink */
    int (*begin)(void *arg, struct scan_chunk *c);
    int (*batch)(void *arg, struct scan_batch *b);
    int (*end)(void *arg, struct scan_chunk *c);
    const struct source *only; /* as in scan_sink; NULL: batches */
    int (*values)(void *arg, const struct scan_values *v);
    const atomic_bool *stop;
    uint64_t *rows; /* see scan_chunk_rows; NULL: the query selects the rows */
};
int chunk_run(struct scan_worker *w, size_t position, const struct chunk_hooks *hooks);

#endif
