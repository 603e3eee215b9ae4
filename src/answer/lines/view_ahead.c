/* view_ahead.c - a ring of items that workers fill and one thread empties. */
#include "answer/lines/view_ahead.h"
#include "answer/lines/view_pull.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Items that are taken within this time are worth being made ahead: some 4 MiB of text each. */
#define QUICK_NS (250 * 1000000ll)
/* A job makes item after item for so long, then it queues up again behind others. */
#define JOB_NS (2 * 1000000ll)
/* Items that take less are small, in memory, too: to wake a thread costs as much as to make one.
 * SMALL_TIMES as many are made ahead, and no job is begun for a few of them. */
#define SMALL_NS (200 * 1000ll)
#define SMALL_TIMES 4u
/* Items that other ranks make: PULL_BYTES, or a quarter of the memory of the query, may be on the
 * way or wait to be handed out. A run ends with the item that makes it 1/RUN_PART of that. Until it
 * has come, 1/LONG_RUN_PART is set aside for it, unless items are small. */
#define PULL_BYTES ((size_t)64 << 20)
#define PULL_OF_MEMORY 4
#define RUN_PART 64
#define LONG_RUN_PART 8
#define PULL_SMALL ((size_t)64 << 10) /* an item is small */
#define PULL_WINDOW 16u          /* at least so many are made ahead; of small ones for each rank */
#define LOOK_NS (20 * 1000000ll) /* so often is looked whether they are still wanted */

/* FAR: another rank is to make it, and has not been asked. */
enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_FAR, SLOT_RUNNING, SLOT_DONE };
struct slot {
    enum slot_state state;
    uint64_t number; /* of the item: position in `positions` */
    void *item;
    int rc;
    unsigned rank; /* that is to make it; 0: this one */
    size_t bytes;  /* that it is of pull_bytes */
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
    unsigned large;            /* its most, unless items are small */
    unsigned queued;           /* slots that nobody has begun */
    int64_t handed_ns;         /* an item was handed out last; 0 = never */
    struct slot *slot;         /* of item n: n % slots */
    struct ahead_tools **idle; /* a stack */
    unsigned idle_count;
    bool alone; /* memory is short: one item at a time */
    /* items of other ranks */
    struct pull *pull; /* NULL: there are none */
    struct pull_client client;
    pthread_cond_t asked; /* there may be a run for a rank */
    /* by rank: it was not asked; it is asked first, and then others; what it has is made here */
    enum rank_state { RANK_NEW, RANK_BEGINS, RANK_OPEN, RANK_FAILED } * ranks;
    bool stopped;                 /* the ranks are to end soon */
    bool ending, resting;         /* no rank is asked any more; for a while */
    unsigned far, idle_pulls;     /* slots that are FAR; threads that wait for a run */
    size_t pull_most, pull_bytes; /* of runs on the way, and of items that wait */
    size_t each;                  /* of an item, as far as is known; 0: not yet */
};

/* ---- tools ----------------------------------------------------------------------------------- */

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
        rc = tools_new(a->maker.query, tools);
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
    pthread_cond_destroy(&a->asked);
    pull_free(a->pull);
    free(a->ranks);
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

/* ---- items that other ranks make ------------------------------------------------------------- */

/* All under the lock. */
static void make_far(struct ahead *a, struct slot *slot)
{
    slot->state = SLOT_FAR;
    a->far++;
}

static void make_here(struct ahead *a, struct slot *slot)
{
    slot->state = SLOT_QUEUED;
    a->queued++;
}

static void queue_slot(struct ahead *a, struct slot *slot)
{
    slot->rank = a->pull ? pull_rank(a->pull, a->positions[slot->number]) : 0;
    if (slot->rank && a->ranks[slot->rank] != RANK_FAILED)
        make_far(a, slot);
    else
        make_here(a, slot);
}

/* The rank is not asked any more. */
static void give_up(struct ahead *a, unsigned rank)
{
    a->ranks[rank] = RANK_FAILED;
    for (uint64_t n = a->next; n < a->filled; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        if (slot->state == SLOT_FAR && slot->rank == rank) {
            a->far--;
            make_here(a, slot);
        }
    }
}

/* One thread that pulls, which wakes the next one when it has taken a run. */
static void wake_pull(struct ahead *a)
{
    if (a->far > 0 && a->idle_pulls > 0)
        pthread_cond_signal(&a->asked);
}

/* There is somebody who pulls; else all is made here. */
static void have_pulls(struct ahead *a)
{
    if (a->far == 0)
        return;
    if (a->idle_pulls > 0 || pull_add(a->pull)) {
        wake_pull(a);
        return;
    }
    for (unsigned i = 1; i < pull_ranks(a->pull); i++)
        give_up(a, i);
}

static void add_to_run(struct ahead *a, struct slot *slot, struct pull_run *run)
{
    slot->state = SLOT_RUNNING;
    a->far--;
    run->rank = slot->rank;
    run->items[run->count++] =
        (struct pull_item){.position = a->positions[slot->number], .number = slot->number};
}

