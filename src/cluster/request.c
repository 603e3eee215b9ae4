/* request.c - messages and requests that this rank sends. */
#include "cluster/transport.h"

#include <assert.h>
#include <semaphore.h>
#include <stdlib.h>

/* A request to one or several ranks. */
struct pending {
    void (*answered)(void *arg, unsigned from, int rc, struct buf *answer);
    void *arg;
    unsigned left; /* answers that have not arrived; used by the MPI thread only */
};
/* A thread that waits for an answer; on its stack. */
struct waiter {
    sem_t answered;
    int rc;
    struct buf answer;
};

static bool is_leaving(struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    bool leaving = c->leaving;
    pthread_mutex_unlock(&c->lock);
    return leaving;
}

static struct buf copy_bytes(struct text bytes)
{
    struct buf copy = {0};

    buf_reserve(&copy, bytes.len + sizeof(struct trailer));
    buf_text(&copy, bytes);
    return copy;
}

int cluster_send(struct cluster *c, unsigned to, struct text bytes)
{
    struct buf message = copy_bytes(bytes);

    assert(to < c->size);
    struct packet *p = packets_new(c, &to, 1, &message, (struct trailer){.kind = PACKET_MESSAGE});
    int rc = p ? outbox_add_new(p, 0) : -ENOMEM;
    if (rc < 0)
        packets_free(p);
    return rc;
}

static int request_self(struct cluster *c, struct text bytes, struct buf *answer)
{
    struct buf own = {0};

    if (!c->requests || is_leaving(c))
        return -EPIPE;
    int rc = c->handler.request(c->handler.arg, c->rank, bytes, &own);
    rc = rc ? rc : own.error;
    if (rc == 0) {
        buf_append(answer, own.data, own.len);
        rc = answer->error;
    }
    buf_done(&own);
    return rc;
}

int cluster_request_all(struct cluster *c, const unsigned *to, unsigned count, struct buf *request,
                        void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                        void *arg)
{
    struct pending *pending = malloc(sizeof(*pending));
    struct trailer t = {.kind = PACKET_REQUEST, .pending = (uintptr_t)pending};
    struct packet *list = packets_new(c, to, count, request, t);
    int rc = pending && list ? 0 : -ENOMEM;

    if (rc == 0) {
        *pending = (struct pending){answered, arg, count};
        rc = outbox_add_new(list, count);
    }
    if (rc < 0) {
        packets_free(list);
        free(pending);
    }
    return rc;
}

static void wake_waiter(void *arg, unsigned from, int rc, struct buf *answer)
{
    struct waiter *w = arg;
    (void)from;

    w->rc = rc;
    w->answer = *answer;
    *answer = (struct buf){0};
    sem_post(&w->answered);
}

/* Moves the answer to the caller's buffer, without a copy if that is empty. */
static int move_answer(struct waiter *w, struct buf *answer)
{
    if (w->rc == 0 && answer->error == 0 && !answer->data) {
        *answer = w->answer;
        return 0;
    }
    if (w->rc == 0) {
        buf_append(answer, w->answer.data, w->answer.len);
        w->rc = answer->error;
    }
    buf_done(&w->answer);
    return w->rc;
}

int cluster_request(struct cluster *c, unsigned to, struct text bytes, struct buf *answer)
{
    struct waiter w = {.rc = 0};

    assert(to < c->size);
    if (to == c->rank)
        return request_self(c, bytes, answer);
    sem_init(&w.answered, 0, 0);
    struct buf request = copy_bytes(bytes);
    int rc = cluster_request_all(c, &to, 1, &request, wake_waiter, &w);
    if (rc == 0) {
        while (sem_wait(&w.answered) < 0)
            assert(errno == EINTR);
        rc = move_answer(&w, answer);
    }
    sem_destroy(&w.answered);
    return rc;
}

void request_answered(struct packet *p)
{
    struct cluster *c = p->cluster;
    struct pending *pending = (struct pending *)(uintptr_t)packet_trailer(p).pending;
    struct buf answer = {0};
    int rc = packet_trailer(p).status;

    if (rc == 0) {
        answer = (struct buf){.data = p->bytes, .len = packet_text(p).len, .cap = p->len};
        p->bytes = NULL;
    }
    pthread_mutex_lock(&c->lock);
    c->awaited--;
    pthread_mutex_unlock(&c->lock);
    pending->answered(pending->arg, p->peer, rc, &answer);
    buf_done(&answer);
    packet_free(p);
    if (--pending->left == 0)
        free(pending);
}
