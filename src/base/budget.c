/* budget.c - what a query may still cost, shared by all who work on it. */
#include "dftracerd/base.h"

#include <assert.h>

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

int budget_charge(struct budget *b, size_t bytes)
{
    size_t used = atomic_load_explicit(&b->memory_used, memory_order_relaxed);

    do {
        if (bytes > SIZE_MAX - used || (b->memory_limit && used + bytes > b->memory_limit))
            return ERR_MEMORY_LIMIT;
    } while (!atomic_compare_exchange_weak(&b->memory_used, &used, used + bytes));
    return 0;
}

void budget_release(struct budget *b, size_t bytes)
{
    size_t before = atomic_fetch_sub(&b->memory_used, bytes);

    assert(before >= bytes);
}

void budget_cancel(struct budget *b, int code)
{
    int none = 0;

    assert(code < 0);
    atomic_compare_exchange_strong(&b->cancelled, &none, code);
}
