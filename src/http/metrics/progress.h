/* progress.h - indexing progress, as /index and /progress report it.
 * Threads: those of the request, one at a time; nothing is kept. */
#ifndef DFTRACERD_HTTP_METRICS_PROGRESS_H
#define DFTRACERD_HTTP_METRICS_PROGRESS_H

#include "http/request/endpoint.h"

bool progress_is_done(const struct index_progress *p);
/* What a stream of reports has sent last. Zero-initialise. */
struct progress_stream {
    struct index_progress sent;
    uint64_t generation; /* 0 if the reports contain none */
    int64_t sent_ns;     /* 0: no report yet */
};
/* Decides whether a report is due: the last one; `gap_ns` after the one before if something has
 * changed; or after some seconds, so that a dead connection is noticed. Sets rq->wait_ms to the
 * time of the next one. */
bool progress_is_due(struct request *rq, struct progress_stream *s, const struct index_progress *p,
                     uint64_t generation, int64_t gap_ns, bool last);
/* Counts `count` files of a snapshot only; with files NULL the first `count`. */
void progress_count(struct index *ix, const struct snapshot *snapshot, const uint32_t *files,
                    size_t count, struct index_progress *p);
/* The members of a report: state, files, bytes, speed. */
struct progress_report {
    const char *state;
    struct index_progress p;
    double bytes_per_s, eta_s; /* NAN: unknown */
    bool has_unrequested;
    struct value queued; /* files queued by a POST */
    const struct index_rank_progress *ranks;
    size_t rank_count;
};
extern const struct object_type progress_report_type;
void progress_report(const struct request *rq, const struct index_progress *p,
                     struct progress_report *ret);

#endif
