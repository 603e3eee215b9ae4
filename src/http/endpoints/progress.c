/* progress.c - /progress: indexing progress as server-sent events. */
#include "http/access/viewer.h"
#include "http/endpoints/endpoints.h"
#include "http/metrics/progress.h"

#define EVENT_NS 250000000ll /* minimum time between two events */

static const struct param_spec own_params[] = {
    PARAM("follow", BOOL,
          "continue after everything is indexed: traces may grow and new ones may appear",
          .fallback = "false"),
    PARAM("timeout", DURATION, "end the stream after this time at the latest", .example = "'30s'"),
    {0},
};

static int open_progress(struct request *rq)
{
    rq->content_type = "text/event-stream";
    return 0;
}

/* The JSON is on one line, as server-sent events require. */
static void write_event(const struct request *rq, const struct index_progress *p, struct buf *out)
{
    struct progress_report r;
    struct jw j;
    progress_report(rq, p, &r);
    buf_puts(out, "event: progress\ndata: ");
    jw_init(&j, out, false);
    jw_begin(&j, '{');
    jw_put_uint(&j, "generation", snapshot_generation(rq->snapshot));
    jw_members(&j, &progress_report_type, &r);
    jw_end(&j, '}');
    jw_finish(&j);
    buf_putc(out, '\n');
}

/* Reads the progress of the files that the peer may see. */
static void read_progress(const struct request *rq, struct index_progress *ret)
{
    struct index *ix = rq->http->options->index;
    index_progress(ix, ret);
    if (rq->viewer)
        progress_count(ix, rq->snapshot, NULL, snapshot_file_count(rq->snapshot), ret);
}

static int next_progress(struct request *rq, struct buf *out)
{
    struct index_progress p;
    request_repin(rq);
    read_progress(rq, &p);
    bool last =
        rq->ending || p.store_error || (progress_is_done(&p) && !request_flag(rq, "follow"));
    if (!progress_is_due(rq, rq->state, &p, snapshot_generation(rq->snapshot), EVENT_NS, last))
        return NEXT_WAIT;
    write_event(rq, &p, out);
    return last ? ERR_END : NEXT_WAIT;
}

const struct endpoint endpoint_progress = {
    .path = "/progress",
    .summary = "indexing progress as server-sent events",
    .methods = METHOD_GET,
    PARAMS(own_params),
    .apart = true,
    .state_size = sizeof(struct progress_stream),
    .open = open_progress,
    .next = next_progress,
};
