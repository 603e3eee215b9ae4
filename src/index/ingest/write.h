/* write.h - the inside of the writer.
 *
 *   write.c     the thread: waits for results, decides when there is a commit, cleans up
 *   apply.c     results are taken into their runs
 *   store.c     the records of runs
 *   garbage.c   what is deleted later
 *   commit.c    commits, until they succeed
 *   publish.c   what is stored is seen
 *   full.c      a store that cannot grow
 *
 * Used by:   these files. Threads: the writer.
 */
#ifndef DFTRACERD_INDEX_INGEST_WRITE_H
#define DFTRACERD_INDEX_INGEST_WRITE_H

#include "index/catalog/catalog.h"
#include "index/ingest/flow.h"
#include "index/ingest/garbage.h"
#include "index/ingest/run.h"

struct writer {
    struct ingest *in;
    struct index *ix;
    struct kv_batch *batch;
    struct result *served, **served_end; /* of orders: sent to rank 0 after the commit */
    struct run *dirty;                   /* runs with something to be stored and published */
    uint32_t dirty_count;
    VEC(struct garbage) garbage;
    uint32_t garbage_files; /* whole files among them */
    bool reading;           /* somebody reads: much may still come */
    bool replacing;         /* the next commit makes a whole file garbage */
    bool freed;             /* the last one deleted a file: the next cannot use its pages yet */
    int64_t first_ns;       /* when the batch got its first */
    int64_t tick_ns;
    int64_t collect_ns;       /* garbage is not collected before */
    int64_t full_ns;          /* since when the store is full */
    uint32_t files_deleted;   /* garbage of whole files whose deletion is in the batch */
    uint64_t root_generation; /* of the last summary made ahead */
};

/* Puts what is known of the run into the batch. The view that is published after the commit; NULL:
 * nothing changes. */
struct view *store_run(struct writer *w, struct run *run);
void store_states(struct writer *w);

/* ---- garbage.c ------------------------------------------------------------------------------- */

/* It is garbage from the next commit on. */
void garbage_retire(struct writer *w, enum garbage_kind kind, uint32_t file, uint32_t a,
                    uint32_t b);
/* The same of an id, and all that is stored under it. */
void drop_id(struct writer *w, uint32_t id);
void collect_garbage(struct writer *w);

/* ---- apply.c --------------------------------------------------------------------------------- */

/* Takes it; one that comes before its turn waits. */
void apply_result(struct writer *w, struct result *r);

/* ---- commit.c -------------------------------------------------------------------------------- */

/* Stores and publishes what has changed. `clean`: the daemon stops. */
void commit_dirty(struct writer *w, bool clean);

/* After a commit (or a failed one, which stays in the batch): what is in the list is seen from now
 * on; runs that are over are freed. */
struct pending {
    struct run *run;
    struct view *view;
    bool over;
};
void publish(struct writer *w, struct pending *list, uint32_t count, bool stored);
void put_generation(struct writer *w, uint32_t changes, bool clean);

/* ---- full.c ---------------------------------------------------------------------------------- */

/* The store is full: the batch is relieved of the runs in the list, all runs end, and readers wait
 * until there is room. */
bool full_is(int error); /* ERR_STORE_FULL, ERR_ADDRESS_SPACE */
void full_abort(struct writer *w, struct pending *list, uint32_t count, int error);
/* The batch has lost something for want of memory: it is dropped whole, and all runs begin again
 * behind what is stored. */
void lost_abort(struct writer *w, struct pending *list, uint32_t count);
/* What answers see of a run that was given up; NULL: what they see now. */
struct view *full_view(struct run *run);
/* After a commit (of runs: of more than deletions and states), and each second: whether readers may
 * go on. */
void full_committed(struct writer *w, bool of_runs);
void full_tick(struct writer *w);

#endif
