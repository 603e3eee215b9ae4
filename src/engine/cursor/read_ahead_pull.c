/* read_ahead_pull.c - items that remote ranks make: which ones are requested, and when. */
#include "engine/cursor/read_ahead_ring.h"

#include <errno.h>
#include <stdlib.h>

/* Runs under way and received items together take at most PULL_BYTES, or 1/MEMORY_PART of the
 * query's memory. A run ends with the item that reaches 1/RUN_PART of that; until its answer has
 * been received, 1/RESERVED_PART is reserved for it, or less if items are small. */
#define PULL_BYTES ((size_t)64 << 20)
enum { MEMORY_PART = 4, RUN_PART = 64, RESERVED_PART = 8 };

static void slot_make_remote(struct read_ahead *a, struct slot *slot)
{
    slot->state = SLOT_REMOTE;
    a->remote++;
}

void slot_assign(struct read_ahead *a, struct slot *slot)
{
    slot->rank = a->pull ? pull_rank(a->pull, a->positions[slot->number]) : 0;
    if (slot->rank && a->ranks[slot->rank] != RANK_FAILED)
        slot_make_remote(a, slot);
    else
        slot_queue(a, slot);
}

/* Stops requests to the rank: this process makes its items. */
static void rank_fail(struct read_ahead *a, unsigned rank)
{
    a->ranks[rank] = RANK_FAILED;
    for (uint64_t n = a->next; n < a->filled; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        if (slot->state == SLOT_REMOTE && slot->rank == rank) {
            a->remote--;
            slot_queue(a, slot);
        }
    }
}

void read_ahead_wake_pull(struct read_ahead *a)
{
    if (a->remote > 0 && a->idle_pulls > 0)
        pthread_cond_signal(&a->pullable);
}

void read_ahead_start_pulls(struct read_ahead *a)
{
    if (a->remote == 0)
        return;
    if (a->idle_pulls > 0 || pull_add_thread(a->pull)) {
        read_ahead_wake_pull(a);
        return;
    }
    for (unsigned i = 1; i < pull_ranks(a->pull); i++)
        rank_fail(a, i);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Fills the run with the first items of one rank that may be requested now. The next item of the
 * answer may always be requested, others only while memory is left. */
static void fill_run(struct read_ahead *a, struct pull_run *run)
{
    size_t bytes = a->pull_max / RUN_PART;
    bool small = a->item_bytes && a->item_bytes < PULL_SMALL_BYTES;
    size_t reserved = small ? 2 * bytes : a->pull_max / RESERVED_PART;
    size_t max = a->low_memory || !a->item_bytes ? 1 : bytes / a->item_bytes + 1;
    bool full = a->pull_bytes + reserved > a->pull_max;

    max = max < PULL_ITEMS ? max : PULL_ITEMS;
    run->count = 0;
    for (uint64_t n = a->next; n < a->filled && run->count < max && a->remote && !a->pausing; n++) {
        struct slot *slot = &a->slot[n % a->slots];
        bool fits = run->count ? slot->rank == run->rank
                               : a->ranks[slot->rank] != RANK_OPENING && (n == a->next || !full);
        if (slot->state != SLOT_REMOTE || !fits)
            continue;
        slot->state = SLOT_RUNNING;
        a->remote--;
        run->rank = slot->rank;
        run->items[run->count++] =
            (struct pull_item){.position = a->positions[slot->number], .number = slot->number};
    }
    if (run->count == 0)
        return;
    run->is_open = a->ranks[run->rank] == RANK_OPEN;
    a->ranks[run->rank] = run->is_open ? RANK_OPEN : RANK_OPENING;
    run->bytes = bytes;
    run->reserved = reserved;
    a->pull_bytes += reserved;
}

static bool choose_run(void *arg, struct pull_run *run)
{
    struct read_ahead *a = arg;

    pthread_mutex_lock(&a->lock);
    run->count = 0;
    while (!a->ending && run->count == 0) {
        fill_run(a, run);
        if (run->count)
            break;
        a->idle_pulls++;
        pthread_cond_wait(&a->pullable, &a->lock);
        a->idle_pulls--;
    }
    if (run->count)
        read_ahead_start_pulls(a); /* there may be another run */
    pthread_mutex_unlock(&a->lock);
    return run->count > 0;
}

static void add_received(struct read_ahead *a, const struct pull_item *i)
{
    struct slot *slot = &a->slot[i->number % a->slots];

    slot->item = i->item;
    slot->bytes = i->bytes;
    slot->rc = 0;
    slot->state = SLOT_DONE;
    a->pull_bytes += i->bytes;
    a->item_bytes = a->item_bytes ? (3 * a->item_bytes + i->bytes) / 4 + 1 : i->bytes + 1;
    a->small = i->bytes < PULL_SMALL_BYTES;
}

void read_ahead_end_run(struct read_ahead *a, const struct pull_run *run)
{
    a->pull_bytes -= run->reserved;
    if (a->ranks[run->rank] == RANK_OPENING)
        a->ranks[run->rank] = run->rc < 0 && run->rc != -EXDEV ? RANK_NEW : RANK_OPEN;
    for (unsigned i = 0; i < run->received; i++)
        add_received(a, &run->items[i]);
    bool needs_chunks = run->rc == -EXDEV, failed = run->rc < 0 && !needs_chunks;

    for (unsigned i = run->received; i < run->count; i++) {
        struct slot *slot = &a->slot[run->items[i].number % a->slots];
        if (failed || a->ranks[run->rank] == RANK_FAILED || (needs_chunks && i == run->received))
            slot_queue(a, slot);
        else
            slot_make_remote(a, slot);
    }
    if (failed && run->rc != ERR_MEMORY_LIMIT)
        rank_fail(a, run->rank);
    pthread_cond_signal(&a->done);
    read_ahead_wake_pull(a);
}

/* ---- beginning and ending -------------------------------------------------------------------- */

int read_ahead_begin_pull(struct read_ahead *a, void (*done)(void *arg, const struct pull_run *run))
{
    size_t part = query_budget(a->maker.query)->memory_limit / MEMORY_PART;

    a->pull_max = part && part < PULL_BYTES ? part : PULL_BYTES;
    a->client = (struct pull_client){&a->maker, a, choose_run, done};
    int rc = pull_new(&a->client, &a->pull);
    if (rc == 0 && a->pull && !(a->ranks = calloc(pull_ranks(a->pull), sizeof(*a->ranks))))
        rc = -ENOMEM;
    return rc;
}

void read_ahead_end_pull(struct read_ahead *a)
{
    if (!a->pull)
        return;
    a->ending = true;
    pthread_cond_broadcast(&a->pullable);
    pthread_mutex_unlock(&a->lock);
    pull_end(a->pull);
    pthread_mutex_lock(&a->lock);
    a->ending = false;
    for (unsigned i = 0; i < pull_ranks(a->pull); i++)
        a->ranks[i] = a->ranks[i] == RANK_FAILED ? RANK_FAILED : RANK_NEW;
}
