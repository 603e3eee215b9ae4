/* scan.h - the scan engine, private to the query module: a selection of objects in, batches of
 * selected rows out.
 *
 * Used by:   stats*.c, group*.c, view*.c, rows*.c and other answers of this module.
 * Way:       query_open compiles the selection; query_source names the columns an answer needs
 *            (before scanning); then either scan_run (all chunks, spread over the pool, a sink gets
 *            batches) or a scan_worker and scan_chunk for chunk after chunk in an order of the
 *            caller's.
 * Threads:   query_source, scan_run: the query's thread. A scan_worker and everything reached from
 *            it (chunk, batch): one thread at a time; several workers of one query may run at once.
 *            query_key_* : any thread.
 * Lifetime:  what a batch gives is borrowed until the next batch (arrays) or until the chunk ends
 *            (texts of values). Keys, and texts had from query_key_value, live as long as the
 *            query.
 * Errors:    negative codes; an error of a worker stops the scan, the one of the first (file,
 *            chunk) is told.
 */
#ifndef DFTRACERD_ENGINE_SCAN_SCAN_H
#define DFTRACERD_ENGINE_SCAN_SCAN_H

#include "dftracerd/query.h"

/* rows of a batch at most; batches start at multiples of it in their chunk */
#define SCAN_BATCH 2048
#define SCAN_WORDS (SCAN_BATCH / 64) /* of a bitmap over a batch */

/* ---- what answers may look at in a query ----------------------------------------------------- */

const struct query_env *query_environment(const struct query *q);
struct budget *query_budget(const struct query *q); /* never NULL */
unsigned query_phases(const struct query *q);
/* Adds to the counters (chunks_from_summary ...; members that are not counts are ignored). Any
 * thread. */
void query_count(struct query *q, const struct query_counters *add);

/* A chunk to scan: position of its file in the snapshot, position in index_file.chunks. */
struct scan_place {
    uint32_t file, chunk;
    uint32_t first_row; /* rows before it are not selected */
    /* 0: all; else a multiple of SCAN_BATCH, and it and what is behind it are not */
    uint32_t end_row;
    bool rest; /* an earlier place is of the same chunk */
};
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

/* ---- columns of a query: stored or derived --------------------------------------------------- */

/* Paths as in the DSL: name cat pid tid ts te dur ph id type hhash fhash shash args.x.y, file host
 * cmd exec size rank trace, any other bare name = args.<name>; besides "@class", "@gap", "@len",
 * "@repaired". dur of an X event without one is 0; te of an object without dur is its ts. */
struct source;
/* Borrowed from the query; the same path gives the same source. Before the first scan or between
 * scans. 0, -ENOMEM. */
int query_source(struct query *q, struct text path, const struct source **ret);
/* floor((ts - origin) / interval) * interval in time: a COLUMN_TIME source. interval_ns 0: all
 * objects (with a ts or not) are in one bucket 0. Objects without ts: null. */
int query_source_bucket(struct query *q, __int128 interval_ns, __int128 origin_ns,
                        const struct source **ret);
/* A source of its own that groups by less: of those in `kept` (width 1, all placed, borrowed while
 * the query scans) each, of all others QUERY_KEY_OTHERS; kept NULL: by powers of two, whose keys
 * are the integers of query_key_bin, what is no number QUERY_KEY_OTHERS. Null stays null. For keys
 * and codes, not for values. Between scans. */
struct group_table;
int query_source_folded(struct query *q, const struct source *s, const struct group_table *kept,
                        const struct source **ret);
/* Is there a value in one of the columns (NULL: none)? First where the filter may select something,
 * until one of the bits `enough` was seen; if nothing was, in all of the selected files.
 * SEEN_MAYBE: there is nothing yet to tell it from. */
enum { SEEN_NUMBER = 1, SEEN_TEXT = 2, SEEN_MAYBE = 4 };
int query_seen(struct query *q, const struct source *const *sources, size_t count, unsigned enough,
               unsigned *ret);
/* not a column that all events may have, nor a derived one */
bool query_is_argument(const struct source *s);
/* ERR_PARAM naming `param` where no object of the selected files has such an argument. */
int query_check_column(struct query *q, const struct source *s, const char *param, struct err *err);
struct text source_path(const struct source *s); /* as asked */
/* The first set of densities (index.h) whose tuples have one value of each key and are selected or
 * not as a whole, but for time_range. -ENOENT: none. */
int query_tuple_set(const struct query *q, const struct source *const *keys, unsigned count);
bool source_is_time(
    const struct source *s); /* ts, te, dur, a bucket: numbers are told as VALUE_TIME */

/* ---- one chunk ------------------------------------------------------------------------------- */

enum scan_shape {
    SHAPE_NULL,   /* no row of the chunk has it */
    SHAPE_INT,    /* int64: batch_i64 */
    SHAPE_TIME,   /* int64 in us, or ns where scan_is_nano */
    SHAPE_BOOL,   /* int64 0 or 1 */
    SHAPE_DOUBLE, /* batch_f64 */
    SHAPE_TEXT,   /* texts only */
    SHAPE_MIXED,  /* values of several types */
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
    bool within; /* what the tests select is thinned, see within.h */
    /* Set by chunk_plan: a bitmap in whole batches. Of these rows those are selected that all but
     * time_range selects. NULL: all that the query selects. */
    const uint64_t *wanted;
};
enum scan_shape scan_shape(struct scan_chunk *c, const struct source *s);
bool scan_is_nano(struct scan_chunk *c, const struct source *s); /* SHAPE_TIME in ns */
/* Bounds of the chunk's values (not always tight) of SHAPE_INT, SHAPE_TIME, SHAPE_BOOL; else false.
 */
