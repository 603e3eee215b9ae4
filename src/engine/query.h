/* query.h - the types that all folders of the engine share: a query, a worker that scans it, and
 * the current chunk and batch of the worker.
 *
 * Used by:   engine/ and answers.
 * Path:      query_open (plan/) fills struct query: files, tests, places; columns are added to it
 *            (derived/). A scan (scan/) makes a scan_worker for each thread, which scans one place
 *            after another: scan_chunk is its current chunk, scan_batch a number of rows of it.
 * Threads:   struct query belongs to one thread until it is scanned; then it does not change but
 *            for the members with a lock or atomics. A scan_worker, its chunk and its batches: one
 *            thread at a time; several workers of one query may run at once.
 * Lifetime:  arrays of a batch are borrowed until the next batch, texts of its values until the
 *            chunk ends.
 */
#ifndef DFTRACERD_ENGINE_QUERY_H
#define DFTRACERD_ENGINE_QUERY_H

#include <pthread.h>

#include "base/recbuf.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/query.h"
#include "dftracerd/vec.h"
#include "engine/scratch.h"
#include "engine/lang/dsl.h"

/* Maximum number of rows of a batch. Batches start at multiples of it in their chunk. */
#define SCAN_BATCH 2048
#define SCAN_WORDS (SCAN_BATCH / 64) /* of a bitmap over a batch */

/* ---- places, chunks, batches ----------------------------------------------------------------- */

/* A chunk to scan, or a range of its rows. */
struct scan_place {
    uint32_t file, chunk; /* position in the snapshot; position in index_file.chunks */
    uint32_t first_row;   /* rows before it are not selected */
    uint32_t end_row;     /* nor are rows from here on: a multiple of SCAN_BATCH; 0: no end */
    bool continued;       /* an earlier place is of the same chunk, which is counted once */
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
    bool tests_pass; /* the tests select every row */
    bool all;        /* every row is selected: the place and other filters exclude none, either */
    bool many;       /* many rows are selected: it pays to read columns as a whole */
    bool within;     /* selected rows are filtered by `within`, too: see derived/within.h */
    /* Set by chunk_plan or scan_chunk_rows: a bitmap in whole batches. Rows outside of it are not
     * selected, and the time_range of the query is ignored for those in it (by scan_chunk_rows the
     * whole query). NULL: all rows that the query selects. */
    const uint64_t *wanted;
};

struct scan_batch {
    struct scan_chunk *chunk;
    uint32_t number; /* unique in the chunk: first / SCAN_BATCH, or BATCH_ flags and a counter */
    uint32_t first;  /* row of the chunk at which the batch starts */
    /* by row of the batch: row of the chunk, ascending; NULL: those from `first` on */
    const uint32_t *places;
    uint32_t rows;          /* rows of the batch */
    uint32_t count;         /* selected ones, > 0 */
    const uint16_t *select; /* their numbers in the batch, ascending; NULL when count == rows */
    const uint64_t *mask;   /* the same as a bitmap of SCAN_WORDS words, zero beyond `rows` */
};

#define BATCH_GATHERED (1u << 31) /* see scan_worker_gather */
#define BATCH_OF_PLACES (3u << 30)

/* The values of a source in all selected rows of a chunk, in any order. */
struct scan_values {
    struct scan_chunk *chunk;
    const int64_t *values;
    uint32_t count;
    bool nano;
};

/* ---- query ----------------------------------------------------------------------------------- */

struct binding;
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
    struct within *within; /* NULL: without `within`; see derived/within.h */
    unsigned test_count;
    struct source *sources;
    unsigned source_count;
    struct scan_place *places;
    size_t place_count;
    pthread_mutex_t lock; /* counters */
    struct query_counters counters;
    struct rank_table *_Atomic ranks; /* see derived/ranks.h; NULL until first used */
    struct covered_files *covered;    /* see derived/covered.h; NULL until first used */
    /* plan/covered_find.h. It is needed while a column is bound to a chunk (derived/), but runs an
     * inner scan (scan/), a layer above: so query_open sets a pointer to it. */
    int (*find_covered)(struct query *q, uint32_t file, size_t max_calls, struct covered **ret);
    struct key_shard keys[KEY_SHARDS];
};

