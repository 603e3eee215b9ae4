/* end.c - requests of one site, or of all, come to their end. */
#include "http/server/server.h"

#include <unistd.h>

/* From now on no request begins. Under the table's lock. */
static void sites_stop(struct http *h, struct site *only)
{
    for (size_t i = 0; i < atomic_load(&h->sites.count); i++)
        if (!only || h->sites.list[i] == only)
            atomic_store(&h->sites.list[i]->context.stopping, true);
}

static void cancel_all(struct http *h, struct site *only, bool cut)
{
    pthread_mutex_lock(&h->exchanges.lock);
    sites_stop(h, only);
    for (struct exchange *x = h->exchanges.first; x; x = x->next)
        if (!only || x->site == only)
            exchange_cancel(x, ERR_CANCELLED, cut);
    pthread_mutex_unlock(&h->exchanges.lock);
}

/* Requests that were begun may come to their end. From now on none can begin. */
static void drain(struct http *h, struct site *only, int most_ms)
{
    int64_t end = clock_mono_ns() + most_ms * 1000000ll;
    bool moving = most_ms > 0;
    pthread_mutex_lock(&h->exchanges.lock);
    sites_stop(h, only);
    pthread_mutex_unlock(&h->exchanges.lock);
    while (moving && clock_mono_ns() < end) {
        moving = false;
        pthread_mutex_lock(&h->exchanges.lock);
        for (struct exchange *x = h->exchanges.first; x && !moving; x = x->next)
            moving = (!only || x->site == only) && exchange_is_moving(x, clock_mono_ns());
        pthread_mutex_unlock(&h->exchanges.lock);
        if (moving)
            usleep(5000);
    }
}

void server_end_all(struct http *h, struct site *only, int drain_ms, int grace_ms)
{
    drain(h, only, drain_ms);
    cancel_all(h, only, false);
    for (int ms = 0; ms < grace_ms && exchanges_any(&h->exchanges, only); ms += 5)
        usleep(5000);
    cancel_all(h, only, true);
}
