/* health.c - /healthz: the daemon is alive; /readyz: all files that existed at start are indexed.
 */
#include "http/endpoints/endpoints.h"
#include "http/metrics/metrics.h"
#include "http/request/selection.h"

#include <stdio.h>

struct ready {
    const char *status, *error;
    bool counts; /* false for viewers: the counts include all files */
    struct index_progress p;
};

/* ---- members --------------------------------------------------------------------------------- */

static const char *const alive[] = {"ok", NULL};
static const char *const states[] = {"ready", "indexing", "stopped", "stopping", NULL};

#define OBJECT const char *
static const struct member health_members[] = {
    {MEMBER_NAME("status"), .kind = MEMBER_STRING, .choices = alive},
};
static const struct object_type health_type = {"Health", MEMBERS(health_members)};
#undef OBJECT

#define OBJECT struct ready
#define COUNT(name) MEMBER(#name, p.name, .when = WHEN(counts), .optional = true)
static const struct member ready_members[] = {
    MEMBER("status", status, .choices = states),
    MEMBER("error", error, .optional = true),
    COUNT(files),
    COUNT(files_ready),
    COUNT(files_failed),
    COUNT(files_pending),
    COUNT(directories_unreadable),
    COUNT(bytes),
    COUNT(bytes_done),
};
static const struct object_type ready_type = {"Ready", MEMBERS(ready_members)};
#undef OBJECT

/* ---- the requests ---------------------------------------------------------------------------- */

static int open_nothing(struct request *rq)
{
    rq->format = FORMAT_JSON;
    return 0;
}

static int next_healthz(struct request *rq, struct buf *out)
{
    return format_object(&health_type, &alive[0], rq->pretty, out);
}

static int next_readyz(struct request *rq, struct buf *out)
{
    struct ready r = {.counts = !rq->viewer};
    bool ends = atomic_load(&rq->http->stopping);
    char text[200];
    index_progress(rq->http->options->index, &r.p);
    bool ready = !ends && metrics_ready(rq->http->metrics, &r.p);
    rq->status = ready ? 200 : 503;
    r.status = ready ? "ready" : ends ? "stopping" : r.p.store_error ? "stopped" : "indexing";
    r.error = r.p.store_error ? err_text(r.p.store_error) : NULL;
    if (r.p.store_error_host) {
        snprintf(text, sizeof text, "%s (on %s)", r.error, r.p.store_error_host);
        r.error = text;
    }
    return format_object(&ready_type, &r, rq->pretty, out);
}

const struct endpoint endpoint_healthz = {
    .path = "/healthz",
    .summary = "liveness: 200 while the daemon runs",
    .methods = METHOD_GET,
    .answer = &health_type,
    FORMATS(FORMAT_JSON),
    .immediate = true,
    .public = true,
    .open = open_nothing,
    .next = next_healthz,
};
const struct endpoint endpoint_readyz = {
    .path = "/readyz",
    .summary = "readiness: 200 once every file found at startup is indexed, otherwise 503 with the "
               "progress",
    .methods = METHOD_GET,
    .answer = &ready_type,
    PARAMS(pretty_params),
    FORMATS(FORMAT_JSON),
    .immediate = true,
    .public = true,
    .open = open_nothing,
    .next = next_readyz,
};
