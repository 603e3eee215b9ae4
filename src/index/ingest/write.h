/* write.h - the inside of the writer.
 *
 *   write.c     the thread: waits for results, decides when to commit, cleans up
 *   apply.c     applies results to their runs
 *   store.c     the records of runs
 *   garbage.c   what is deleted later
 *   commit.c    commits, until they succeed
 *   publish.c   publishes what is stored
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
    struct kv_batch *batch;              /* what the next commit stores */
    struct result *served, **served_end; /* results of orders: sent to rank 0 after the commit */
    struct run *dirty;                   /* runs with something to be stored and published */
    uint32_t dirty_count;
    VEC(struct garbage) garbage;
    uint32_t garbage_files; /* number of whole files among them */
    bool reading;           /* readers are active: more results may come */
    bool replacing;         /* the next commit makes a whole file garbage */
    /* the last commit deleted a file: the next one cannot use its pages yet */
    bool freed;
    /* monotonic times: */
    int64_t first_ns;          /* of the first change in the batch */
    int64_t tick_ns;           /* of the last upkeep */
    int64_t collect_ns;        /* garbage is not collected before this time */
    int64_t full_ns;           /* time since when the store is full */
    uint32_t files_deleted;    /* number of whole files whose deletion is in the batch */
    uint64_t total_generation; /* generation of the last prepared total summary */
};

/* Adds the records of the run to the batch. Returns the view to be published after the commit;
 * NULL: nothing changes. */
struct view *store_run(struct writer *w, struct run *run);
void store_states(struct writer *w);

/* ---- garbage.c ------------------------------------------------------------------------------- */

/* Makes a value garbage from the next commit on. */
void garbage_retire(struct writer *w, enum garbage_kind kind, uint32_t file, uint32_t a,
                    uint32_t b);
/* Deletes the record of a file, and makes all else that is stored under its id garbage. */
void garbage_retire_file(struct writer *w, uint32_t id);
void garbage_collect(struct writer *w);

/* ---- apply.c --------------------------------------------------------------------------------- */

/* Applies a result, which becomes owned by the writer. One that arrives early waits. */
void apply_result(struct writer *w, struct result *r);

/* ---- commit.c -------------------------------------------------------------------------------- */

/* Stores and publishes what has changed. `clean`: the daemon stops. */
void commit_dirty(struct writer *w, bool clean);

/* Publishes the views in the list after a commit (`stored`), or after one that failed and stays in
 * the batch, and frees runs that have ended. */
struct pending_view {
    struct run *run;
    struct view *view; /* owned; NULL: nothing changes */
    bool over;         /* the run has ended */
};
void publish_views(struct writer *w, struct pending_view *list, uint32_t count, bool stored);
/* Adds the generation to the batch. `changes`: number of generations that the batch begins.
 * `clean`: the daemon stops. */
void store_generation(struct writer *w, uint32_t changes, bool clean);

/* ---- full.c ---------------------------------------------------------------------------------- */

/* Handles a full store: removes the runs in the list from the batch, ends all runs, and makes
 * readers wait until there is space. */
bool full_is_error(int error); /* true for ERR_STORE_FULL and ERR_ADDRESS_SPACE */
void full_abort(struct writer *w, struct pending_view *list, uint32_t count, int error);
/* Handles a batch that is incomplete for lack of memory: drops it, and restarts all runs after what
 * is stored. */
void lost_abort(struct writer *w, struct pending_view *list, uint32_t count);
/* Returns the view after an aborted run; NULL: the present view stays. */
struct view *full_view(struct run *run);
/* Decides whether readers may resume: after a commit (of_runs: of more than deletions and states),
 * and each second. */
void full_committed(struct writer *w, bool of_runs);
void full_tick(struct writer *w);

#endif
