/* times.h - the first begin and the last end of the selected events, from as few rows as possible.
 *
 * Used by:   scan.c.
 * Path:      chunk_begin -> times_chunk; each batch -> times_batch; all workers share one span.
 * Threads:   one struct stats_times a worker; the lock guards stats_known.span. Memory: none.
 */
#ifndef DFTRACERD_ANSWER_STATS_TIMES_H
#define DFTRACERD_ANSWER_STATS_TIMES_H

#include <pthread.h>

#include "answer/stats/found.h"

/* What is known by all workers of a scan. */
struct stats_known {
    pthread_mutex_t lock; /* span; made and destroyed by who has it */
    struct time_span span;
};

/* One worker's. */
struct stats_times {
    const struct stats_plan *plan;
    struct stats_known *job;
    struct time_span *span; /* of what it found */
    struct time_span known; /* by all workers when the chunk began */
    /* what of the chunk's times may widen the span */
    enum { TIMES_NEW, TIMES_LENGTHS, TIMES_KNOWN } state;
    __int128 last_ts; /* TIMES_LENGTHS: an upper bound, ns */
    bool lengths_known;
    __int128 longest; /* durations of the chunk, an upper bound, ns */
};
/* both borrowed */
void times_begin(struct stats_times *t, struct stats_known *job, struct stats_found *found);
void times_chunk(struct stats_times *t, struct scan_chunk *c);
void times_batch(struct stats_times *t, struct scan_batch *b);
/* True: none of these durations widens the span, whatever the ts; else batches are needed. */
bool times_within(const struct stats_times *t, const struct scan_values *v);

#endif
