/* view_ahead.c - a ring of items that workers fill and one thread empties. */
#include "view_ahead.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Items that are taken within this time are worth being made ahead: some 4 MiB of text each. */
#define QUICK_NS (250 * 1000000ll)
/* A job makes item after item for so long, then it queues up again behind others. */
#define JOB_NS (500 * 1000ll)

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
    unsigned references; /* the caller, and each job in the pool */
    unsigned jobs;       /* in the pool, at most one a thread */
    bool closing;
    size_t *positions, count;
    uint64_t next, filled;     /* item to hand out; first that has no slot yet */
    unsigned window, slots;    /* window: items to be made ahead */
    int64_t handed_ns;         /* an item was handed out last; 0 = never */
    struct slot *slot;         /* of item n: n % slots */
    struct ahead_tools **idle; /* a stack */
    unsigned idle_count;
    bool alone; /* memory is short: one item at a time */
};

/* ---- tools -------------------------------------------------------------------------------------- */

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

static int tools_take(struct ahead *a, struct ahead_tools **ret)
{
    pthread_mutex_lock(&a->lock);
    *ret = a->idle_count ? a->idle[--a->idle_count] : NULL;
    pthread_mutex_unlock(&a->lock);
    if (*ret)
        return 0;
    struct ahead_tools *t = calloc(1, sizeof(*t));
    int rc = t ? scan_worker_new(a->maker.query, &t->scan) : -ENOMEM;
    if (rc < 0)
        tools_free(t);
    else
        *ret = t;
    return rc;
}

/* ---- making one item ------------------------------------------------------------------------------- */

