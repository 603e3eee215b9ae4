/* ingest.c - the threads that index files, and the flow between them.
 *
 *   readers --- chunk text ---> workers --- columns ---> writer --- commit, new views
 *
 * Credits limit the bytes in flight: a reader takes them before it reads a chunk, a worker returns
 * those of its text, and the writer the rest when the chunk is in its batch, which has a limit of
 * its own. Chunks of a file get
 * credits in text order, so the writer, which applies them in that order, always receives the one
 * it waits for.
 */
#include "index/ingest/ingest.h"
#include "index/ingest/order.h"
#include "index/ingest/share.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t index_silence_ns(const struct index *ix)
{
    const struct ingest *in = ix->ingest;
    int64_t max = 0;

    for (unsigned i = 0; in && i < in->worker_count; i++) {
        int64_t silence = pulse_silence_ns(&in->workers[i].pulse);
        max = silence > max ? silence : max;
    }
    return max;
}

uint64_t ingest_pieces(struct index *ix)
{
    if (!ix->ingest)
        return 0;
    pthread_mutex_lock(&ix->ingest->lock);
    uint64_t used = ix->ingest->pieces_used;
    pthread_mutex_unlock(&ix->ingest->lock);
    return used;
}

static void init_conds(struct ingest *in)
{
    pthread_mutex_init(&in->lock, NULL);
    clock_cond_init(&in->jobs_cond);
    clock_cond_init(&in->results_cond);
    pthread_cond_init(&in->credit_cond, NULL);
    pthread_cond_init(&in->ahead_cond, NULL);
}

int ingest_start(struct index *ix, struct err *err)
{
    struct ingest *in = calloc(1, sizeof *in);
    unsigned n = ix->options.workers,
             others = ranks_is_first(ix->ranks) ? ranks_count(ix->ranks) - 1 : 0;
    int rc = 0;

    if (!in)
        return err_set(err, -ENOMEM, "out of memory");
    in->ix = ix;
    in->jobs_end = &in->jobs;
    in->results_end = &in->results;
    in->credits_max = ix->options.memory_limit;
    init_conds(in);
    ix->ingest = in;
    in->readers = calloc(n + others, sizeof *in->readers);
    in->workers = calloc(n, sizeof *in->workers);
    if (!in->readers || !in->workers)
        return err_set(err, -ENOMEM, "out of memory");
    rc = pthread_create(&in->writer, NULL, ingest_writer_main, in);
    in->writer_started = rc == 0;
    for (; rc == 0 && in->worker_count < n; in->worker_count++) {
        struct ingest_worker *w = &in->workers[in->worker_count];
        w->in = in;
        rc = pthread_create(&w->thread, NULL, ingest_worker_main, w);
        if (rc)
            break;
    }
    for (; rc == 0 && in->reader_count < n + others; in->reader_count++) {
        struct ingest_reader *r = &in->readers[in->reader_count];
        r->in = in;
        r->rank = in->reader_count < others ? in->reader_count + 1 : 0;
        rc = pthread_create(&r->thread, NULL, ingest_reader_main, r);
        if (rc)
            break;
    }
    /* One thread of each kind is enough, only slower. */
    if (in->writer_started && in->worker_count && in->reader_count > others)
        return 0;
    return err_set(err, -rc, "cannot start threads: %s", err_text(-rc));
}

/* Readers stop at the next chunk, workers finish what was read, and the writer commits all of
 * it. */
void ingest_stop(struct index *ix)
{
    struct ingest *in = ix->ingest;

    if (!in)
        return;
    atomic_store(&ix->stopping, true);
    pthread_mutex_lock(&in->lock);
    in->stopping = true;
    pthread_cond_broadcast(&in->credit_cond);
    pthread_mutex_unlock(&in->lock);
    ingest_wake_readers(ix);
    for (unsigned i = 0; i < in->reader_count; i++)
        pthread_join(in->readers[i].thread, NULL);
    pthread_mutex_lock(&in->lock);
    in->readers_gone = true;
    pthread_cond_broadcast(&in->jobs_cond);
    pthread_mutex_unlock(&in->lock);
    for (unsigned i = 0; i < in->worker_count; i++)
        pthread_join(in->workers[i].thread, NULL);
    help_stop(in);
    orders_stop(in);
    pthread_mutex_lock(&in->lock);
    in->workers_gone = true;
    pthread_cond_broadcast(&in->results_cond);
    pthread_mutex_unlock(&in->lock);
    if (in->writer_started)
        pthread_join(in->writer, NULL);
    share_release(in, in->credits_used + in->ahead_used);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->jobs_cond);
    pthread_cond_destroy(&in->results_cond);
    pthread_cond_destroy(&in->credit_cond);
    pthread_cond_destroy(&in->ahead_cond);
    vec_done(&in->forgotten);
    free(in->readers);
    free(in->workers);
    free(in);
    ix->ingest = NULL;
}
