/* query.h - a query, the state of a worker that scans it, and the chunk and batch that the worker
 * is at: what all folders of the engine share.
 *
 * Used by:   engine/ and answers.
 * Way:       query_open (plan/) fills struct query: files, tests, places; columns are added to it
 *            (derived/). A scan (scan/) makes a scan_worker for each thread, which goes from place
 *            to place: scan_chunk is the chunk that it is at, scan_batch rows of it.
 * Threads:   struct query belongs to one thread until it is scanned; then it does not change but
 *            for the members with a lock or atomics. A scan_worker, its chunk and its batches: one
 *            thread at a time; several workers of one query may run at once.
 * Lifetime:  what a batch contains is borrowed until the next batch (arrays) or until the chunk
 *            ends (texts of values).
 */
#ifndef DFTRACERD_ENGINE_QUERY_H
#define DFTRACERD_ENGINE_QUERY_H

#include <pthread.h>

#include "base/recbuf.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/query.h"
#include "dftracerd/vec.h"
#include "engine/grow.h"
#include "engine/lang/dsl.h"

/* rows of a batch at most; batches start at multiples of it in their chunk */
#define SCAN_BATCH 2048
#define SCAN_WORDS (SCAN_BATCH / 64) /* of a bitmap over a batch */

/* ---- places, chunks, batches ----------------------------------------------------------------- */

/* A chunk to scan: position of its file in the snapshot, position in index_file.chunks. */
struct scan_place {
    uint32_t file, chunk;
    uint32_t first_row; /* rows before it are not selected */
    /* 0: all; else a multiple of SCAN_BATCH, and it and what is behind it are not */
    uint32_t end_row;
    bool rest; /* an earlier place is of the same chunk */
};

struct scan_worker;
struct scan_chunk {
    struct scan_worker *worker;
    struct query *query;
    size_t position; /* in scan_places */
    struct scan_place place;
    const struct index_file *file;
    const struct index_chunk *info;
    struct chunk_view *view;
    uint32_t rows;
    bool every;  /* the tests select every row */
    bool all;    /* every row of the chunk is selected */
    bool most;   /* many rows are: it pays to read columns as a whole */
    bool within; /* what the tests select is thinned, see derived/within.h */
    /* Set by chunk_plan: a bitmap in whole batches. Of these rows those are selected that all but
     * time_range selects. NULL: all that the query selects. */
    const uint64_t *wanted;
};

struct scan_batch {
    struct scan_chunk *chunk;
    uint32_t number; /* of the batch in its chunk */
    uint32_t first;  /* row of the chunk at which the batch starts */
    /* gathered: rows of the chunk, ascending; NULL: those from `first` on */
    const uint32_t *places;
    uint32_t rows;          /* rows of the batch */
    uint32_t count;         /* selected ones, > 0 */
    const uint16_t *select; /* their numbers in the batch, ascending; NULL when count == rows */
    const uint64_t *mask;   /* the same as a bitmap of SCAN_WORDS words, zero beyond `rows` */
};

/* What all selected rows of a chunk have of a source, in any order. */
struct scan_values {
    struct scan_chunk *chunk;
    const int64_t *values;
    uint32_t count;
    bool nano;
};

/* ---- query ----------------------------------------------------------------------------------- */

struct bound;
struct covered;
struct covered_files;
struct rank_table;
struct source;
struct test;
struct test_state;
struct within;

enum { KEY_SHARDS = 16 }; /* see derived/keys.h */
struct key_shard {
    pthread_mutex_t lock;
    struct intern *texts;
    struct charge charge;
};

