/* flow.h - the threads of ingest and the queues between them (see ingest.c).
 *
 * Used by:   ingest only.
 * Threads:   any; ingest.lock guards all but `ix` and the threads themselves.
 */
#ifndef DFTRACERD_INDEX_INGEST_FLOW_H
#define DFTRACERD_INDEX_INGEST_FLOW_H

#include "index/catalog/index.h"
#include "index/ingest/garbage.h"

#include <pthread.h>

struct ahead;
struct order;
struct result;
struct ingest_reader {
    pthread_t thread;
    struct ingest *in;
    unsigned rank; /* the rank whose queue it reads; if that is another one, it sends orders */
};
struct ingest_worker {
    pthread_t thread;
    struct ingest *in;
    struct pulse pulse;
};
struct ingest {
    struct index *ix;
    pthread_mutex_t lock;
    pthread_cond_t jobs_cond, results_cond, credit_cond, ahead_cond;
    struct result *jobs, **jobs_end;       /* chunks for the workers */
    struct result *results, **results_end; /* for the writer */
    size_t credits_used, credits_max;      /* bytes */
    size_t ahead_used;    /* credits for pieces read ahead: chunks do not wait for them */
    struct ahead *aheads; /* files whose text is inflated ahead */
    uint64_t pieces_used; /* number of pieces that readers have used */
    bool stopping, readers_gone, workers_gone;
    unsigned active;  /* runs and jobs that have not reached the writer */
    unsigned reading; /* runs that readers are working on */
    pthread_t writer;
    struct ingest_reader *readers;
    struct ingest_worker *workers;
    unsigned reader_count, worker_count;
    bool writer_started;
    struct order *orders; /* rank 0: orders that have not ended; other ranks: orders to be read */
    uint32_t order_number;
    VEC(struct garbage) forgotten; /* other ranks: chunks to be deleted */
    uint32_t texts_sent;           /* other ranks: rank 0 has the texts with ids below this */
};

void ingest_yield(struct ingest *in); /* pauses while requests run */
bool ingest_stopping(struct ingest *in);
void ingest_rest(struct ingest *in); /* waits for 50 ms, because memory is short */
/* Returns whether to retry an operation that returned rc: after -ENOMEM, and a pause. */
bool ingest_again(struct ingest *in, int rc);
void ingest_wake_readers(struct index *ix); /* after a change of the queue, or to stop */
/* Waits for credits. Returns 0, or -EPIPE if ingest stops. */
int ingest_take_credits(struct ingest *in, size_t bytes);
void ingest_give_credits(struct ingest *in, size_t bytes);
void ingest_scan(struct ingest *in, struct result *r); /* sends a chunk to the workers */
void ingest_post(struct ingest *in, struct result *r); /* sends a result to the writer */
/* Main functions of the threads: read.c, scan.c, write.c. */
void *ingest_reader_main(void *ingest_reader);
void *ingest_worker_main(void *ingest_worker);
void *ingest_writer_main(void *ingest);

#endif
