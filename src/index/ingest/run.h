/* run.h - one pass of ingest over a file, and its results on their way from reader to worker to
 * writer.
 *
 * Used by:   ingest; index (files.c compares identities).
 * Threads:   a run is written by its reader until it is planned, then by the writer; `cancelled` by
 *            any. A result belongs to the thread that has it.
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
enum run_action { RUN_NOTHING, RUN_TOUCH /* only the identity is new */, RUN_READ };
enum run_state {
    RUN_READING, /* or results are still to be applied */
    RUN_STOPPED, /* there will be no more: ingest stops */
    RUN_ENDED    /* all of the file, or an error, or the run was cancelled */
};
enum run_stored { RUN_UNSTORED, RUN_IN_BATCH, RUN_COMMITTED /* some of it is in the store */ };
enum run_cancel {
    RUN_WANTED,
    RUN_CANCELLED,
    RUN_ABANDONED /* the store is full: as if it had not begun, or not gone on */
};
struct run {
    struct entry *entry;
    struct order *order; /* by or for another rank (order.h); freed with the run */
    uint32_t id, version;
    enum run_action action;
    enum run_state state;
    enum run_stored stored;
    atomic_uchar cancelled; /* enum run_cancel */
    bool fresh;             /* a new id: from the start */
    bool rebuild;           /* it was asked for */
    bool finished;          /* the file was taken not to grow any more */
    uint32_t summary_version;
    struct terms *terms;
    struct view *old;     /* what was known when it began */
    int64_t begin_ns;     /* monotonic */
    struct view *archive; /* of a member: what was known of its archive then; NULL */
    struct member_place member;
    struct archive_list members; /* of an archive, so far */
    struct hash128 text_sum;     /* of an archive, at its end */
    enum trace_unit unit;
    bool unit_fixed;
    struct identity identity;
    struct part *base, *tail; /* tail: NULL before the first chunk */
    bool tail_final;
    VEC(struct index_chunk) chunks;
    struct view *named;              /* of the last view: its names are sorted */
    VEC(struct trace_damage) damage; /* the first DAMAGE_KEPT */
    uint32_t damage_count;           /* of all */
    uint64_t index_bytes;
    struct trace_reader_info info;
    int error; /* reading ended with it */
    unsigned error_rank;
    /* its name does not lead to it: it has gone, or a directory above is closed */
    bool unreachable;
    struct hashes *hashes[DIMENSIONS_MAX];
    bool hashes_lost; /* the run began in the middle: those of the chunks before are not in it */
    uint64_t next_seq;
    struct result *waiting; /* results that came too early */
    bool dirty;
    struct run *next_dirty;
};

/* A chunk on its way from reader to worker to writer, or the end of a run. */
struct result {
    struct result *next;
    struct run *run;
    uint64_t seq;
    bool end;
    bool finished; /* an end: the file was taken not to grow any more */
    bool abrupt;   /* an end that does not wait for results before it: they will not come */
    bool walked;   /* no chunk: what was found in an archive */
    struct archive_list members;
    struct trace_chunk chunk; /* text freed by the worker */
    uint64_t text_len;
    struct trace_reader_info info;
    struct buf names; /* of its metadata records (catalog/names.h) */
    struct buf value;
    uint64_t value_len; /* also where the value is in the batch, or in the store of another rank */
    uint32_t rows;
    struct part *part;
    VEC(struct trace_checkpoint) checkpoints;
    VEC(struct trace_damage) damage;
    uint64_t *hashes[DIMENSIONS_MAX];
    uint32_t hash_count[DIMENSIONS_MAX];
    /* of an end: those of the chunks before the run; all or none */
    struct hashes *before[DIMENSIONS_MAX];
    bool other; /* values of dimensions may be in "@other": there is no telling which */
    int error;
    size_t credits;
    unsigned rank;         /* that has scanned it; 0: this one, or rank 0 */
    unsigned reader;       /* another rank that has read the text (divided.c); 0: this one */
    size_t reader_credits; /* which are free there once it is scanned */
};

void run_free(struct run *r);
/* Its first commit makes garbage of all that was known of the file. */
static inline bool run_replaces(const struct run *r)
{
    return r->fresh && !r->stored && r->old->pub.id;
}
/* Of the file, or of the archive's text where it is a member. */
static inline uint64_t run_bytes(const struct run *r)
{
    return r->archive ? r->member.size : r->identity.size;
}
int run_add_damage(struct run *run, const struct trace_damage *list, size_t count);
/* file.c: a run as a view. NULL without memory. */
struct view *run_view(struct index *ix, struct run *r, enum index_state state);
void result_free(struct result *r);

#endif
