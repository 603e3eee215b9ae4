/* catalog.h - files that were offered: entries, their states, and the queue of those to be read.
 *
 *   catalog.c        entries and their published views
 *   catalog_gone.c   frees entries
 *   links.c          files with several names
 *   queue.c          which rank reads which file
 *
 * May use:   view, index.h. Used by: catalog, ingest, index.
 * Memory:    an entry lives until catalog_drop_gone or catalog_done.
 */
#ifndef DFTRACERD_INDEX_CATALOG_CATALOG_H
#define DFTRACERD_INDEX_CATALOG_CATALOG_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"

struct run;
struct entry {
    const char *name, *path;
    struct view *view;   /* never NULL once offered */
    struct entry *plain; /* for X.gz: X, if it has been offered */
    struct run *run;     /* the current run, until its end is committed */
    bool queued;         /* in a queue, or waits in index.unplaced */
    bool again;          /* is queued again when the current run has ended */
    bool rebuild;        /* the next run reads the whole file */
    bool offered;        /* by the watcher, and not forgotten since */
    bool unit_from_trace;
    bool replaced;          /* the view is of a previous file with this name; for the next run */
    bool was_corrupt;       /* this process found it corrupt, and indexes it again */
    uint64_t device, inode; /* at the last offer */
    bool symlink, linked;   /* linked: a symlink, or a file with several names */
    /* it is not known yet which name of the file represents it: the entry is hidden */
    bool unresolved;
    const struct entry *link_of; /* another name of the same file, which represents it */
    bool requested;              /* on_demand: a request selected it, or it was read once */
    /* options of the next run, if requested; NULL: those of the last run */
    struct index_params *index_params;
    bool record_dirty;       /* the next commit stores its state */
    enum trace_unit unit;    /* unit of the next run, if unit_from_trace: the trace specifies it */
    struct identity seen;    /* at the last stat: size, inode, times */
    int64_t stable_since_ns; /* monotonic: when `seen` last changed */
    int64_t check_ns;        /* monotonic: time of the next check */
    /* number of successive runs that ended with an error of the system */
    uint8_t failures;
    bool no_memory; /* the last run ended for lack of memory */
    struct entry *next_queued;
    uint16_t rank;    /* the rank that reads it, if `placed` */
    uint64_t *shares; /* a divided file: bytes that each rank scans; does not change */
    bool placed;
    bool is_archive;
    struct entry *members; /* an archive: its first member */
    bool offer_again;      /* an archive: see archive_offer_members */
    struct entry *archive; /* a member: its archive and its neighbours */
    struct entry *next_member, *previous_member;
    struct member_place member;
    bool listed; /* a member: the last walk of the archive found it */
};

/* ---- all under index.lock unless said otherwise ---------------------------------------------- */

struct entry *catalog_entry(struct index *ix, const char *name, const char *path, bool make);
/* Records what an offer has found at the path (a struct stat; NULL: nothing). The file may have
 * several names (links.c). */
void catalog_note_link(struct index *ix, struct entry *e, const void *stat, bool symlink);
void catalog_queue(struct index *ix, struct entry *e, bool front);
/* queue.c: decides which rank reads which file. A file keeps its rank. */
int queues_init(struct index *ix);
void queues_done(struct index *ix);
bool queues_are_empty(const struct index *ix);
struct entry *queue_next_file(struct index *ix, unsigned rank); /* NULL if the queue is empty */
/* Assigns a file to the ranks that have its chunks. Returns 0 or -ENOMEM. */
int queue_assign(struct index *ix, struct entry *e);
void queue_assign_waiting(struct index *ix); /* assigns all others; after index_listed */
/* Queues the file to be indexed again. Visible at once: a client that waits for the index from now
 * on also waits for this. */
void catalog_rebuild(struct index *ix, struct entry *e);
/* Returns whether the file is only listed, and is read on request. */
bool catalog_is_unrequested(const struct index *ix, const struct entry *e);
/* Must be called when answers may change: starts a new generation. */
void catalog_changed(struct index *ix);
/* Replaces the view of the entry by `v`, which becomes owned by it. */
void catalog_publish(struct index *ix, struct entry *e, struct view *v);
/* Like catalog_publish, for the view of a run. It stays hidden if the file is gone, or is another
 * one meanwhile. */
void catalog_publish_run(struct index *ix, struct entry *e, struct view *v);
/* Returns the entry that represents this one: another name of its file, or for X.gz the X with the
 * same text. NULL: none. */
const struct entry *catalog_duplicate_of(const struct entry *e);
/* Returns whether snapshots and sums leave out the entry: it is missing, a duplicate, or not yet
 * known not to be one. */
bool catalog_is_hidden(const struct entry *e);
/* Publishes the size of a file that waits to be read. */
void catalog_publish_size(struct index *ix, struct entry *e);
/* Returns whether the file has to be read, by its state at the last offer. */
bool catalog_needs_reading(const struct entry *e, int64_t mono_ns);
void catalog_notify(struct index *ix); /* without the lock */
void catalog_done(struct index *ix);
/* Marks the entry as missing. Returns 0 or -ENOMEM. */
int catalog_forget(struct index *ix, struct entry *e);
/* Marks a missing entry as present again, with this identity. */
void catalog_revive(struct index *ix, struct entry *e, const struct identity *now);
/* catalog_gone.c: frees the entries of names that are gone and are not in the store. */
void catalog_drop_gone(struct index *ix);

/* links.c: decides which name represents a file that has several, and queues files to be read. */
void links_resolve(struct index *ix);

#endif
