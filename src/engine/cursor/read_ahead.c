/* read_ahead.c - a ring of items that pool threads fill and one thread empties. */
#include "engine/cursor/read_ahead_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* If the caller returns within this time, items are made in advance: each is some 4 MiB of text. */
#define QUICK_NS (250 * 1000000ll)
/* A job makes items for this time, then queues again after other jobs. */
#define JOB_NS (2 * 1000000ll)
/* An item that is made faster is small, in memory, too. The window may have SMALL_FACTOR times as
 * many small items, and a job must have several of them to do. */
#define SMALL_NS (200 * 1000ll)
#define SMALL_FACTOR 4u
#define CHECK_NS (20 * 1000000ll) /* interval of budget checks while remote ranks work */

/* ---- tools ----------------------------------------------------------------------------------- */

/* Returns NULL if all are in use. */
static struct item_tools *tools_pop(struct read_ahead *a)
{
    return a->idle_count ? a->idle[--a->idle_count] : NULL;
}

static void tools_push(struct read_ahead *a, struct item_tools *tools)
{
    if (tools)
        a->idle[a->idle_count++] = tools;
}

static void free_idle_tools(struct read_ahead *a)
{
    struct item_tools *tools;

    while ((tools = tools_pop(a)))
        item_tools_free(tools);
}

/* ---- making one item ------------------------------------------------------------------------- */

/* Makes the item of a RUNNING slot of this thread, without the lock, and creates *tools if NULL. */
static void run_slot(struct read_ahead *a, struct slot *slot, struct item_tools **tools)
{
    void *item = NULL;

    pthread_mutex_unlock(&a->lock);
    int64_t began = clock_mono_ns();
    int rc = budget_check(query_budget(a->maker.query));
    rc = rc < 0 ? rc : maker_make(&a->maker, tools, a->positions[slot->number], &item);
    bool small = clock_mono_ns() - began < SMALL_NS;
    pthread_mutex_lock(&a->lock);
    a->small = small;
    slot->item = item;
    slot->rc = rc;
    slot->state = SLOT_DONE;
    if (a->awaited == slot)
        pthread_cond_signal(&a->done);
}

static struct slot *slot_claim(struct read_ahead *a, struct slot *slot)
{
    slot->state = SLOT_RUNNING;
    a->queued--;
    return slot;
}

/* Claims the first queued slot. Returns NULL if there is none. */
static struct slot *slot_claim_first(struct read_ahead *a)
{
    for (uint64_t n = a->next; n < a->filled && a->queued && !a->closing; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        if (slot->state == SLOT_QUEUED)
            return slot_claim(a, slot);
    }
    return NULL;
}

static void read_ahead_destroy(struct read_ahead *a)
{
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->done);
    pthread_cond_destroy(&a->pullable);
    pull_free(a->pull);
    free(a->ranks);
    free(a->positions);
    free(a->slot);
    free(a->idle);
    free(a);
}

/* A job may start after the owner and the query are gone, so it may use them only while it has a
 * slot. It has tools only while it holds the lock or a slot. */
static void job_run(void *arg)
{
    struct read_ahead *a = arg;
    struct item_tools *tools;
    int64_t until = clock_mono_ns() + JOB_NS;
    struct slot *slot;

    pthread_mutex_lock(&a->lock);
    tools = tools_pop(a);
    while ((slot = slot_claim_first(a))) {
        run_slot(a, slot, &tools);
        if (clock_mono_ns() > until && a->queued && pool_submit(a->pool, job_run, a) == 0) {
            tools_push(a, tools);
            pthread_mutex_unlock(&a->lock);
            return;
        }
    }
    tools_push(a, tools);
    a->jobs--;
    bool last = --a->references == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        read_ahead_destroy(a);
}

/* Starts pool jobs for queued slots. Items without a job are made by the caller in its turn. */
static void submit_jobs(struct read_ahead *a)
{
    unsigned jobs_max = a->pool && !a->low_memory ? pool_threads(a->pool) : 0;
    unsigned job_items = a->small ? a->slots / 4 : 1; /* a job needs that many to be worth it */

    while (a->jobs < jobs_max && a->queued >= (a->jobs + 1) * job_items) {
        if (pool_submit(a->pool, job_run, a) < 0)
            return;
        a->jobs++;
        a->references++;
    }
}

/* ---- filling and emptying the ring ----------------------------------------------------------- */

/* Assigns slots to the next items, `window` in total. */
static void ring_fill(struct read_ahead *a, unsigned window)
{
    while (a->filled < a->count && a->filled - a->next < window) {
        struct slot *slot = &a->slot[a->filled % a->slots];
        *slot = (struct slot){.number = a->filled++};
        slot_assign(a, slot);
    }
    read_ahead_start_pulls(a);
    submit_jobs(a);
}

static void slot_free(struct read_ahead *a, struct slot *slot)
{
    slot->state = SLOT_FREE;
    if (slot->bytes) {
        a->pull_bytes -= slot->bytes;
        read_ahead_wake_pull(a);
    }
}

/* Waits until `awaited` is done, or remote ranks have made some item. */
static void wait_for_others(struct read_ahead *a, struct slot *awaited)
{
    a->awaited = awaited;
    pulse_rest();
    if (a->pull)
        clock_cond_wait(&a->done, &a->lock, clock_mono_ns() + CHECK_NS);
    else
        pthread_cond_wait(&a->done, &a->lock);
    pulse_beat();
    a->awaited = NULL;
    if (a->pull && !a->stopped && budget_check(query_budget(a->maker.query)) < 0) {
        a->stopped = true;
        pull_stop(a->pull);
    }
}

