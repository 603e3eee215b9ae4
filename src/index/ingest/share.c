/* share.c - several indexes of one process share the limits of one: turns of scanners, and bytes of
 * text in flight.
 *
 * No index waits for the bytes of another one while it has none itself, so each makes progress. */
#include "index/ingest/share.h"

#include <stdlib.h>

struct index_share {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t tickets, served; /* threads work in order of arrival */
    unsigned working;
    atomic_size_t bytes;
};

struct index_share *index_share_new(void)
{
    struct index_share *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->turn, NULL);
    return s;
}

void index_share_free(struct index_share *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->turn);
    free(s);
}

static struct index_share *share_of(const struct ingest *in)
{
    return in->ix->options.share;
}

void share_enter(struct ingest *in)
{
    struct index_share *s = share_of(in);

    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    uint64_t ticket = s->tickets++;
    while (ticket != s->served || s->working >= in->ix->options.workers) {
        pulse_rest();
        pthread_cond_wait(&s->turn, &s->lock);
    }
    s->served++;
    s->working++;
    pthread_cond_broadcast(&s->turn); /* the next thread may work, too */
    pthread_mutex_unlock(&s->lock);
    pulse_beat();
}

bool share_leave(struct ingest *in)
{
    struct index_share *s = share_of(in);
    bool others = false;

    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    s->working--;
    others = s->tickets != s->served;
    pthread_cond_broadcast(&s->turn);
    pthread_mutex_unlock(&s->lock);
    return others;
}

void share_charge(struct ingest *in, size_t bytes)
{
    if (share_of(in))
        atomic_fetch_add(&share_of(in)->bytes, bytes);
}

void share_release(struct ingest *in, size_t bytes)
{
    if (share_of(in))
        atomic_fetch_sub(&share_of(in)->bytes, bytes);
}

bool share_has_space(const struct ingest *in, size_t bytes)
{
    return !share_of(in) || atomic_load(&share_of(in)->bytes) + bytes <= in->credits_max;
}
