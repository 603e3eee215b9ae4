/* queue.c - a bounded ring of pointers under one lock. An item is a chunk or a file, never an
 * event, so the lock is acquired at most some thousand times a second. */
#include "dftracerd/base.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    size_t capacity, first, length;
    bool closed;
    void *items[];
};

struct queue *queue_new(size_t capacity)
{
    if (capacity == 0 || capacity > (SIZE_MAX - sizeof(struct queue)) / sizeof(void *))
        return NULL;
    struct queue *q = calloc(1, sizeof(*q) + capacity * sizeof(q->items[0]));
    if (!q)
        return NULL;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->not_empty, NULL);
    pthread_cond_init(&q->not_full, NULL);
    q->capacity = capacity;
    return q;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    pthread_cond_destroy(&q->not_full);
    pthread_cond_destroy(&q->not_empty);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

static int push(struct queue *q, void *item, bool wait)
{
    int rc = 0;

    pthread_mutex_lock(&q->lock);
    while (wait && !q->closed && q->length == q->capacity)
        pthread_cond_wait(&q->not_full, &q->lock);
    if (q->closed) {
        rc = -EPIPE;
    } else if (q->length == q->capacity) {
        rc = -EAGAIN;
    } else {
        q->items[(q->first + q->length) % q->capacity] = item;
        q->length++;
        pthread_cond_signal(&q->not_empty);
    }
    pthread_mutex_unlock(&q->lock);
    return rc;
}

static int pop(struct queue *q, void **ret_item, bool wait)
{
    int rc = 0;

    pthread_mutex_lock(&q->lock);
    while (wait && !q->closed && q->length == 0)
        pthread_cond_wait(&q->not_empty, &q->lock);
    if (q->length > 0) {
        *ret_item = q->items[q->first];
        q->first = (q->first + 1) % q->capacity;
        q->length--;
        pthread_cond_signal(&q->not_full);
    } else {
        rc = q->closed ? ERR_END : -EAGAIN;
    }
    pthread_mutex_unlock(&q->lock);
    return rc;
}

int queue_push(struct queue *q, void *item)
{
    return push(q, item, true);
}

int queue_try_push(struct queue *q, void *item)
{
    return push(q, item, false);
}

int queue_pop(struct queue *q, void **ret_item)
{
    return pop(q, ret_item, true);
}

int queue_try_pop(struct queue *q, void **ret_item)
{
    return pop(q, ret_item, false);
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->not_empty);
    pthread_cond_broadcast(&q->not_full);
    pthread_mutex_unlock(&q->lock);
}

size_t queue_length(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    size_t length = q->length;
    pthread_mutex_unlock(&q->lock);
    return length;
}
