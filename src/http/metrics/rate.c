/* rate.c - samples of the indexed bytes, over the last seconds. */
#include "http/metrics/rate.h"

/* A file that is to be read again, or is gone, reduces bytes_done; this must not count as negative
 * work. */
void rate_sample(struct rate *r, const struct index_progress *p, int64_t now_ns)
{
    if (r->count && p->bytes_done > r->last_done)
        r->total += p->bytes_done - r->last_done;
    r->last_done = p->bytes_done;
    if (p->files_pending == 0) {
        r->count = r->next = 0;
        atomic_store(&r->measured, false);
        return;
    }
    r->samples[r->next].ns = now_ns;
    r->samples[r->next].bytes = r->total;
    r->next = (r->next + 1) % RATE_SAMPLES;
    r->count += r->count < RATE_SAMPLES;
    unsigned oldest = (r->next + RATE_SAMPLES - r->count) % RATE_SAMPLES;
    int64_t time = now_ns - r->samples[oldest].ns;
    uint64_t done = r->total - r->samples[oldest].bytes;
    if (time <= 0)
        return;
    atomic_store(&r->bytes_per_s, (double)done * 1e9 / (double)time);
    atomic_store(&r->measured, true);
}

void rate_tick(struct rate *r, struct index *ix, int64_t now_ns)
{
    struct index_progress p;
    if (now_ns - r->sampled_ns < RATE_SAMPLE_NS)
        return;
    r->sampled_ns = now_ns;
    index_progress(ix, &p);
    rate_sample(r, &p, now_ns);
}

double rate_bytes_per_s(const struct rate *r)
{
    return atomic_load(&r->measured) ? atomic_load(&r->bytes_per_s) : -1;
}
