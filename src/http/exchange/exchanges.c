/* exchanges.c - the table of unfinished requests. */
#include "http/exchange/exchanges.h"

#include "http/exchange/site.h"
#include "http/exchange/work.h"

#include <string.h>

#define CHECK_NS (50 * 1000000ll)

int exchanges_admit(const struct exchange *x)
{
    const struct exchanges *all = x->rq.http->exchanges;
    struct client *c = x->rq.client;
    const struct http_limits *l = all->limits;
    if (!x->rq.admin && (atomic_load(&c->opens) >= l->client_requests ||
                         atomic_load(&c->memory.used) >= l->client_memory))
        return 429;
    bool room = atomic_load(&all->opens) < l->requests + l->queue &&
                atomic_load(&all->memory.used) < l->total_memory;
    return room ? 0 : 503;
}

/* Caller holds the table's lock. */
static void add_first(struct exchanges *all, struct exchange *x)
{
    x->next = all->first;
    if (all->first)
        all->first->prev = x;
    all->first = x;
    all->count++;
}

/* Runs under the table's lock, so that neither a stop nor the tick sees a request half started. */
bool exchanges_start(struct exchange *x, bool park)
{
    struct exchanges *all = x->rq.http->exchanges;
    pool_job *job = NULL;
    pthread_mutex_lock(&all->lock);
    bool ok = !atomic_load(&x->rq.http->stopping);
    if (ok) {
        pthread_mutex_lock(&x->lock);
        job = exchange_start(x, park);
        add_first(all, x);
        exchange_suspend(x);
        if (x->phase == EXCHANGE_READY)
            exchange_resume(x);
        pthread_mutex_unlock(&x->lock);
    }
    if (job)
        exchange_submit(x, job);
    pthread_mutex_unlock(&all->lock);
    return ok;
}

bool exchanges_send(struct exchange *x)
{
    struct exchanges *all = x->rq.http->exchanges;
    pthread_mutex_lock(&all->lock);
    bool ok = !atomic_load(&x->rq.http->stopping);
    if (ok) {
        x->phase = EXCHANGE_READY; /* no other thread has x yet */
        add_first(all, x);
    }
    pthread_mutex_unlock(&all->lock);
    return ok;
}

void exchanges_remove(struct exchange *x)
{
    struct exchanges *all = x->rq.http->exchanges;
    atomic_store(&all->last_ns, clock_mono_ns());
    pthread_mutex_lock(&all->lock);
    if (x->prev || all->first == x) {
        *(x->prev ? &x->prev->next : &all->first) = x->next;
        if (x->next)
            x->next->prev = x->prev;
        all->count--;
        x->prev = x->next = NULL;
        pthread_cond_broadcast(&all->left);
    }
    pthread_mutex_unlock(&all->lock);
}

/* Caller holds the table's lock. */
static bool any_of(const struct exchanges *all, const struct site *only, bool active)
{
    int64_t now = clock_mono_ns();
    struct exchange *x = all->first;
    while (x && ((only && x->site != only) || (active && !exchange_is_active(x, now))))
        x = x->next;
    return x != NULL;
}

bool exchanges_any(struct exchanges *all, const struct site *only)
{
    pthread_mutex_lock(&all->lock);
    bool any = any_of(all, only, false);
    pthread_mutex_unlock(&all->lock);
    return any;
}

/* Nothing signals that a client stops reading, so the condition is checked every so often, too. */
void exchanges_wait(struct exchanges *all, const struct site *only, bool active, int max_ms)
{
    int64_t now, end = clock_mono_ns() + max_ms * 1000000ll;
    pthread_mutex_lock(&all->lock);
    while ((now = clock_mono_ns()) < end && any_of(all, only, active))
        clock_cond_wait(&all->left, &all->lock, now + CHECK_NS < end ? now + CHECK_NS : end);
    pthread_mutex_unlock(&all->lock);
}

unsigned exchanges_cancel(struct exchanges *all, const char *id, const struct client *client)
{
    unsigned ended = 0;
    pthread_mutex_lock(&all->lock);
    for (struct exchange *x = all->first; x; x = x->next) {
        if (strcmp(x->id, id) != 0 || (client && x->rq.client != client))
            continue;
        exchange_cancel_by_request(x);
        ended++;
    }
    pthread_mutex_unlock(&all->lock);
    return ended;
}