struct query {
    struct query_env env;
    struct snapshot *snapshot;
    struct budget *budget, own_budget;
    uint32_t *files;
    size_t file_count;
    unsigned phases;
    bool unfiltered, complete, no_pruning;
    struct arena arena;
    struct dsl dsl, preset;
    struct test *root;     /* NULL: everything */
    struct test *timeless; /* the same without time_range */
    struct within *within; /* NULL: not asked for; see derived/within.h */
    unsigned test_count;
    struct source *sources;
    unsigned source_count;
    struct scan_place *places;
    size_t place_count;
    pthread_mutex_t lock; /* counters */
    struct query_counters counters;
    struct rank_table *_Atomic ranks; /* see derived/ranks.h; NULL until asked for */
    struct covered_files *covered;    /* see derived/covered.h; NULL until it is used */
    /* plan/covered_find.h. What it finds is first needed while a column is bound to a chunk, and it
     * is found by an inner scan, which is above that: so opening a query sets it. */
    int (*find_covered)(struct query *q, uint32_t file, size_t most, struct covered **ret);
    struct key_shard keys[KEY_SHARDS];
};

struct resolved_name { /* behind a hash; `depends`: on the process */
    uint32_t kind, hash, name;
    bool depends;
};
struct scan_worker {
    struct query *query;
    struct scan_chunk chunk;
    const struct test *root; /* of the chunk: the query's, or the one without time_range */
    struct scan_batch batch;
    uint64_t serial; /* of the chunk, from 1 */
    /* The first one of the chunk, which fails. From then on no value is read any more: see
     * no_values; and the scan ends with the batch. */
    int error;
    /* for values that have no memory: nobody sees them */
    _Alignas(64) uint64_t spare[SCAN_BATCH + SCAN_WORDS];
    VEC(struct bound *) bound; /* by source.id; NULL: not used yet */
    struct test_state *tests;
    const uint64_t *rows; /* of the chunk that pass the filter; NULL: see each batch */
    uint64_t mask[SCAN_WORDS];
    /* Rows of the batch that may still be selected, NULL: all. What nobody can see need not be
     * found out. */
    const uint64_t *interest;
    uint16_t select[SCAN_BATCH + 64];
    uint32_t few[SCAN_BATCH];
    struct grow besides, taken; /* of test_take */
    bool gathers;
    struct gathered {
        struct scan_batch batch;
        uint32_t count, made; /* rows that wait; batches of this chunk that were told */
        uint32_t places[SCAN_BATCH];
        uint64_t mask[SCAN_WORDS];
    } gathered;
    VEC(struct resolved_name) resolved; /* of resolved_file */
    struct hash_index resolved_index;
    const struct index_file *resolved_file;
    bool resolved_all;              /* names of the file's own records */
    struct query_counters counters; /* of this worker, added when it ends */
};

/* Keeps the first error; true: rc is one. */
static inline bool worker_fails(struct scan_worker *w, int rc)
{
    w->error = w->error ? w->error : rc < 0 ? rc : 0;
    return rc < 0;
}

/* ---- query.c --------------------------------------------------------------------------------- */

const struct query_env *query_environment(const struct query *q);
struct budget *query_budget(const struct query *q); /* never NULL */
unsigned query_phases(const struct query *q);
/* Adds to the counters (chunks_from_summary ...; members that are not counts are ignored). Any
 * thread. */
void query_count(struct query *q, const struct query_counters *add);
/* What another rank has counted since `before`, as bytes; returns what it counts now. */
struct query_counters query_put_counters(const struct query *q, const struct query_counters *before,
                                         struct buf *out);
void query_take_counters(struct query *q, struct rec *in);

/* All chunks of the selected files which the catalog could not rule out, in (file, chunk) order.
 * Borrowed from q. */
size_t scan_places(const struct query *q, const struct scan_place **ret);
/* Leaves out places for which keep() is false; it may set first_row of the others. Before the first
 * scan. */
void scan_keep_places(struct query *q, bool (*keep)(void *arg, struct scan_place *place),
                      void *arg);

/* Makes several places of what has more rows, so that what a place gives is bounded. Before the
 * first scan. 0, -ENOMEM. */
int scan_split_places(struct query *q, uint32_t rows);

#endif
