/* rate.h - the speed of indexing, sampled all the time so that the first request gets it, too.
 * Sampled by the tick, read by progress.c. */
#ifndef DFTRACERD_HTTP_METRICS_RATE_H
#define DFTRACERD_HTTP_METRICS_RATE_H

#include "dftracerd/index.h"

#define RATE_SAMPLES 21 /* 20 intervals of 250 ms: the last 5 seconds */
#define RATE_SAMPLE_NS 250000000ll

/* Zero-initialise. rate_tick: one thread; rate_bytes_per_s: any. */
struct rate {
    struct {
        int64_t ns;
        uint64_t bytes;
    } samples[RATE_SAMPLES]; /* a ring buffer */
    unsigned count, next;
    int64_t sampled_ns;
    uint64_t last_done, total;  /* bytes_done at the last sample; all that it increased by */
    _Atomic double bytes_per_s; /* over the samples, if `measured` */
    atomic_bool measured;
};
/* Samples the index when a sample is due. */
void rate_tick(struct rate *r, struct index *ix, int64_t now_ns);
/* Returns compressed bytes of traces indexed per second; negative if nothing is being indexed, or
 * not for long enough. */
double rate_bytes_per_s(const struct rate *r);

/* For rate_tick, and for tests. */
void rate_sample(struct rate *r, const struct index_progress *p, int64_t now_ns);

#endif
