/* end.c - ends the requests of one site, or of all. */
#include "http/server/server.h"

/* No request begins after this. */
static void sites_stop(struct http *h, struct site *only)
{
    pthread_mutex_lock(&h->exchanges.lock);
    for (size_t i = 0; i < atomic_load(&h->sites.count); i++)
        if (!only || h->sites.list[i] == only)
            atomic_store(&h->sites.list[i]->context.stopping, true);
    pthread_mutex_unlock(&h->exchanges.lock);
}

static void cancel_all(struct http *h, struct site *only, bool cut)
{
    pthread_mutex_lock(&h->exchanges.lock);
    for (struct exchange *x = h->exchanges.first; x; x = x->next)
        if (!only || x->site == only)
            exchange_cancel(x, ERR_CANCELLED, cut);
    pthread_mutex_unlock(&h->exchanges.lock);
}

void server_end_all(struct http *h, struct site *only, int drain_ms, int grace_ms)
{
    sites_stop(h, only);
    exchanges_wait(&h->exchanges, only, true, drain_ms);
    cancel_all(h, only, false);
    exchanges_wait(&h->exchanges, only, false, grace_ms);
    cancel_all(h, only, true);
}