/* The slot is RUNNING and belongs to this thread. */
static void run_slot(struct ahead *a, struct slot *slot)
{
    struct index *ix = query_index(a->maker.query);
    struct ahead_tools *tools = NULL;
    void *item = NULL;

    index_query_running(ix, 1);
    int rc = budget_check(query_budget(a->maker.query));
    rc = rc < 0 ? rc : tools_take(a, &tools);
    if (rc == 0)
        rc = a->maker.make(a->maker.arg, tools, a->positions[slot->number], &item);
    index_query_running(ix, -1);
    if (rc < 0 && tools)
        tools_close_text(tools); /* its state after an error is not to be relied on */
    pthread_mutex_lock(&a->lock);
    if (tools)
        a->idle[a->idle_count++] = tools;
    slot->item = item;
    slot->rc = rc;
    slot->state = SLOT_DONE;
    pthread_cond_broadcast(&a->done);
    pthread_mutex_unlock(&a->lock);
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

static void unref(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    bool last = --a->references == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        ahead_destroy(a);
}

/* Takes the first item that nobody has begun; NULL: none. Caller holds the lock. */
static struct slot *take_queued(struct ahead *a)
{
    for (uint64_t n = a->next; n < a->filled && !a->closing; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        if (slot->state != SLOT_QUEUED)
            continue;
        slot->state = SLOT_RUNNING;
        return slot;
    }
    return NULL;
}

/* Small items are made one after the other: to wake a thread costs as much as to make one. A job may come when the ahead
 * and its query are closed: only what has a slot to make may be touched then. */
static void job_run(void *arg)
{
    struct ahead *a = arg;
    int64_t until = clock_mono_ns() + JOB_NS;
    struct slot *slot;

    pthread_mutex_lock(&a->lock);
    while ((slot = take_queued(a))) {
        pthread_mutex_unlock(&a->lock);
        run_slot(a, slot);
        if (clock_mono_ns() > until && pool_submit(a->pool, job_run, a) == 0)
            return;
        pthread_mutex_lock(&a->lock);
    }
    a->jobs--;
    pthread_mutex_unlock(&a->lock);
    unref(a);
}

/* What no job can be had for, the caller makes when it gets there. Caller holds the lock. */
static void submit(struct ahead *a, unsigned items)
{
    unsigned most = a->pool && !a->alone ? pool_threads(a->pool) : 0;

    for (unsigned i = 0; i < items && a->jobs < most; i++) {
        a->jobs++;
        a->references++;
        if (pool_submit(a->pool, job_run, a) == 0)
            continue;
        a->jobs--;
        a->references--;
        return;
    }
}

static void fill(struct ahead *a, unsigned window)
{
    unsigned items = 0;

    pthread_mutex_lock(&a->lock);
    for (; a->filled < a->count && a->filled - a->next < window; items++) {
        struct slot *slot = &a->slot[a->filled % a->slots];
        *slot = (struct slot){.state = SLOT_QUEUED, .number = a->filled++};
    }
    submit(a, items);
    pthread_mutex_unlock(&a->lock);
}

/* ---- handing out --------------------------------------------------------------------------------------- */

static void wait_done(struct ahead *a, struct slot *slot)
{
    pthread_mutex_lock(&a->lock);
    if (slot->state == SLOT_QUEUED) {
        slot->state = SLOT_RUNNING;
        pthread_mutex_unlock(&a->lock);
        run_slot(a, slot);
        return;
    }
    while (slot->state != SLOT_DONE)
        pthread_cond_wait(&a->done, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

/* Gives back what was made ahead, so that the item at hand can be made within the budget. */
static void drop_ahead(struct ahead *a)
{
    for (uint64_t n = a->next; n < a->filled; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        pthread_mutex_lock(&a->lock);
        while (slot->state == SLOT_RUNNING)
            pthread_cond_wait(&a->done, &a->lock);
        void *item = slot->state == SLOT_DONE ? slot->item : NULL;
        slot->state = SLOT_FREE;
        pthread_mutex_unlock(&a->lock);
        if (item)
            a->maker.drop(a->maker.arg, item);
    }
    pthread_mutex_lock(&a->lock);
    a->filled = a->next;
    pthread_mutex_unlock(&a->lock);
    a->window = 0;
}

/* Twice as many each time the caller comes back soon, none when it was away. */
static void adapt(struct ahead *a)
{
    bool quick = a->handed_ns && clock_mono_ns() - a->handed_ns < QUICK_NS;
    unsigned more = a->window ? a->window * 2 : 2;

    a->window = !quick || a->alone ? 0 : more < a->slots ? more : a->slots;
}

static int explain(struct ahead *a, uint64_t number, int rc, struct err *err)
{
    const struct scan_place *places;
    struct query *q = a->maker.query;

    scan_places(q, &places);
    const char *name = snapshot_file(query_snapshot(q), places[a->positions[number]].file)->name;
    if (a->maker.read_text && (rc == ERR_STALE || rc == -ENOENT))
        return err_set(err, ERR_STALE, "%s changed after it was indexed: its lines cannot be read",
                       name);
    if (rc == ERR_CORRUPT)
        return err_set(err, rc, "%s: %s", name, err_text(rc));
    return err_set(err, rc, "%s", err_text(rc));
}

int ahead_next(struct ahead *a, struct err *err, void **ret)
{
    if (a->next == a->count)
        return ERR_END;
    adapt(a);
    fill(a, a->window ? a->window : 1);
    struct slot *slot = &a->slot[a->next % a->slots];
    wait_done(a, slot);
    if (slot->rc == ERR_MEMORY_LIMIT && !a->alone) {
        a->alone = true;
        drop_ahead(a);
        fill(a, 1);
        wait_done(a, slot);
    }
    if (slot->rc < 0)
        return explain(a, a->next, slot->rc, err);
    *ret = slot->item;
    pthread_mutex_lock(&a->lock); /* a job may be looking */
    slot->state = SLOT_FREE;
    a->next++;
    pthread_mutex_unlock(&a->lock);
    fill(a, a->window);
    a->handed_ns = clock_mono_ns();
    return 0;
}

static void free_idle_tools(struct ahead *a)
{
    struct ahead_tools *tools;

    do {
        pthread_mutex_lock(&a->lock);
        tools = a->idle_count ? a->idle[--a->idle_count] : NULL;
        pthread_mutex_unlock(&a->lock);
        tools_free(tools);
    } while (tools);
}

void ahead_rest(struct ahead *a, bool again)
{
    drop_ahead(a);
    free_idle_tools(a);
    pthread_mutex_lock(&a->lock);
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
    a->slots = threads ? 2 * threads + 2 : 1;
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
    pthread_mutex_unlock(&a->lock);
    drop_ahead(a);
    free_idle_tools(a);
    unref(a);
}
