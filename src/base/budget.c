/* budget.c - limits of the memory and time of a query, shared by all its threads. */
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
    /* Stored, so that all workers stop with the same error. */
    budget_cancel(b, ERR_DEADLINE);
    return atomic_load_explicit(&b->cancelled, memory_order_relaxed);
}

/* limit 0: none */
static bool bytes_fit(size_t used, size_t limit, size_t bytes)
{
    size_t max = limit ? limit : SIZE_MAX;

    return used <= max && bytes <= max - used;
}

static bool charge_counter(atomic_size_t *at, size_t limit, size_t bytes)
{
    size_t used = atomic_load_explicit(at, memory_order_relaxed);

    do {
        if (!bytes_fit(used, limit, bytes))
            return false;
    } while (!atomic_compare_exchange_weak(at, &used, used + bytes));
    return true;
}

static void release_counter(atomic_size_t *at, size_t bytes)
{
    size_t before = atomic_fetch_sub(at, bytes);

    assert(before >= bytes);
}

/* Releases bytes from the share of the budget and its parents before `end`. */
static void release_shares(struct budget *b, const struct budget_share *end, size_t bytes)
{
    for (struct budget_share *s = b->share; s != end; s = s->parent)
        release_counter(&s->used, bytes);
}

int budget_charge(struct budget *b, size_t bytes)
{
    if (!b)
        return 0;
    if (!charge_counter(&b->memory_used, b->memory_limit, bytes))
        return ERR_MEMORY_LIMIT;
    for (struct budget_share *s = b->share; s; s = s->parent) {
        if (charge_counter(&s->used, s->limit, bytes))
            continue;
        release_shares(b, s, bytes);
        release_counter(&b->memory_used, bytes);
        atomic_store(&b->share_exceeded, true);
        return ERR_MEMORY_LIMIT;
    }
    return 0;
}

int budget_check_answer(struct budget *b, const struct buf *out)
{
    bool ok = bytes_fit(b->memory_used, b->memory_limit, out->cap);

    for (const struct budget_share *s = b->share; s && ok; s = s->parent) {
        ok = bytes_fit(s->used, s->limit, out->cap);
        if (!ok)
            atomic_store(&b->share_exceeded, true);
    }
    if (!ok)
        budget_cancel(b, ERR_MEMORY_LIMIT);
    return budget_check(b);
}

void budget_release(struct budget *b, size_t bytes)
{
    if (!b)
        return;
    release_shares(b, NULL, bytes);
    release_counter(&b->memory_used, bytes);
}

int charge_add(struct charge *c, size_t bytes)
{
    int rc = budget_charge(c->budget, bytes);

    c->bytes += rc < 0 ? 0 : bytes;
    return rc;
}

int charge_up_to(struct charge *c, size_t bytes)
{
    return bytes > c->bytes ? charge_add(c, bytes - c->bytes) : 0;
}

void charge_done(struct charge *c)
{
    budget_release(c->budget, c->bytes);
    c->bytes = 0;
}

void budget_cancel(struct budget *b, int code)
{
    int none = 0;

    assert(code < 0);
    atomic_compare_exchange_strong(&b->cancelled, &none, code);
}
