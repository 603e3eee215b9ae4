/* outbox.c - packets from other threads for the MPI thread. */
#include "cluster/transport.h"

/* The caller holds the lock, which is released. */
static void add_and_unlock(struct cluster *c, struct packet *list)
{
    *c->outbox_end = list;
    while (list->next)
        list = list->next;
    c->outbox_end = &list->next;
    pthread_mutex_unlock(&c->lock);
    bell_ring(c->bells[c->rank]);
}

void outbox_add(struct packet *p)
{
    p->next = NULL;
    pthread_mutex_lock(&p->cluster->lock);
    add_and_unlock(p->cluster, p);
}

int outbox_add_new(struct packet *list, unsigned answers)
{
    struct cluster *c = list->cluster;

    pthread_mutex_lock(&c->lock);
    if (c->leaving) {
        pthread_mutex_unlock(&c->lock);
        return -EPIPE;
    }
    c->awaited += answers;
    add_and_unlock(c, list);
    return 0;
}

struct packet *outbox_take(struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    struct packet *all = c->outbox;
    c->outbox = NULL;
    c->outbox_end = &c->outbox;
    pthread_mutex_unlock(&c->lock);
    return all;
}

bool outbox_is_closed(struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    bool closed = c->leaving && !c->outbox && c->awaited == 0;
    pthread_mutex_unlock(&c->lock);
    return closed;
}