/* The name of a hash. */
struct resolved_name {
    uint32_t kind, hash, name;
    /* The file has no record of this hash. The name comes from other files, and may depend on the
     * process. */
    bool by_process;
};
struct scan_worker {
    struct query *query;
    struct scan_chunk chunk;
    const struct test *root; /* of the chunk: the query's, or the one without time_range */
    struct scan_batch batch;
    uint64_t serial; /* of the chunk, from 1 */
    /* The first error of the chunk. From then on no value is read: see no_values. The scan ends
     * with the current batch. */
    int error;
    /* memory for values after -ENOMEM: they are never read, because the scan fails */
    _Alignas(64) uint64_t spare[SCAN_BATCH + SCAN_WORDS];
    VEC(struct binding *) bindings; /* by source.id; NULL: not used yet */
    struct test_state *tests;
    const uint64_t *rows; /* of the chunk that pass the filter; NULL: it is evaluated by batch */
    uint64_t mask[SCAN_WORDS];
    /* Rows of the batch that may still be selected, NULL: all. Values of other rows need not be
     * computed. */
    const uint64_t *interest;
    uint16_t select[SCAN_BATCH + 64];  /* of the batch */
    uint32_t few[SCAN_BATCH];          /* result of batch_few */
    struct scratch other_rows, values; /* of test_values */
    bool gathers;                      /* see scan_worker_gather */
    struct gathered {
        struct scan_batch batch;
        uint32_t count;   /* gathered rows */
        uint32_t batches; /* so far in this chunk, with those of batch_of_places */
        uint32_t places[SCAN_BATCH];
        uint64_t mask[SCAN_WORDS];
    } gathered;
    VEC(struct resolved_name) resolved; /* names of resolved_file: see derived/hashed.c */
    struct hash_index resolved_index;
    const struct index_file *resolved_file;
    bool resolved_all;              /* all names of the file's own records are in `resolved` */
    struct query_counters counters; /* of this worker, added when it ends */
};

/* Keeps the first error. Returns true if rc is one. */
static inline bool worker_set_error(struct scan_worker *w, int rc)
{
    w->error = w->error ? w->error : rc < 0 ? rc : 0;
    return rc < 0;
}

/* ---- query.c --------------------------------------------------------------------------------- */

const struct query_env *query_environment(const struct query *q);
struct budget *query_budget(const struct query *q); /* never NULL */
/* Returns the ns until the deadline, 1 at least; 0: there is no deadline. */
int64_t query_time_left(const struct budget *b);
unsigned query_phases(const struct query *q);
/* Adds the numbers of chunks scanned, skipped and answered from summaries, of rows and of name
 * conflicts to the counters of the query; other members are ignored. Any thread. */
void query_count(struct query *q, const struct query_counters *add);
/* Encodes how much scans have counted since `before`, for rank 0. Returns the present counters. */
struct query_counters query_encode_counters(const struct query *q,
                                            const struct query_counters *before, struct buf *out);
/* Decodes that, and adds it to the counters. */
void query_decode_counters(struct query *q, struct rec *in);

/* Sets *ret to all chunks of the selected files that the catalog does not exclude, in (file, chunk)
 * order; borrowed from q. Returns their number. */
size_t scan_places(const struct query *q, const struct scan_place **ret);
/* Removes places for which keep() returns false; keep() may set first_row of the others. Only
 * before the first scan. */
void scan_keep_places(struct query *q, bool (*keep)(void *arg, struct scan_place *place),
                      void *arg);

/* Splits places of more than `rows` rows, so that the result of a place is bounded. Only before the
 * first scan. Returns 0 or -ENOMEM. */
int scan_split_places(struct query *q, uint32_t rows);

#endif
