/* times.h - the first begin and the last end of the selected events, from as few rows as possible.
 *
 * Used by:   scan.c; answer/compare.
 * Path:      chunk_begin -> times_chunk; each batch -> times_batch; all workers share one span.
 * Threads:   one struct stats_times a worker; the lock guards struct stats_known. Memory: none.
 */
#ifndef DFTRACERD_ANSWER_STATS_TIMES_H
#define DFTRACERD_ANSWER_STATS_TIMES_H

#include <pthread.h>

#include "base/recbuf.h"
#include "engine/scan/scan.h"

struct time_span {
    bool any;
    __int128 min_ts, max_te;
}; /* ns */

/* What is known by all workers of a scan. */
struct stats_known {
    const struct source *ts, *dur;
    bool reads_durations; /* anyhow */
    pthread_mutex_t lock; /* of what follows */
    struct time_span span;
    uint64_t events;
};
void known_init(struct stats_known *known, const struct source *ts, const struct source *dur,
                bool reads_durations);
void known_done(struct stats_known *known);
/* known_put writes it for another process; known_take adds what another process found.
 * ERR_CORRUPT. */
void known_put(const struct stats_known *known, struct buf *out);
int known_take(struct stats_known *known, struct rec *in);

/* The state of one worker. */
struct stats_times {
    struct stats_known *job;
    struct time_span span;  /* of what it found */
    struct time_span known; /* by all workers when the chunk began */
    /* what of the chunk's times may widen the span */
    enum { TIMES_NEW, TIMES_LENGTHS, TIMES_KNOWN } state;
    __int128 last_ts; /* TIMES_LENGTHS: an upper bound, ns */
    bool lengths_known;
    __int128 longest; /* durations of the chunk, an upper bound, ns */
};
void times_begin(struct stats_times *t, struct stats_known *job); /* borrowed until times_end */
void times_chunk(struct stats_times *t, struct scan_chunk *c);
void times_batch(struct stats_times *t, struct scan_batch *b);
/* Whether none of these durations can widen the span, whatever the ts. Otherwise the batches
 * must be read. */
bool times_within(const struct stats_times *t, const struct scan_values *v);
/* Shares the span with the other workers; events: the number that this worker has seen. */
void times_end(struct stats_times *t, uint64_t events);

#endif
