/* times.h - the first start and the last end of the selected events, from as few rows as possible.
 *
 * Used by:   scan.c; answer/compare.
 * Path:      chunk_begin -> times_chunk; each batch -> times_batch; all workers share one span.
 * Threads:   each worker has a struct stats_times; a lock guards struct shared_times. Memory: none.
 */
#ifndef DFTRACERD_ANSWER_STATS_TIMES_H
#define DFTRACERD_ANSWER_STATS_TIMES_H

#include <pthread.h>

#include "base/recbuf.h"
#include "engine/scan/scan.h"

/* In ns. */
struct time_span {
    bool any;
    __int128 min_ts, max_te;
};

/* The results of all workers of a scan. */
struct shared_times {
    const struct source *ts, *dur;
    bool reads_durations; /* the scan reads all durations in any case */
    pthread_mutex_t lock; /* guards the members below */
    struct time_span span;
    uint64_t events;
};
void shared_times_init(struct shared_times *shared, const struct source *ts,
                       const struct source *dur, bool reads_durations);
void shared_times_done(struct shared_times *shared);
/* shared_times_put encodes the results for another process; shared_times_take adds those of another
 * process. It returns 0 or ERR_CORRUPT. */
void shared_times_put(const struct shared_times *shared, struct buf *out);
int shared_times_take(struct shared_times *shared, struct rec *in);

/* The state of one worker. */
struct stats_times {
    struct shared_times *shared;
    struct time_span span;  /* of the events of this worker */
    struct time_span known; /* that of all workers when the chunk began, and of this worker since */
    /* Which times of the chunk may widen the span: all; the ends of long events only; none. */
    enum { TIMES_ALL, TIMES_LONG, TIMES_NONE } may_widen;
    __int128 last_ts; /* TIMES_LONG: an upper bound of ts, ns */
    bool longest_known;
    __int128 longest; /* an upper bound of the durations of the chunk, ns */
};
void times_begin(struct stats_times *t, struct shared_times *shared); /* borrowed until times_end */
void times_chunk(struct stats_times *t, struct scan_chunk *c);
void times_batch(struct stats_times *t, struct scan_batch *b);
/* Returns true if none of these durations can widen the span, whatever the ts. Otherwise the
 * batches must be read. */
bool times_within(const struct stats_times *t, const struct scan_values *v);
/* Adds the span and the number of events of this worker to the shared ones. */
void times_end(struct stats_times *t, uint64_t events);

#endif
