/* batches.c - the batches that the workers of one rank load ahead. */
#include "dftracerd/dlio.h"

#include <stdlib.h>

struct dlio_queue {
    double *ready; /* a ring: the time when each waiting batch is loaded, in order */
    size_t capacity, head, length;
    double *free_at; /* time when each worker is free */
    unsigned workers;
    dlio_batch_time *time;
    void *arg;
};

void dlio_queue_free(struct dlio_queue *q)
{
    if (!q)
        return;
    free(q->ready);
    free(q->free_at);
    free(q);
}

/* The worker that is free first loads the next batch, not before `now`. */
static void load_batch(struct dlio_queue *q, double now)
{
    unsigned first = 0;
    for (unsigned i = 1; i < q->workers; i++)
        if (q->free_at[i] < q->free_at[first])
            first = i;
    double begin = q->free_at[first] > now ? q->free_at[first] : now;
    q->free_at[first] = begin + q->time(q->arg);
    q->ready[(q->head + q->length++) % q->capacity] = q->free_at[first];
}

static int new_queue(size_t capacity, unsigned workers, struct dlio_queue **ret)
{
    struct dlio_queue *q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    q->capacity = capacity;
    q->workers = workers;
    q->ready = calloc(capacity + 1, sizeof *q->ready);
    q->free_at = calloc((size_t)workers + 1, sizeof *q->free_at);
    if (!q->ready || !q->free_at) {
        dlio_queue_free(q);
        return -ENOMEM;
    }
    *ret = q;
    return 0;
}

int dlio_queue_new(unsigned workers, unsigned prefetch, dlio_batch_time *time, void *arg,
                   struct dlio_queue **ret)
{
    int rc = new_queue((size_t)workers * prefetch, workers, ret);
    if (rc < 0)
        return rc;
    (*ret)->time = time;
    (*ret)->arg = arg;
    while ((*ret)->length < (*ret)->capacity)
        load_batch(*ret, 0);
    return 0;
}

int dlio_queue_of(const double *ready, size_t n, struct dlio_queue **ret)
{
    int rc = new_queue(n, 0, ret);
    for (size_t i = 0; rc == 0 && i < n; i++)
        (*ret)->ready[(*ret)->length++] = ready[i];
    return rc;
}

size_t dlio_queue_length(const struct dlio_queue *q)
{
    return q->length;
}

double dlio_queue_take(struct dlio_queue *q, double now, double overhead, bool *ret_stalled)
{
    *ret_stalled = q->length == 0 || q->ready[q->head] > now;
    if (q->length == 0)
        return overhead;
    double stall = *ret_stalled ? q->ready[q->head] - now : 0;
    q->head = (q->head + 1) % q->capacity;
    q->length--;
    if (q->workers > 0)
        load_batch(q, now + stall);
    return stall + overhead;
}
