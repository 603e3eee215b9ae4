/* run.h - one pass of ingest over a file, and its results, which pass from reader to worker to
 * writer.
 *
 * Used by:   ingest; index (files.c compares identities).
 * Threads:   a run is written by its reader until it is planned, then by the writer; `cancelled` by
 *            any. A result belongs to the thread that handles it.
 * Memory:    freed by the writer.
 */
#ifndef DFTRACERD_INDEX_INGEST_RUN_H
#define DFTRACERD_INDEX_INGEST_RUN_H

#include "index/catalog/archive_list.h"
#include "index/catalog/view.h"
#include "index/summary/part.h"

struct entry;
struct hashes;
struct index;
struct order;
enum run_action { RUN_NOTHING, RUN_TOUCH /* only the identity has changed */, RUN_READ };
enum run_state {
    RUN_READING, /* or results have not been applied yet */
    RUN_STOPPED, /* there will be no more results: ingest stops */
    RUN_ENDED    /* the whole file was read, or an error occurred, or the run was cancelled */
};
/* some of its chunks are in the store */
enum run_stored { RUN_UNSTORED, RUN_IN_BATCH, RUN_COMMITTED };
enum run_cancel {
    RUN_WANTED,
    RUN_CANCELLED,
    RUN_ABANDONED /* the store is full: the state before the run is restored */
};
struct run {
    struct entry *entry;
    struct order *order; /* order from or to another rank (order.h); freed with the run */
    uint32_t id, version;
    enum run_action action;
    enum run_state state;
    enum run_stored stored;
    atomic_uchar cancelled; /* enum run_cancel */
    bool fresh;             /* reads from the start, with a new id */
    bool rebuild;           /* requested with index_rebuild */
    bool finished;          /* the file was considered complete */
    uint32_t summary_version;
    struct index_params *index_params;
    struct view *old;     /* the view when it began */
    int64_t begin_ns;     /* monotonic */
    struct view *archive; /* a member: the view of its archive at that time; NULL */
    struct member_place member;
    struct archive_list members; /* an archive: its members so far */
    struct hash128 text_sum;     /* an archive: hash of its text, at its end */
    enum trace_unit unit;
    bool unit_from_trace;
    struct identity identity;
    /* base: merged parts of all chunks but the last. tail: part of the last chunk, which is merged
     * into base when the next one arrives; NULL before the first chunk. */
    struct part *base, *tail;
    bool tail_complete; /* the last chunk is complete: see struct view */
    VEC(struct index_chunk) chunks;
    struct view *named;              /* the last view: its names are sorted */
    VEC(struct trace_damage) damage; /* the first INDEX_DAMAGE_KEPT */
    uint32_t damage_count;           /* including those beyond INDEX_DAMAGE_KEPT */
    uint64_t index_bytes;            /* of the values of its chunks */
    struct trace_reader_info info;   /* of the last result that was applied */
    int error;                       /* the error that ended reading */
    unsigned error_rank;             /* where it occurred */
    /* its path cannot be opened: the file is gone, or a directory is not searchable */
    bool unreachable;
    struct hashes *hashes[DIMENSIONS_MAX]; /* distinct values; NULL: none yet */
    bool hashes_lost;  /* the run began in the middle: values of the chunks before are missing */
    uint64_t next_seq; /* of the result to be applied next */
    struct result *waiting; /* results that have arrived early, by seq */
    bool dirty;             /* in the list writer.dirty */
    struct run *next_dirty;
};

/* A chunk on its way from reader to worker to writer, or the end of a run. */
struct result {
    struct result *next;
    struct run *run;
    uint64_t seq;  /* position in the run, from 0 */
    bool end;      /* the end of a run */
    bool finished; /* an end: the file was considered complete */
    bool abrupt;   /* an end that does not wait for the results before it: they will not arrive */
    bool walked;   /* not a chunk: a part of an archive */
    struct archive_list members;
    struct trace_chunk chunk; /* the worker frees its text */
    uint64_t text_len;
    struct trace_reader_info info;
    struct buf names; /* its metadata records (catalog/names.h) */
    struct buf value; /* the columns of the chunk */
    /* also valid if the value is in the batch, or in the store of another rank */
    uint64_t value_len;
    uint32_t rows;
    struct part *part;
    VEC(struct trace_checkpoint) checkpoints;
    VEC(struct trace_damage) damage;
    uint64_t *hashes[DIMENSIONS_MAX]; /* of the values of each dimension */
    uint32_t hash_count[DIMENSIONS_MAX];
    /* an end: values of the chunks before the run; all dimensions or none */
    struct hashes *before[DIMENSIONS_MAX];
    bool other; /* "@other" may contain values of any dimension */
    int error;
    size_t credits;        /* bytes, returned when it has been applied */
    unsigned rank;         /* the rank that has scanned it; 0: this one, or rank 0 */
    unsigned reader;       /* the rank that has read the text (divided.c); 0: this one */
    size_t reader_credits; /* credits that are returned to it after scanning */
};

void run_free(struct run *r);
/* Returns whether its first commit replaces all that is stored of the file. */
static inline bool run_replaces(const struct run *r)
{
    return r->fresh && !r->stored && r->old->pub.id;
}
/* Returns the size of the file, or of its text in the archive if it is a member. */
static inline uint64_t run_bytes(const struct run *r)
{
    return r->archive ? r->member.size : r->identity.size;
}
int run_add_damage(struct run *run, const struct trace_damage *list, size_t count);
/* file.c: makes a view of a run. Returns NULL without memory. */
struct view *run_view(struct index *ix, struct run *r, enum index_state state);
void result_free(struct result *r);

#endif
