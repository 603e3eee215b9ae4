/* scan.h - scans: chunks over the threads of the pool, or chunk after chunk; a sink gets batches of
 * selected rows.
 *
 * Used by:   plan/, group/, answers.
 * Way:       query_open compiles the selection; query_source names the columns an answer needs
 *            (before scanning); then either scan_run (all chunks, spread over the pool, a sink gets
 *            batches) or a scan_worker and scan_chunk for chunk after chunk in an order of the
 *            caller's.
 * Threads:   scan_run: the query's thread. A scan_worker and everything reached from it (chunk,
 *            batch): one thread at a time; several workers of one query may run at once.
 * Errors:    negative codes; an error of a worker stops the scan, the one of the first (file,
 *            chunk) is told.
 */
#ifndef DFTRACERD_ENGINE_SCAN_SCAN_H
#define DFTRACERD_ENGINE_SCAN_SCAN_H

#include "engine/derived/batch.h"
#include "engine/derived/columns.h"
#include "engine/derived/keys.h"

/* Callbacks of a scan. All but `batch` may be NULL. `state` is what worker_begin made. A negative
 * return stops the scan with that error. */
struct scan_sink {
    void *arg;
    bool ends_first; /* the first and the last place are scanned before the others */
    bool gathers;    /* see scan_worker_gathers() */
    /* workers begin far from another: for whom files have groups of their own, which are not to be
     * merged then */
    bool apart;
    int (*worker_begin)(void *arg, unsigned worker, void **ret_state); /* on the worker's thread */
    /* the chunk need not be opened; from any worker's thread */
    bool (*skip)(void *arg, size_t position);
    /* before anything is read: may set c->wanted */
    int (*chunk_plan)(void *state, struct scan_chunk *c);
    int (*chunk_begin)(void *state,
                       struct scan_chunk *c);        /* only chunks that may have selected rows */
    int (*batch)(void *state, struct scan_batch *b); /* only batches with selected rows */
    /* For whom nothing matters of rows but this source: its values instead of batches, where the
     * filter is such that one pass over its blocks tells them. -EDOM: batches after all. */
    const struct source *only;
    int (*values)(void *state, const struct scan_values *v);
    /* *ret_part (NULL: nothing) is given to `merge`. Called for each chunk that chunk_begin was
     * called for, if ok. */
    int (*chunk_end)(void *state, struct scan_chunk *c, void **ret_part);
    /* Takes the part. Called in (file, chunk) order, one at a time, from any worker's thread. On
     * errors too, so that parts are freed: `failed` says that the scan has failed already. */
    int (*merge)(void *arg, size_t position, void *part, bool failed);
    /* After all chunks, in worker order, on the calling thread, for each successful worker_begin.
     * Takes the state. */
    int (*worker_end)(void *arg, unsigned worker, void *state, bool failed);
};
/* Scans all places. Marks index_query_running while it works; checks the budget once a batch.
 * Counters are added. */
int scan_run(struct query *q, const struct scan_sink *sink, struct err *err);
/* Several scans at once (count > 0), of queries with the same environment. worker_end is called for
 * each on one thread, for several at a time. -ENOMEM: none has begun. */
struct scan_job {
    struct query *query;
    const struct scan_sink *sink;
    int error; /* out: 0, or what the scan failed with */
};
int scan_run_all(struct scan_job *jobs, size_t count);
/* Says why a scan failed: 0 or `rc`. */
int scan_error(struct err *err, int rc);

/* Chunk by chunk. */
int scan_worker_new(struct query *q, struct scan_worker **ret);
void scan_worker_free(struct scan_worker *w);
/* Selected rows that are few among the others come as batches of their own, from all of the chunk:
 * still in row order, but `places` tells where they were. For whom a row's neighbours do not
 * matter: it saves what a batch costs. */
void scan_worker_gathers(struct scan_worker *w);
/* Scans one place: batch(arg, b) for each batch that has selected rows, in row order. 0; ERR_END of
 * `batch` stops this chunk early and gives 0; its other negative returns are passed on; or an
 * error. Counts chunks and rows. */
int scan_chunk(struct scan_worker *w, size_t position,
               int (*batch)(void *arg, struct scan_batch *b), void *arg);
/* Calls batch for the rows whose bits are set in `rows`, without evaluating the query, which is
 * known to select them. `rows` has SCAN_WORDS words for each batch of the chunk; NULL: scan_chunk.
 */
int scan_chunk_rows(struct scan_worker *w, size_t position, uint64_t *rows,
                    int (*batch)(void *arg, struct scan_batch *b), void *arg);

#endif