/* The first items that may be asked for now, all of one rank. */
static void choose_run(struct ahead *a, struct pull_run *run)
{
    size_t bytes = a->pull_most / RUN_PART,
           room = a->each && a->each < PULL_SMALL ? 2 * bytes : a->pull_most / LONG_RUN_PART;
    size_t most = a->alone || !a->each ? 1 : bytes / a->each + 1;
    bool full = a->pull_bytes + room > a->pull_most;

    most = most < PULL_ITEMS ? most : PULL_ITEMS;
    run->count = 0;
    for (uint64_t n = a->next; n < a->filled && run->count < most && a->far && !a->resting; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        bool wanted = run->count ? slot->rank == run->rank
                                 : a->ranks[slot->rank] != RANK_BEGINS && (n == a->next || !full);
        if (slot->state == SLOT_FAR && wanted)
            add_to_run(a, slot, run);
    }
    if (run->count == 0)
        return;
    run->known = a->ranks[run->rank] == RANK_OPEN;
    a->ranks[run->rank] = run->known ? RANK_OPEN : RANK_BEGINS;
    run->bytes = bytes;
    run->room = room;
    a->pull_bytes += room;
}

static bool take_run(void *arg, struct pull_run *run)
{
    struct ahead *a = arg;

    pthread_mutex_lock(&a->lock);
    run->count = 0;
    while (!a->ending && run->count == 0) {
        choose_run(a, run);
        if (run->count)
            break;
        a->idle_pulls++;
        pthread_cond_wait(&a->asked, &a->lock);
        a->idle_pulls--;
    }
    if (run->count)
        have_pulls(a); /* there may be another run */
    pthread_mutex_unlock(&a->lock);
    return run->count > 0;
}

static void note_made(struct ahead *a, const struct pull_item *i)
{
    struct slot *slot = &a->slot[i->number % a->slots];

    slot->item = i->item;
    slot->bytes = i->bytes;
    slot->rc = 0;
    slot->state = SLOT_DONE;
    a->pull_bytes += i->bytes;
    a->each = a->each ? (3 * a->each + i->bytes) / 4 + 1 : i->bytes + 1;
    a->small = i->bytes < PULL_SMALL;
}

/* What was not made is asked for again, or made here where the rank failed. */
static void end_run(void *arg, const struct pull_run *run)
{
    struct ahead *a = arg;

    pthread_mutex_lock(&a->lock);
    a->pull_bytes -= run->room;
    if (a->ranks[run->rank] == RANK_BEGINS)
        a->ranks[run->rank] = run->rc < 0 && run->rc != -EXDEV ? RANK_NEW : RANK_OPEN;
    for (unsigned i = 0; i < run->made; i++)
        note_made(a, &run->items[i]);
    bool one = run->rc == -EXDEV, failed = run->rc < 0 && !one;

    for (unsigned i = run->made; i < run->count; i++)
        if (failed || (one && i == run->made))
            make_here(a, &a->slot[run->items[i].number % a->slots]);
        else
            make_far(a, &a->slot[run->items[i].number % a->slots]);
    if (failed && run->rc != ERR_MEMORY_LIMIT)
        give_up(a, run->rank);
    if (a->queued)
        submit(a);
    pthread_cond_signal(&a->done);
    wake_pull(a);
    pthread_mutex_unlock(&a->lock);
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Caller holds the lock. */
static void fill(struct ahead *a, unsigned window)
{
    while (a->filled < a->count && a->filled - a->next < window) {
        struct slot *slot = &a->slot[a->filled % a->slots];
        *slot = (struct slot){.number = a->filled++};
        queue_slot(a, slot);
    }
    have_pulls(a);
    submit(a);
}

/* It is free again. Caller holds the lock. */
static void free_slot(struct ahead *a, struct slot *slot)
{
    slot->state = SLOT_FREE;
    if (slot->bytes) {
        a->pull_bytes -= slot->bytes;
        wake_pull(a);
    }
}

/* ---- handing out ----------------------------------------------------------------------------- */

/* Until something is done that others make. Caller holds the lock. */
static void wait_others(struct ahead *a, struct slot *wanted)
{
    a->wanted = wanted;
    pulse_rest();
    if (a->pull)
        clock_cond_wait(&a->done, &a->lock, clock_mono_ns() + LOOK_NS);
    else
        pthread_cond_wait(&a->done, &a->lock);
    pulse_beat();
    a->wanted = NULL;
    if (a->pull && !a->stopped && budget_check(query_budget(a->maker.query)) < 0) {
        a->stopped = true;
        pull_stop(a->pull);
    }
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
    a->resting = true;
    for (uint64_t n = a->next; n < a->filled; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        while (slot->state == SLOT_RUNNING)
            wait_others(a, slot);
        a->queued -= slot->state == SLOT_QUEUED;
        a->far -= slot->state == SLOT_FAR;
        void *item = slot->state == SLOT_DONE ? slot->item : NULL;
        free_slot(a, slot);
        if (item)
            a->maker.drop(a->maker.arg, item);
    }
    a->filled = a->next;
    a->window = 0;
    a->resting = false;
}

/* Twice as many each time the caller comes back soon, none when it was away. */
static void adapt(struct ahead *a)
{
    bool quick = a->handed_ns && clock_mono_ns() - a->handed_ns < QUICK_NS;
    unsigned more = a->window ? a->window * 2 : 2;
    unsigned most = a->small ? a->slots : a->large;

    a->window = !quick || a->alone ? 0 : more < most ? more : most;
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
        free_slot(a, slot);
        a->next++;
        fill(a, a->window);
    }
    pthread_mutex_unlock(&a->lock);
    a->handed_ns = clock_mono_ns();
    return rc < 0 ? maker_explain(&a->maker, a->positions[a->next], rc, err) : 0;
}

