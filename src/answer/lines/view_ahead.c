/* view_ahead.c - a ring of items that workers fill and one thread empties. */
#include "answer/lines/view_ahead.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Items that are taken within this time are worth being made ahead: some 4 MiB of text each. */
#define QUICK_NS (250 * 1000000ll)
/* A job makes item after item for so long, then it queues up again behind others. */
#define JOB_NS (2 * 1000000ll)
/* Items that take less are small, in memory, too: to wake a thread costs as much as to make one.
 * SMALL_TIMES as many are made ahead, and no job is begun for a few of them. */
#define SMALL_NS (200 * 1000ll)
#define SMALL_TIMES 4u

enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_RUNNING, SLOT_DONE };
struct slot {
    enum slot_state state;
    uint64_t number; /* of the item: position in `positions` */
    void *item;
    int rc;
};

struct ahead {
    struct ahead_maker maker;
    struct pool *pool; /* NULL: the caller makes all */
    pthread_mutex_t lock;
    pthread_cond_t done;
    const struct slot *wanted; /* the caller waits for this one */
    unsigned references;       /* the caller, and each job in the pool */
    unsigned jobs;             /* in the pool, at most one a thread */
    bool closing, small;       /* small: so was the item that was made last */
    size_t *positions, count;
    uint64_t next, filled;     /* item to hand out; first that has no slot yet */
    unsigned window, slots;    /* window: items to be made ahead */
    unsigned queued;           /* slots that nobody has begun */
    int64_t handed_ns;         /* an item was handed out last; 0 = never */
    struct slot *slot;         /* of item n: n % slots */
    struct ahead_tools **idle; /* a stack */
    unsigned idle_count;
    bool alone; /* memory is short: one item at a time */
};

/* ---- tools ----------------------------------------------------------------------------------- */

void tools_close_text(struct ahead_tools *t)
{
    if (!t->file)
        return;
    trace_text_close(t->text);
    if (t->fd >= 0)
        close(t->fd);
    t->file = NULL;
}

int tools_text(struct ahead_tools *t, struct query *q, const struct index_file *file,
               struct trace_text **ret)
{
    if (t->file != file) {
        tools_close_text(t);
        int rc = index_text_open(query_index(q), query_snapshot(q), file, &t->text, &t->fd);
        if (rc < 0)
            return rc;
        t->file = file;
    }
    *ret = t->text;
    return 0;
}

static void tools_free(struct ahead_tools *t)
{
    if (!t)
        return;
    tools_close_text(t);
    scan_worker_free(t->scan);
    free(t);
}

/* Both: caller holds the lock. NULL: there are none to be had without making them, or to be given
 * back. */
static struct ahead_tools *tools_take(struct ahead *a)
{
    return a->idle_count ? a->idle[--a->idle_count] : NULL;
}

static void tools_give(struct ahead *a, struct ahead_tools *tools)
{
    if (tools)
        a->idle[a->idle_count++] = tools;
}

static int tools_make(struct ahead *a, struct ahead_tools **ret)
{
    struct ahead_tools *t = calloc(1, sizeof(*t));
    int rc = t ? scan_worker_new(a->maker.query, &t->scan) : -ENOMEM;

    if (rc < 0)
        tools_free(t);
    else
        *ret = t;
    return rc;
}

/* ---- making one item ------------------------------------------------------------------------- */

/* The slot is RUNNING and belongs to this thread, which has the lock, but not in between. `tools`
 * are made if there are none. */
static void run_slot(struct ahead *a, struct slot *slot, struct ahead_tools **tools)
{
    struct index *ix = query_index(a->maker.query);
    void *item = NULL;

    pthread_mutex_unlock(&a->lock);
    int64_t began = clock_mono_ns();
    index_query_running(ix, 1);
    int rc = budget_check(query_budget(a->maker.query));
    if (rc == 0 && !*tools)
        rc = tools_make(a, tools);
    if (rc == 0)
        rc = a->maker.make(a->maker.arg, *tools, a->positions[slot->number], &item);
    index_query_running(ix, -1);
    if (rc < 0 && *tools)
        tools_close_text(*tools); /* its state after an error is not to be relied on */
    bool small = clock_mono_ns() - began < SMALL_NS;
    pthread_mutex_lock(&a->lock);
    a->small = small;
    slot->item = item;
    slot->rc = rc;
    slot->state = SLOT_DONE;
    if (a->wanted == slot)
        pthread_cond_signal(&a->done);
}

