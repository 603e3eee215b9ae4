/* metrics.h - the server's counters for /metrics: atomics in tables of fixed size, so that the
 * number of labels is limited. One struct for each site: written by the server, read by /metrics
 * and /readyz.
 * Threads: any. */
#ifndef DFTRACERD_HTTP_METRICS_METRICS_H
#define DFTRACERD_HTTP_METRICS_METRICS_H

#include "http/metrics/rate.h"

#define METRICS_ENDPOINTS 64 /* size of the table; the last row is for unknown paths */
#define METRICS_CODES 24
#define METRICS_BUCKETS 12 /* buckets of durations, including +Inf */

struct endpoint;
struct index_progress;
struct metrics_endpoint {
    atomic_ullong codes[METRICS_CODES];
    atomic_ullong buckets[METRICS_BUCKETS]; /* not cumulative */
    atomic_ullong duration_ns;
};
struct metrics {
    const struct endpoint *const *table; /* NULL-terminated */
    struct metrics_endpoint endpoints[METRICS_ENDPOINTS];
    atomic_ullong sent_bytes, cut; /* cut: answers that were not completed */
    atomic_int in_flight;
    atomic_ullong refused_connections; /* of clients that have too many */
    struct rate rate;                  /* of the index; sampled by the tick */
    atomic_bool was_ready;
};

/* NULL-safe, because the context of a unit test may have none. Any thread. */
void metrics_begun(struct metrics *m);
/* endpoint NULL: an unknown path. */
void metrics_completed(struct metrics *m, const struct endpoint *endpoint, int status,
                       int64_t duration_ns, uint64_t sent_bytes, bool cut);
void metrics_connection_refused(struct metrics *m);
/* True if all files found by the first directory scan are indexed or have failed, according to
 * index_progress(). Once true it stays true, even if files grow, appear or are reindexed. It is
 * false while an error has stopped indexing with files left to do. */
bool metrics_ready(struct metrics *m, const struct index_progress *p);
uint64_t metrics_open_files(void); /* of the process */
struct cache;
/* Writes the counters in Prometheus text format 0.0.4. `queued`: see struct site. */
void metrics_write(struct metrics *m, int queued, struct cache *cache, struct buf *out);
/* Writes the lines before the values of a metric; `type`: counter, gauge or histogram. */
void metrics_put_head(struct buf *out, const char *name, const char *type, const char *help);
/* Writes a metric that has one value, without labels. */
void metrics_put(struct buf *out, const char *name, const char *type, const char *help,
                 uint64_t value);

#endif