/* Caller holds the lock; no slot is running. */
static void free_idle_tools(struct ahead *a)
{
    struct ahead_tools *tools;

    while ((tools = tools_take(a)))
        tools_free(tools);
}

/* No rank has anything of it open then. Caller holds the lock. */
static void end_pull(struct ahead *a)
{
    if (!a->pull)
        return;
    a->ending = true;
    pthread_cond_broadcast(&a->asked);
    pthread_mutex_unlock(&a->lock);
    pull_end(a->pull);
    pthread_mutex_lock(&a->lock);
    a->ending = false;
    for (unsigned i = 0; i < pull_ranks(a->pull); i++)
        a->ranks[i] = a->ranks[i] == RANK_FAILED ? RANK_FAILED : RANK_NEW;
}

void ahead_rest(struct ahead *a, bool again)
{
    pthread_mutex_lock(&a->lock);
    drop_ahead(a);
    end_pull(a);
    free_idle_tools(a);
    if (again)
        a->filled = --a->next;
    pthread_mutex_unlock(&a->lock);
}

static int begin_pull(struct ahead *a)
{
    size_t part = query_budget(a->maker.query)->memory_limit / PULL_OF_MEMORY;

    a->pull_most = part && part < PULL_BYTES ? part : PULL_BYTES;
    a->client = (struct pull_client){&a->maker, a, take_run, end_run};
    int rc = pull_new(&a->client, &a->pull);
    if (rc == 0 && a->pull && !(a->ranks = calloc(pull_ranks(a->pull), sizeof(*a->ranks))))
        rc = -ENOMEM;
    return rc;
}

/* Large ones, and small ones: slots. */
static void set_windows(struct ahead *a)
{
    unsigned threads = a->pool ? pool_threads(a->pool) : 0, small;

    a->large = threads ? 2 * threads + 2 : 0;
    if (a->pull && a->large < PULL_WINDOW)
        a->large = PULL_WINDOW;
    small = SMALL_TIMES * a->large;
    if (a->pull && small < PULL_WINDOW * pull_ranks(a->pull))
        small = PULL_WINDOW * pull_ranks(a->pull);
    a->slots = small ? small : 1;
}

/* Rank 0 asks for no more than it wants. */
static void make_at_once(struct ahead *a)
{
    const struct query_far *far = query_environment(a->maker.query)->far;

    if (!far || !far->answer)
        return;
    a->window = a->large;
    a->handed_ns = clock_mono_ns();
}

static int ahead_init(struct ahead *a, const size_t *positions)
{
    int rc = begin_pull(a);

    if (rc == 0)
        set_windows(a);
    a->positions = malloc((a->count + 1) * sizeof(*a->positions));
    a->slot = calloc(a->slots, sizeof(*a->slot));
    a->idle = calloc(a->slots + 1, sizeof(struct ahead_tools *));
    if (rc < 0 || !a->positions || !a->slot || !a->idle)
        return -ENOMEM;
    memcpy(a->positions, positions, a->count * sizeof(*positions));
    make_at_once(a);
    return 0;
}

int ahead_new(const struct ahead_maker *maker, const size_t *positions, size_t count,
              struct ahead **ret)
{
    struct ahead *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    pthread_mutex_init(&a->lock, NULL);
    clock_cond_init(&a->done);
    pthread_cond_init(&a->asked, NULL);
    a->maker = *maker;
    a->pool = query_environment(maker->query)->pool;
    a->references = 1;
    a->count = count;
    int rc = ahead_init(a, positions);
    if (rc < 0)
        ahead_destroy(a);
    else
        *ret = a;
    return rc;
}

void ahead_free(struct ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    if (a->pull && !a->stopped)
        pull_stop(a->pull);
    a->stopped = true;
    drop_ahead(a);
    end_pull(a);
    free_idle_tools(a);
    pull_free(a->pull);
    a->pull = NULL;
    bool last = --a->references == 0;
    pthread_mutex_unlock(&a->lock);
    if (last)
        ahead_destroy(a);
}