static void ahead_destroy(struct ahead *a)
{
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->done);
    free(a->positions);
    free(a->slot);
    free(a->idle);
    free(a);
}

/* The slot is to be made by this thread. Caller holds the lock. */
static struct slot *take_slot(struct ahead *a, struct slot *slot)
{
    slot->state = SLOT_RUNNING;
    a->queued--;
    return slot;
}

/* Takes the first item that nobody has begun; NULL: none. Caller holds the lock. */
static struct slot *take_queued(struct ahead *a)
{
    for (uint64_t n = a->next; n < a->filled && a->queued && !a->closing; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        if (slot->state == SLOT_QUEUED)
            return take_slot(a, slot);
    }
    return NULL;
}

/* A job may come when the ahead and its query are closed: only what has a slot to make may be
 * touched then. It has tools only while it holds the lock or a slot. */
static void job_run(void *arg)
{
    struct ahead *a = arg;
    struct ahead_tools *tools;
    int64_t until = clock_mono_ns() + JOB_NS;
    struct slot *slot;

    pthread_mutex_lock(&a->lock);
    tools = tools_take(a);
    while ((slot = take_queued(a))) {
        run_slot(a, slot, &tools);
        if (clock_mono_ns() > until && a->queued && pool_submit(a->pool, job_run, a) == 0) {
            tools_give(a, tools);
            pthread_mutex_unlock(&a->lock);
            return;
        }
    }
    tools_give(a, tools);
    a->jobs--;
    bool last = --a->references == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        ahead_destroy(a);
}

/* What no job can be had for, the caller makes when it gets there. Caller holds the lock. */
static void submit(struct ahead *a)
{
    unsigned most = a->pool && !a->alone ? pool_threads(a->pool) : 0;
    unsigned each = a->small ? a->slots / 4 : 1; /* items that a job is worth */

    while (a->jobs < most && a->queued >= (a->jobs + 1) * each) {
        if (pool_submit(a->pool, job_run, a) < 0)
            return;
        a->jobs++;
        a->references++;
    }
}

/* Caller holds the lock. */
static void fill(struct ahead *a, unsigned window)
{
    for (; a->filled < a->count && a->filled - a->next < window; a->queued++) {
        struct slot *slot = &a->slot[a->filled % a->slots];
        *slot = (struct slot){.state = SLOT_QUEUED, .number = a->filled++};
    }
    submit(a);
}

/* ---- handing out ----------------------------------------------------------------------------- */

/* Until something is done that others make. Caller holds the lock. */
static void wait_others(struct ahead *a, struct slot *wanted)
{
    a->wanted = wanted;
    pulse_rest();
    pthread_cond_wait(&a->done, &a->lock);
    pulse_beat();
    a->wanted = NULL;
}

/* Makes it, or others of those that are wanted next, until it is done. Caller holds the lock. */
static void wait_done(struct ahead *a, struct slot *slot)
{
    struct ahead_tools *tools = tools_take(a);

    while (slot->state != SLOT_DONE) {
        struct slot *mine = slot->state == SLOT_QUEUED ? take_slot(a, slot) : take_queued(a);
        if (mine) {
            run_slot(a, mine, &tools);
            continue;
        }
        wait_others(a, slot);
    }
    tools_give(a, tools);
}

/* Gives back what was made ahead, so that the item at hand can be made within the budget. Caller
 * holds the lock. */
static void drop_ahead(struct ahead *a)
{
    for (uint64_t n = a->next; n < a->filled; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        a->queued -= slot->state == SLOT_QUEUED;
        while (slot->state == SLOT_RUNNING)
            wait_others(a, slot);
        void *item = slot->state == SLOT_DONE ? slot->item : NULL;
        slot->state = SLOT_FREE;
        if (item)
            a->maker.drop(a->maker.arg, item);
    }
    a->filled = a->next;
    a->window = 0;
}

