/* scan.h - scans: all chunks of a query on the threads of the pool, or one chunk after another; a
 * sink gets batches of selected rows.
 *
 * Used by:   plan/, group/, cursor/, answers.
 * Path:      query_open compiles the selection; query_source names the columns that an answer
 *            needs (before scanning); then either scan_run (all chunks, spread over the pool) or
 *            scan_worker_new and scan_chunk, for one chunk after another in the caller's order.
 * Threads:   scan_run: the query's thread. A scan_worker and everything reached from it (chunk,
 *            batch): one thread at a time; several workers of one query may run at once.
 * Errors:    negative codes; an error of a worker stops the scan. If several workers fail, the
 *            error of the first (file, chunk) is returned.
 */
#ifndef DFTRACERD_ENGINE_SCAN_SCAN_H
#define DFTRACERD_ENGINE_SCAN_SCAN_H

#include "engine/derived/batch.h"
#include "engine/derived/columns.h"
#include "engine/derived/keys.h"

/* Callbacks of a scan. All but `batch` may be NULL. `state` is set by worker_begin. A negative
 * return stops the scan with that error. */
struct scan_sink {
    void *arg;
    bool ends_first; /* the first and the last place are scanned before the others */
    bool gathers;    /* see scan_worker_gather() */
    bool uncounted;  /* another scan counts the chunks */
    /* Each worker begins at another part of the chunks. For results that differ by file: each
     * worker then has its own groups, and fewer have to be merged. */
    bool apart;
    int (*worker_begin)(void *arg, unsigned worker, void **ret_state); /* on the worker's thread */
    /* Returns true for a chunk that is not to be opened. Called from any worker's thread. */
    bool (*skip)(void *arg, size_t position);
    /* Called before anything is read; may set c->wanted. */
    int (*chunk_plan)(void *state, struct scan_chunk *c);
    /* Called for chunks that may have selected rows. */
    int (*chunk_begin)(void *state, struct scan_chunk *c);
    /* Called for batches with selected rows. */
    int (*batch)(void *state, struct scan_batch *b);
    /* The only source that the sink reads. If one pass over its blocks also decides the filter,
     * `values` is called with all its values instead of `batch`. It may return -EDOM to get batches
     * after all. */
    const struct source *only;
    int (*values)(void *state, const struct scan_values *v);
    /* *ret_part (NULL: nothing) is passed to `merge`. Called for each chunk that chunk_begin was
     * called for, unless it failed. */
    int (*chunk_end)(void *state, struct scan_chunk *c, void **ret_part);
    /* The part becomes owned by the sink. Called in (file, chunk) order, one at a time, from any
     * worker's thread. If the scan has failed (`failed`), it only frees the part. */
    int (*merge)(void *arg, size_t position, void *part, bool failed);
    /* Frees the state. Called after all chunks, in worker order, on one thread, for each successful
     * worker_begin. */
    int (*worker_end)(void *arg, unsigned worker, void *state, bool failed);
};
/* Scans all places. Marks index_query_running meanwhile, checks the budget once a batch, and adds
 * to the counters of the query. */
int scan_run(struct query *q, const struct scan_sink *sink, struct err *err);
/* Runs several scans at once (count > 0), of queries with the same environment. The worker_end
 * calls of one scan are on one thread; those of different scans may run at the same time. Returns
 * 0, or -ENOMEM if none has begun. */
struct scan_job {
    struct query *query;
    const struct scan_sink *sink;
    int error; /* out: 0, or the error of the scan */
};
int scan_run_all(struct scan_job *jobs, size_t count);
/* Sets the text of a scan's error. Returns rc, or 0 if that is not negative. */
int scan_error(struct err *err, int rc);

/* ---- one chunk after another ----------------------------------------------------------------- */

int scan_worker_new(struct query *q, struct scan_worker **ret);
void scan_worker_free(struct scan_worker *w);
/* Where few rows of a batch are selected, they are gathered: rows of many batches of the chunk form
 * one, in row order, with their row numbers in `places`. This saves the fixed cost of a batch, for
 * callers that do not need the rows between them. */
void scan_worker_gather(struct scan_worker *w);
/* Scans one place: calls batch(arg, b) for each batch that has selected rows, in row order. Returns
 * 0, a negative result of `batch`, or an error of its own. If `batch` returns ERR_END, the rest of
 * the chunk is skipped and 0 is returned. Counts chunks and rows. */
int scan_chunk(struct scan_worker *w, size_t position,
               int (*batch)(void *arg, struct scan_batch *b), void *arg);
/* Scans as scan_chunk does, but only the rows whose bits are set in `rows`, without evaluating the
 * query, which is known to select them. `rows` has SCAN_WORDS words for each batch of the chunk;
 * NULL: the query selects the rows. Otherwise the chunk is not counted, for a scan has found the
 * rows. */
int scan_chunk_rows(struct scan_worker *w, size_t position, uint64_t *rows,
                    int (*batch)(void *arg, struct scan_batch *b), void *arg);

#endif
