/* rate.h - how fast the index advances: measured all the time, so that the first request gets it,
 * too. Sampled by the tick, read by progress.c. */
#ifndef DFTRACERD_HTTP_METRICS_RATE_H
#define DFTRACERD_HTTP_METRICS_RATE_H

#include "dftracerd/index.h"

#define RATE_SAMPLES 21 /* 20 intervals of 250 ms: the last 5 seconds */
#define RATE_SAMPLE_NS 250000000ll

/* Zero-initialise. rate_tick: one thread; the rate: any. */
struct rate {
    struct {
        int64_t ns;
        uint64_t bytes;
    } samples[RATE_SAMPLES]; /* a ring */
    unsigned count, next;
    int64_t looked_ns;
    uint64_t last_done, total;  /* bytes_done when sampled last; all that was ever done */
    _Atomic double bytes_per_s; /* of the samples, where `measured` */
    atomic_bool measured;
};
/* Takes a sample of the index when it is time for one. */
void rate_tick(struct rate *r, struct index *ix, int64_t now_ns);
/* Compressed bytes of traces that are indexed per second; negative where nothing is being indexed,
 * or not for long enough to tell. */
double rate_bytes_per_s(const struct rate *r);

/* For rate_tick, and for tests. */
void rate_sample(struct rate *r, const struct index_progress *p, int64_t now_ns);

#endif
