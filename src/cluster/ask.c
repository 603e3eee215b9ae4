/* ask.c - messages and requests of this rank's threads. */
#include "cluster/transport.h"

#include <assert.h>
#include <semaphore.h>
#include <stdlib.h>

/* On the stack of the thread that waits. */
struct ask {
    sem_t answered;
    struct packet *answer;
};

static int is_leaving(struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    bool leaving = c->leaving;
    pthread_mutex_unlock(&c->lock);
    return leaving;
}

int cluster_send(struct cluster *c, unsigned to, struct text bytes)
{
    assert(to < c->size);
    struct packet *p = packet_new(c, to, bytes, (struct trailer){.kind = PACKET_MESSAGE});
    if (!p)
        return -ENOMEM;
    int rc = outbox_add_new(p, false);
    if (rc < 0)
        packet_free(p);
    return rc;
}

/* Without a copy where the caller's buffer is empty. */
static int take_answer(struct packet *p, struct buf *answer)
{
    struct text bytes = packet_text(p);
    int rc = packet_trailer(p).status;

    if (rc == 0 && answer->error == 0 && !answer->data) {
        *answer = (struct buf){.data = p->bytes, .len = bytes.len, .cap = p->len};
        p->bytes = NULL;
    } else if (rc == 0) {
        buf_text(answer, bytes);
        rc = answer->error;
    }
    packet_free(p);
    return rc;
}

static int ask_self(struct cluster *c, struct text bytes, struct buf *answer)
{
    struct buf own = {0};

    if (!c->requests || is_leaving(c))
        return -EPIPE;
    int rc = c->handler.request(c->handler.arg, c->rank, bytes, &own);
    if (rc == 0)
        rc = own.error;
    if (rc == 0) {
        buf_append(answer, own.data, own.len);
        rc = answer->error;
    }
    buf_done(&own);
    return rc;
}

int cluster_ask(struct cluster *c, unsigned to, struct text bytes, struct buf *answer)
{
    struct ask a = {.answer = NULL};

    assert(to < c->size);
    if (to == c->rank)
        return ask_self(c, bytes, answer);
    struct trailer t = {.kind = PACKET_REQUEST, .ask = (uintptr_t)&a};
    struct packet *p = packet_new(c, to, bytes, t);
    if (!p)
        return -ENOMEM;
    sem_init(&a.answered, 0, 0);
    int rc = outbox_add_new(p, true);
    if (rc < 0) {
        packet_free(p);
    } else {
        while (sem_wait(&a.answered) < 0)
            assert(errno == EINTR);
        rc = take_answer(a.answer, answer);
    }
    sem_destroy(&a.answered);
    return rc;
}

void ask_answered(struct packet *p)
{
    struct cluster *c = p->cluster;
    struct ask *a = (struct ask *)(uintptr_t)packet_trailer(p).ask;

    pthread_mutex_lock(&c->lock);
    c->asks--;
    pthread_mutex_unlock(&c->lock);
    a->answer = p;
    sem_post(&a->answered);
}