bool scan_range(struct scan_chunk *c, const struct source *s, int64_t *ret_min, int64_t *ret_max);
/* True when all rows of the chunk have this one key (null included). */
bool scan_constant(struct scan_chunk *c, const struct source *s, uint64_t *ret_key);

/* ---- one batch ------------------------------------------------------------------------------- */

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
/* Row of the chunk. */
static inline uint32_t batch_place(const struct scan_batch *b, uint32_t row)
{
    return b->places ? b->places[row] : b->first + row;
}

/* Rows of the chunk, ascending, as a batch of their own, of which no row is left out: for what is
 * asked of them alone. What other batches gave of the same sources is lost. */
struct scan_batch batch_of_places(struct scan_chunk *c, const uint32_t *places, uint32_t n);

/* Arrays over all rows of the batch, decoded when first asked for; values of rows that are not
 * selected mean nothing; value of a null row is 0. *ret_valid: bitmap, NULL when no row of the
 * batch is null. Return 0; -EDOM when the source has another shape in this chunk (SHAPE_NULL
 * included); -ENOMEM, ERR_CORRUPT, ERR_MEMORY_LIMIT, ERR_PATTERN_LIMIT. */
/* SHAPE_INT, SHAPE_TIME, SHAPE_BOOL; *ret_nano: see scan_is_nano (may be NULL). */
int batch_i64(struct scan_batch *b, const struct source *s, const int64_t **ret,
              const uint64_t **ret_valid, bool *ret_nano);
/* Numbers as doubles, times in us; of SHAPE_MIXED the rows that are numbers. Not SHAPE_BOOL,
 * SHAPE_TEXT. */
int batch_f64(struct scan_batch *b, const struct source *s, const double **ret,
              const uint64_t **ret_valid);
/* A key by row (those of rows that are not selected mean nothing), for any shape (never -EDOM):
 * equal values have equal keys across chunks, files, types of numbers and units (the time 5 us
 * equals 5000 ns; 5 equals 5.0; but a time never equals a plain number). QUERY_KEY_NULL = null. */
int batch_keys(struct scan_batch *b, const struct source *s, const uint64_t **ret);
/* The fast way of grouping: small dense codes within the chunk, 0 <= code < *ret_count, and
 * scan_code_keys() their keys (some codes may not occur; a null row has the code whose key is
 * QUERY_KEY_NULL; two codes may have the same key). Given for texts, mixed values, bools, and
 * integers and times that span at most `limit` values in this chunk; -EDOM otherwise or when there
 * would be more than `limit` codes. scan_codes decides, once a chunk and source; batch_codes then
 * gives them. *ret_keys is borrowed until the worker begins another chunk. */
int scan_codes(struct scan_chunk *c, const struct source *s, uint32_t limit, uint32_t *ret_count,
               const uint64_t **ret_keys);
int batch_codes(struct scan_batch *b, const struct source *s, const uint32_t **ret);
/* After scan_codes of both: whether each row has the same code of the one as of the other (a rank,
 * which comes from the pid). */
bool scan_same_codes(struct scan_chunk *c, const struct source *a, const struct source *b);
/* After scan_codes: whether codes are those of the chunk's own column, and so the same for every
 * query. */
bool scan_codes_are_stored(struct scan_chunk *c, const struct source *s);
/* Value of one row (number in the batch); texts are borrowed until the chunk ends. */
int batch_value(struct scan_batch *b, const struct source *s, uint32_t row, struct value *ret);

/* ---- keys ------------------------------------------------------------------------------------ */

#define QUERY_KEY_NULL 0ull
#define QUERY_KEY_OTHERS UINT64_MAX
/* Of a number: -1 below 0, 0 of [0, 1), n of [2^(n - 1), 2^n), of times in us. False: it is none.
 * Any thread. */
bool query_key_bin(struct query *q, uint64_t key, int *ret);
/* Key of a text (of a global id of the index), as batch_keys gives it. */
uint64_t query_key_text_id(uint32_t id);
/* Name behind a hash (text ids) as query sources tell it: the name's id, else `hash` itself. Counts
 * conflicts. */
uint32_t query_resolve(struct query *q, const struct index_file *file, int64_t pid,
                       enum index_name_kind kind, uint32_t hash);

/* ---- scanning -------------------------------------------------------------------------------- */

/* What all selected rows of a chunk have of a source, in any order. */
struct scan_values {
    struct scan_chunk *chunk;
    const int64_t *values;
    uint32_t count;
    bool nano;
};
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
int scan_tell(struct err *err, int rc);

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

/* The j-th selected row; and whether a row has a value, `valid` being what batch_i64 and its like
 * gave. */
static inline uint32_t batch_row(const struct scan_batch *b, uint32_t j)
{
    return b->select ? b->select[j] : j;
}
static inline bool batch_is_valid(const uint64_t *valid, uint32_t row)
{
    return !valid || (valid[row / 64] >> (row % 64) & 1);
}

/* Of the selected rows. */
static inline bool batch_all_valid(const struct scan_batch *b, const uint64_t *valid)
{
    uint64_t missing = 0;

    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        missing |= b->mask[i] & ~valid[i];
    return missing == 0;
}

/* Marks selected row numbers of a bitmap: fills out (SCAN_BATCH long), returns how many. */
uint32_t mask_to_select(const uint64_t *mask, uint32_t rows, uint16_t *out);

#endif
