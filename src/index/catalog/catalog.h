/* catalog.h - files that were offered: entries, their states, and the queue of those to be read.
 *
 *   catalog.c        entries, what is published of them
 *   catalog_gone.c   entries leave
 *   links.c          one file of several names
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
    struct entry *plain; /* of X.gz: X, where that was offered, too */
    struct run *run;     /* being read, or its end not yet committed */
    bool queued, again, rebuild, unit_fixed, offered;
    bool replaced;          /* the view is of another file that had the name; for the next run */
    bool was_corrupt;       /* found so by this process, and indexed again */
    uint64_t device, inode; /* by the last offer */
    bool symlink, linked;   /* linked: a symlink, or a file of several names */
    bool unsettled;         /* which of its names answers is not known yet: it is not seen */
    const struct entry *link_of; /* another name of the same file answers for it */
    bool asked;                  /* on demand: somebody wants it, or it has been read once */
    struct terms *terms;         /* of the next run, when asked for; NULL: those of the last */
    bool record_dirty;           /* its state is to be stored by the next commit */
    enum trace_unit unit;        /* of the next run, when unit_fixed: the trace has said it */
    struct identity seen;        /* by the last stat: size, inode, times */
    int64_t stable_since_ns;     /* monotonic: when `seen` last changed */
    int64_t check_ns;            /* monotonic: not looked at before */
    uint8_t failures;            /* of the system, in a row: readings that ended so */
    bool no_memory;              /* the last reading ended for lack of memory */
    struct entry *next_queued;
    uint16_t rank;    /* which reads it, where `placed` */
    uint64_t *shares; /* of a divided file: bytes that each rank is to scan; does not change */
    bool placed;
    bool is_archive;
    struct entry *members; /* of an archive */
    struct entry *archive; /* of a member; and its neighbours: */
    struct entry *next_member, *previous_member;
    struct member_place member;
    bool listed; /* by the last walk of the archive */
};

/* ---- all under index.lock unless said otherwise ---------------------------------------------- */

struct entry *catalog_entry(struct index *ix, const char *name, const char *path, bool make);
/* What an offer has found at the path (st NULL: nothing): it may be of several names (links.c). */
void catalog_note_link(struct index *ix, struct entry *e, const void *stat, bool symlink);
void catalog_queue(struct index *ix, struct entry *e, bool front);
/* queue.c: which rank reads which file. A file stays with its rank. */
int queues_init(struct index *ix);
void queues_done(struct index *ix);
bool queues_are_empty(const struct index *ix);
struct entry *queue_take(struct index *ix, unsigned rank); /* NULL: there is none */
int queue_place_again(struct index *ix, struct entry *e);  /* where its chunks are; -ENOMEM */
void queue_place_waiting(struct index *ix);                /* all files have been offered */
/* It is to be indexed anew. Visible at once: a client that waits for the index from now on waits
 * for this. */
void catalog_rebuild(struct index *ix, struct entry *e);
/* Listed, but not to be read before somebody asks for it. */
bool catalog_is_unrequested(const struct index *ix, const struct entry *e);
/* Something that answers tell has changed. */
void catalog_changed(struct index *ix);
void catalog_publish(struct index *ix, struct entry *e, struct view *v); /* takes v */
/* What a run has found; not told where the file has gone or is another one meanwhile. */
void catalog_publish_run(struct index *ix, struct entry *e, struct view *v);
/* The entry that answers for this one: another name of its file, or for X.gz the X of the same
 * text. NULL: none. */
const struct entry *catalog_duplicate_of(const struct entry *e);
/* It counts nowhere: missing, a duplicate, or not known yet whether it is one. */
bool catalog_is_hidden(const struct entry *e);
/* One that waits to be read is told with its size. */
void catalog_show_size(struct index *ix, struct entry *e);
/* Whether a reader has to look at it, by what the last offer has seen. */
bool catalog_is_news(const struct entry *e, int64_t mono_ns);
void catalog_notify(struct index *ix); /* without the lock */
void catalog_done(struct index *ix);
/* It is missing from now on; -ENOMEM. */
int catalog_forget(struct index *ix, struct entry *e);
/* One that was missing is there again, as a file like this. */
void catalog_revive(struct index *ix, struct entry *e, const struct identity *now);
/* catalog_gone.c: entries of names that are gone and not in the store are freed. */
void catalog_drop_gone(struct index *ix);

/* links.c: decides which names of one file answer, and queues what is to be read. */
void links_settle(struct index *ix);

#endif
