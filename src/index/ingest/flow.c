/* flow.c - the flow between the threads of ingest: chunks limited by credits, results for the
 * writer, and pauses. */
#include "index/ingest/flow.h"
#include "index/ingest/ingest.h"
#include "index/ingest/run.h"
#include "index/ingest/share.h"

#include <errno.h>
#include <time.h>

enum { YIELD_STEPS = 8, YIELD_NS = 2500000, REST_NS = 50000000 };

bool ingest_stopping(struct ingest *in)
{
    bool stopping;

    pthread_mutex_lock(&in->lock);
    stopping = in->stopping;
    pthread_mutex_unlock(&in->lock);
    return stopping;
}

/* Queries have priority: while one runs, ingest pauses for up to 20 ms between two chunks, and
 * still makes progress. */
void ingest_yield(struct ingest *in)
{
    struct timespec pause = {0, YIELD_NS};

    for (int i = 0; i < YIELD_STEPS && atomic_load(&in->ix->queries) > 0 && !ingest_stopping(in);
         i++)
        nanosleep(&pause, NULL);
}

void ingest_rest(struct ingest *in)
{
    struct timespec pause = {0, REST_NS};

    if (!ingest_stopping(in))
        nanosleep(&pause, NULL);
}

bool ingest_again(struct ingest *in, int rc)
{
    if (rc != -ENOMEM)
        return false;
    ingest_rest(in);
    return !ingest_stopping(in);
}

void ingest_wake_readers(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    pthread_cond_broadcast(&ix->files_cond);
    pthread_mutex_unlock(&ix->lock);
}

int ingest_take_credits(struct ingest *in, size_t bytes)
{
    pthread_mutex_lock(&in->lock);
    /* A single request beyond the limit is granted when no credits are in use. */
    while (in->credits_used > 0 && !in->stopping &&
           (in->credits_used + in->ahead_used + bytes > in->credits_max ||
            !share_has_space(in, bytes)))
        pthread_cond_wait(&in->credit_cond, &in->lock);
    int rc = in->stopping ? -EPIPE : 0;
    if (rc == 0) {
        in->credits_used += bytes;
        share_charge(in, bytes);
    }
    pthread_mutex_unlock(&in->lock);
    return rc;
}

void ingest_give_credits(struct ingest *in, size_t bytes)
{
    if (bytes == 0)
        return;
    pthread_mutex_lock(&in->lock);
    in->credits_used -= bytes;
    share_release(in, bytes);
    pthread_cond_broadcast(&in->credit_cond);
    pthread_mutex_unlock(&in->lock);
}

static void list_append(struct ingest *in, struct result ***end, struct result *r,
                        pthread_cond_t *cond)
{
    r->next = NULL;
    pthread_mutex_lock(&in->lock);
    **end = r;
    *end = &r->next;
    pthread_cond_signal(cond);
    pthread_mutex_unlock(&in->lock);
}

void ingest_scan(struct ingest *in, struct result *r)
{
    list_append(in, &in->jobs_end, r, &in->jobs_cond);
}

void ingest_post(struct ingest *in, struct result *r)
{
    list_append(in, &in->results_end, r, &in->results_cond);
}

void ingest_wake(struct index *ix)
{
    if (!ix->ingest)
        return;
    pthread_mutex_lock(&ix->ingest->lock);
    pthread_cond_signal(&ix->ingest->results_cond);
    pthread_mutex_unlock(&ix->ingest->lock);
}
