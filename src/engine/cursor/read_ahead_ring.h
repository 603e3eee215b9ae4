/* read_ahead_ring.h - the state of read_ahead.c, which has pool threads make items, and of
 * read_ahead_pull.c, which has remote ranks make them.
 *
 * Threads:   `lock` guards everything but maker, pool, positions and count, which do not change.
 *            Functions of this header are called with the lock held unless they say otherwise.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_READ_AHEAD_RING_H
#define DFTRACERD_ENGINE_CURSOR_READ_AHEAD_RING_H

#include "engine/cursor/pull.h"
#include "engine/cursor/read_ahead.h"

#include <pthread.h>

#define PULL_SMALL_BYTES ((size_t)64 << 10) /* an item of a remote rank below this is small */
#define PULL_WINDOW 16u /* min. items in advance with remote ranks; if small, for each rank */

/* QUEUED: this process is to make it. REMOTE: a remote rank is to make it, but has no request for
 * it yet. */
enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_REMOTE, SLOT_RUNNING, SLOT_DONE };
struct slot {
    enum slot_state state;
    uint64_t number; /* of the item: index in `positions` */
    void *item;      /* DONE: owned by the slot; NULL: the place has none */
    int rc;          /* DONE: 0, or why there is no item */
    unsigned rank;   /* that makes it; 0: this process */
    size_t bytes;    /* share of pull_bytes */
};

/* NEW: no request yet. OPENING: its first request is under way, others wait for that. FAILED: its
 * items are made by this process. */
enum rank_state { RANK_NEW, RANK_OPENING, RANK_OPEN, RANK_FAILED };

struct read_ahead {
    struct item_maker maker;
    struct pool *pool; /* NULL: the caller makes all items */
    size_t *positions, count;

    pthread_mutex_t lock;
    pthread_cond_t done;        /* `awaited` is done */
    const struct slot *awaited; /* the slot the caller waits for */
    unsigned references;        /* the caller's, and one for each job in the pool */
    unsigned jobs;              /* in the pool, at most one for each thread */
    bool closing;
    bool small;            /* the item made last was small */
    bool low_memory;       /* one item at a time */
    uint64_t next, filled; /* next item to return; first item without a slot */
    unsigned window;       /* number of items to make in advance */
    unsigned large_max;    /* max. window, unless items are small */
    unsigned slots;        /* max. window if they are small; item n has slot[n % slots] */
    struct slot *slot;
    unsigned queued;          /* slots that are QUEUED */
    int64_t returned_ns;      /* time when the last item was returned; 0: none yet */
    struct item_tools **idle; /* a stack */
    unsigned idle_count;

    /* items that remote ranks make */
    struct pull *pull; /* NULL: none */
    struct pull_client client;
    pthread_cond_t pullable; /* there may be a run for a rank */
    enum rank_state *ranks;  /* by rank */
    bool stopped;            /* the ranks were requested to stop */
    bool ending;             /* no further requests */
    bool pausing;            /* no further requests until slots are free again */
    unsigned remote;         /* slots that are REMOTE */
    unsigned idle_pulls;     /* threads that wait for a run */
    size_t pull_max;         /* max. pull_bytes */
    size_t pull_bytes;       /* of runs under way, and of items that were received */
    size_t item_bytes;       /* average size of an item; 0: not known yet */
};

/* Queues a slot for this process. */
static inline void slot_queue(struct read_ahead *a, struct slot *slot)
{
    slot->state = SLOT_QUEUED;
    a->queued++;
}

/* ---- read_ahead_pull.c ----------------------------------------------------------------------- */

/* Sets a->pull if remote ranks have chunks of the query; the lock is not held. `done` is called at
 * the end of a run, also without the lock. */
int read_ahead_begin_pull(struct read_ahead *a,
                          void (*done)(void *arg, const struct pull_run *run));
/* Adds the items that were received. The others are requested again, or queued for this process if
 * the rank failed. */
void read_ahead_end_run(struct read_ahead *a, const struct pull_run *run);
/* Returns when no rank has the request open. Releases the lock meanwhile. */
void read_ahead_end_pull(struct read_ahead *a);
/* Queues a slot for the rank that has its chunk, or for this process. */
void slot_assign(struct read_ahead *a, struct slot *slot);
/* Ensures that a thread pulls REMOTE slots. Without any thread, they are queued for this process.
 */
void read_ahead_start_pulls(struct read_ahead *a);
/* Wakes one thread that pulls, which wakes the next one when it has a run. */
void read_ahead_wake_pull(struct read_ahead *a);

#endif