/* Makes the slot's item, or other queued items, until it is done. */
static void wait_until_done(struct read_ahead *a, struct slot *slot)
{
    struct item_tools *tools = tools_pop(a);

    while (slot->state != SLOT_DONE) {
        struct slot *mine = slot->state == SLOT_QUEUED ? slot_claim(a, slot) : slot_claim_first(a);
        if (mine)
            run_slot(a, mine, &tools);
        else
            wait_for_others(a, slot);
    }
    tools_push(a, tools);
}

/* Frees all items that were made in advance. */
static void ring_clear(struct read_ahead *a)
{
    a->pausing = true;
    for (uint64_t n = a->next; n < a->filled; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        while (slot->state == SLOT_RUNNING)
            wait_for_others(a, slot);
        a->queued -= slot->state == SLOT_QUEUED;
        a->remote -= slot->state == SLOT_REMOTE;
        void *item = slot->state == SLOT_DONE ? slot->item : NULL;
        slot_free(a, slot);
        if (item)
            a->maker.drop(a->maker.arg, item);
    }
    a->filled = a->next;
    a->window = 0;
    a->pausing = false;
}

/* ---- returning items ------------------------------------------------------------------------- */

/* Doubles the window each time the caller returns within QUICK_NS, else closes it. */
static void adapt_window(struct read_ahead *a)
{
    bool quick = a->returned_ns && clock_mono_ns() - a->returned_ns < QUICK_NS;
    unsigned larger = a->window ? a->window * 2 : 2;
    unsigned max = a->small ? a->slots : a->large_max;

    a->window = !quick || a->low_memory ? 0 : larger < max ? larger : max;
}

/* Waits for the next item. If there is no memory for it, frees the items made in advance and makes
 * it again. */
static struct slot *wait_for_next(struct read_ahead *a)
{
    struct slot *slot = &a->slot[a->next % a->slots];

    adapt_window(a);
    ring_fill(a, a->window ? a->window : 1);
    wait_until_done(a, slot);
    if (slot->rc == ERR_MEMORY_LIMIT && !a->low_memory) {
        a->low_memory = true;
        ring_clear(a);
        ring_fill(a, 1);
        wait_until_done(a, slot);
    }
    return slot;
}

int read_ahead_next(struct read_ahead *a, struct err *err, void **ret)
{
    if (a->next == a->count)
        return ERR_END;
    pthread_mutex_lock(&a->lock);
    struct slot *slot = wait_for_next(a);
    int rc = slot->rc;
    if (rc == 0) {
        *ret = slot->item;
        slot_free(a, slot);
        a->next++;
        ring_fill(a, a->window);
    }
    pthread_mutex_unlock(&a->lock);
    a->returned_ns = clock_mono_ns();
    return rc < 0 ? maker_error(&a->maker, a->positions[a->next], rc, err) : 0;
}

void read_ahead_pause(struct read_ahead *a, bool repeat)
{
    pthread_mutex_lock(&a->lock);
    ring_clear(a);
    read_ahead_end_pull(a);
    free_idle_tools(a);
    if (repeat)
        a->filled = --a->next;
    pthread_mutex_unlock(&a->lock);
}

static void run_done(void *arg, const struct pull_run *run)
{
    struct read_ahead *a = arg;

    pthread_mutex_lock(&a->lock);
    read_ahead_end_run(a, run);
    if (a->queued)
        submit_jobs(a);
    pthread_mutex_unlock(&a->lock);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void set_windows(struct read_ahead *a)
{
    unsigned threads = a->pool ? pool_threads(a->pool) : 0;

    a->large_max = threads ? 2 * threads + 2 : 0;
    if (a->pull && a->large_max < PULL_WINDOW)
        a->large_max = PULL_WINDOW;
    a->slots = SMALL_FACTOR * a->large_max;
    if (a->pull && a->slots < PULL_WINDOW * pull_ranks(a->pull))
        a->slots = PULL_WINDOW * pull_ranks(a->pull);
    a->slots = a->slots ? a->slots : 1;
}

static int read_ahead_init(struct read_ahead *a, const size_t *positions)
{
    const struct query_remote *remote = query_environment(a->maker.query)->remote;
    int rc = read_ahead_begin_pull(a, run_done);

    if (rc == 0)
        set_windows(a);
    a->positions = malloc((a->count + 1) * sizeof(*a->positions));
    a->slot = calloc(a->slots, sizeof(*a->slot));
    a->idle = calloc(a->slots + 1, sizeof(struct item_tools *));
    if (rc < 0 || !a->positions || !a->slot || !a->idle)
        return -ENOMEM;
    memcpy(a->positions, positions, a->count * sizeof(*positions));
    if (remote && remote->answer) { /* rank 0 requests only items that it is going to use */
        a->window = a->large_max;
        a->returned_ns = clock_mono_ns();
    }
    return 0;
}

int read_ahead_new(const struct item_maker *maker, const size_t *positions, size_t count,
                   struct read_ahead **ret)
{
    struct read_ahead *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    clock_cond_init(&a->done);
    pthread_cond_init(&a->pullable, NULL);
    a->maker = *maker;
    a->pool = query_environment(maker->query)->pool;
    a->references = 1;
    a->count = count;
    int rc = read_ahead_init(a, positions);
    if (rc < 0)
        read_ahead_destroy(a);
    else
        *ret = a;
    return rc;
}

void read_ahead_free(struct read_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    if (a->pull && !a->stopped)
        pull_stop(a->pull);
    a->stopped = true;
    ring_clear(a);
    read_ahead_end_pull(a);
    free_idle_tools(a);
    pull_free(a->pull);
    a->pull = NULL;
    bool last = --a->references == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        read_ahead_destroy(a);
}
