/* metrics.h - what the listener counts for /metrics: atomics in tables of fixed size, so no label
 * can grow without bound. One struct a site: written by the server, read by /metrics and /readyz.
 * Threads: any. */
#ifndef DFTRACERD_HTTP_METRICS_METRICS_H
#define DFTRACERD_HTTP_METRICS_METRICS_H

#include "http/metrics/rate.h"

#define METRICS_ENDPOINTS 64 /* of the table; the last one stands for unknown paths */
#define METRICS_CODES 24
#define METRICS_BUCKETS 12 /* bounds of durations, +Inf among them */

struct endpoint;
struct index_progress;
struct metrics_endpoint {
    atomic_ullong codes[METRICS_CODES];
    atomic_ullong buckets[METRICS_BUCKETS]; /* not cumulative */
    atomic_ullong duration_ns;
};
struct metrics {
    const struct endpoint *const *table; /* all there are; NULL-terminated */
    struct metrics_endpoint endpoints[METRICS_ENDPOINTS];
    atomic_ullong sent_bytes, cut; /* cut: answers that did not end properly */
    atomic_int in_flight;
    atomic_ullong turned_away; /* connections of clients that have too many */
    struct rate rate;          /* of the index; the tick samples it */
    atomic_bool was_ready;
};

/* NULL-safe: a context of a unit test may have none. Any thread. */
void metrics_begun(struct metrics *m);
/* endpoint NULL: an unknown path. */
void metrics_completed(struct metrics *m, const struct endpoint *endpoint, int status,
                       int64_t duration_ns, uint64_t sent_bytes, bool cut);
void metrics_turned_away(struct metrics *m);
/* Everything that the first walk found is indexed or has failed, by what index_progress() tells.
 * Once so, it stays so, whatever grows, comes or is indexed anew; but not while indexing has
 * stopped on an error with files left to do. */
bool metrics_ready(struct metrics *m, const struct index_progress *p);
uint64_t metrics_open_files(void); /* of the process */
struct cache;
/* The counters in Prometheus text format 0.0.4. `queued`: see struct site. */
void metrics_write(struct metrics *m, int queued, struct cache *cache, struct buf *out);

#endif