/* Twice as many each time the caller comes back soon, none when it was away. */
static void adapt(struct ahead *a)
{
    bool quick = a->handed_ns && clock_mono_ns() - a->handed_ns < QUICK_NS;
    unsigned more = a->window ? a->window * 2 : 2;
    unsigned most = a->small ? a->slots : a->slots / SMALL_TIMES;

    a->window = !quick || a->alone ? 0 : more < most ? more : most;
}

/* 0, or the errno for which a file cannot be reached that is not known to have changed. */
static int reach(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (access(path, R_OK) == 0)
        return 0;
    if (errno != ENOENT || !slash)
        return errno;
    snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
    return access(directory, F_OK) == 0 ? 0 : errno; /* the file alone has gone */
}

static int explain(struct ahead *a, uint64_t number, int rc, struct err *err)
{
    const struct scan_place *places;
    struct query *q = a->maker.query;
    size_t position = a->positions[number];

    scan_places(q, &places);
    uint32_t file =
        a->maker.file_of ? a->maker.file_of(a->maker.arg, position) : places[position].file;
    const struct index_file *f = snapshot_file(query_snapshot(q), file);
    const char *name = f->name;
    bool unread = a->maker.read_text && (rc == ERR_STALE || rc == -ENOENT || rc == -EACCES);
    int away = unread ? reach(f->path) : 0;
    if (away)
        return err_set(err, ERR_STALE, "cannot read %s: %s", name, strerror(away));
    if (a->maker.read_text && (rc == ERR_STALE || rc == -ENOENT))
        return err_set(err, ERR_STALE, "%s changed after it was indexed; its lines cannot be read",
                       name);
    if (rc == ERR_CORRUPT)
        return err_set(err, rc, "%s: %s", name, err_text(rc));
    return err_set(err, rc, "%s", err_text(rc));
}

/* The first item is done; memory that is short for it may be had. Caller holds the lock. */
static struct slot *first_done(struct ahead *a)
{
    struct slot *slot = &a->slot[a->next % a->slots];

    adapt(a);
    fill(a, a->window ? a->window : 1);
    wait_done(a, slot);
    if (slot->rc == ERR_MEMORY_LIMIT && !a->alone) {
        a->alone = true;
        drop_ahead(a);
        fill(a, 1);
        wait_done(a, slot);
    }
    return slot;
}

int ahead_next(struct ahead *a, struct err *err, void **ret)
{
    if (a->next == a->count)
        return ERR_END;
    pthread_mutex_lock(&a->lock);
    struct slot *slot = first_done(a);
    int rc = slot->rc;
    if (rc == 0) {
        *ret = slot->item;
        slot->state = SLOT_FREE;
        a->next++;
        fill(a, a->window);
    }
    pthread_mutex_unlock(&a->lock);
    a->handed_ns = clock_mono_ns();
    return rc < 0 ? explain(a, a->next, rc, err) : 0;
}

/* Caller holds the lock; no slot is running. */
static void free_idle_tools(struct ahead *a)
{
    struct ahead_tools *tools;

    while ((tools = tools_take(a)))
        tools_free(tools);
}

void ahead_rest(struct ahead *a, bool again)
{
    pthread_mutex_lock(&a->lock);
    drop_ahead(a);
    free_idle_tools(a);
    if (again)
        a->filled = --a->next;
    pthread_mutex_unlock(&a->lock);
}

int ahead_new(const struct ahead_maker *maker, const size_t *positions, size_t count,
              struct ahead **ret)
{
    struct pool *pool = query_environment(maker->query)->pool;
    unsigned threads = pool ? pool_threads(pool) : 0;
    struct ahead *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->done, NULL);
    a->maker = *maker;
    a->pool = pool;
    a->references = 1;
    a->slots = threads ? SMALL_TIMES * (2 * threads + 2) : 1;
    a->count = count;
    a->positions = malloc((count + 1) * sizeof(*a->positions));
    a->slot = calloc(a->slots, sizeof(*a->slot));
    a->idle = calloc(a->slots + 1, sizeof(struct ahead_tools *));
    if (!a->positions || !a->slot || !a->idle) {
        ahead_destroy(a);
        return -ENOMEM;
    }
    memcpy(a->positions, positions, count * sizeof(*positions));
    *ret = a;
    return 0;
}

void ahead_free(struct ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    drop_ahead(a);
    free_idle_tools(a);
    bool last = --a->references == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        ahead_destroy(a);
}
