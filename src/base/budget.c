/* budget.c - what a query may still cost, shared by all threads that work on it. */
#include "dftracerd/base.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int budget_check(struct budget *b)
{
    int code = atomic_load_explicit(&b->cancelled, memory_order_relaxed);

    int64_t now = clock_mono_ns();

    pulse_beat_at(now);
    if (code != 0)
        return code;
    if (b->deadline_ns == 0 || now < b->deadline_ns)
        return 0;
    /* Recorded, so that all workers stop for the same reason. */
    budget_cancel(b, ERR_DEADLINE);
    return atomic_load_explicit(&b->cancelled, memory_order_relaxed);
}

/* Limit 0: none. */
static bool has_room(size_t used, size_t limit, size_t bytes)
{
    size_t most = limit ? limit : SIZE_MAX;

    return used <= most && bytes <= most - used;
}

static bool take(atomic_size_t *at, size_t limit, size_t bytes)
{
    size_t used = atomic_load_explicit(at, memory_order_relaxed);

    do {
        if (!has_room(used, limit, bytes))
            return false;
    } while (!atomic_compare_exchange_weak(at, &used, used + bytes));
    return true;
}

static void give_back(atomic_size_t *at, size_t bytes)
{
    size_t before = atomic_fetch_sub(at, bytes);

    assert(before >= bytes);
}

/* From the share of the budget up to `end`. */
static void leave_shares(struct budget *b, const struct budget_share *end, size_t bytes)
{
    for (struct budget_share *s = b->share; s != end; s = s->of)
        give_back(&s->used, bytes);
}

int budget_charge(struct budget *b, size_t bytes)
{
    if (!take(&b->memory_used, b->memory_limit, bytes))
        return ERR_MEMORY_LIMIT;
    for (struct budget_share *s = b->share; s; s = s->of) {
        if (take(&s->used, s->limit, bytes))
            continue;
        leave_shares(b, s, bytes);
        give_back(&b->memory_used, bytes);
        atomic_store(&b->crowded, true);
        return ERR_MEMORY_LIMIT;
    }
    return 0;
}

int budget_check_answer(struct budget *b, const struct buf *out)
{
    bool room = has_room(b->memory_used, b->memory_limit, out->cap);

    for (const struct budget_share *s = b->share; s && room; s = s->of) {
        room = has_room(s->used, s->limit, out->cap);
        if (!room)
            atomic_store(&b->crowded, true);
    }
    if (!room)
        budget_cancel(b, ERR_MEMORY_LIMIT);
    return budget_check(b);
}

void budget_release(struct budget *b, size_t bytes)
{
    leave_shares(b, NULL, bytes);
    give_back(&b->memory_used, bytes);
}

int charge_add(struct charge *c, size_t bytes)
{
    int rc = c->budget ? budget_charge(c->budget, bytes) : 0;

    c->bytes += rc < 0 ? 0 : bytes;
    return rc;
}

int charge_up_to(struct charge *c, size_t bytes)
{
    return bytes > c->bytes ? charge_add(c, bytes - c->bytes) : 0;
}

void charge_done(struct charge *c)
{
    if (c->budget)
        budget_release(c->budget, c->bytes);
    c->bytes = 0;
}

void budget_cancel(struct budget *b, int code)
{
    int none = 0;

    assert(code < 0);
    atomic_compare_exchange_strong(&b->cancelled, &none, code);
}
