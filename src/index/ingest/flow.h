/* flow.h - the threads of ingest and what flows between them (ingest.c draws it).
 *
 * Used by:   ingest only.
 * Threads:   any; ingest.lock guards all but `ix` and the threads themselves.
 */
#ifndef DFTRACERD_INDEX_INGEST_FLOW_H
#define DFTRACERD_INDEX_INGEST_FLOW_H

#include "index/catalog/index.h"

#include <pthread.h>

struct ahead;
struct result;
struct ingest_worker {
    pthread_t thread;
    struct ingest *in;
    struct pulse pulse;
};
struct ingest {
    struct index *ix;
    pthread_mutex_t lock;
    pthread_cond_t jobs_cond, mail_cond, credit_cond, ahead_cond;
    struct result *jobs, **jobs_end, *mail, **mail_end;
    size_t credits_used, credits_max;
    size_t ahead_used; /* of them too, but chunks do not wait for these */
    struct ahead *aheads;
    uint64_t pieces_used;
    bool stopping, readers_gone, workers_gone;
    unsigned active;  /* runs and jobs not yet with the writer */
    unsigned reading; /* runs that readers are at */
    pthread_t *readers, writer;
    struct ingest_worker *workers;
    unsigned reader_count, worker_count;
    bool writer_started;
};

void ingest_yield(struct ingest *in);
bool ingest_stopping(struct ingest *in);
void ingest_rest(struct ingest *in); /* there is no memory: 50 ms later there may be some */
int ingest_take_credits(struct ingest *in, size_t bytes); /* waits; -EPIPE when stopping */
void ingest_give_credits(struct ingest *in, size_t bytes);
void ingest_post(struct ingest *in, struct result *r); /* to the writer */
/* Main functions of the threads: read.c, scan.c, write.c. */
void *ingest_reader_main(void *ingest);
void *ingest_worker_main(void *ingest_worker);
void *ingest_writer_main(void *ingest);

#endif
