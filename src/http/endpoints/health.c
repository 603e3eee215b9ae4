/* health.c - /healthz: alive; /readyz: everything that was there at start is indexed. */
#include "http/endpoints/endpoints.h"
#include "http/metrics/metrics.h"

static const enum format formats[] = {FORMAT_JSON};

static int open_nothing(struct request *rq)
{
    rq->format = FORMAT_JSON;
    return 0;
}

static int next_healthz(struct request *rq, struct buf *out)
{
    (void)rq;
    buf_puts(out, "{\"status\":\"ok\"}\n");
    return ERR_END;
}

static int next_readyz(struct request *rq, struct buf *out)
{
    struct index_progress p;
    struct jw j;
    index_progress(rq->http->options->index, &p);
    bool ends = atomic_load(&rq->http->stopping),
         ready = !ends && metrics_ready(rq->http->metrics, &p);
    rq->status = ready ? 200 : 503;
    jw_init(&j, out, rq->pretty);
    jw_begin(&j, '{');
    jw_put_str(&j, "status",
               ready           ? "ready"
               : ends          ? "stopping"
               : p.store_error ? "stopped"
                               : "indexing");
    if (p.store_error)
        jw_put_str(&j, "error", err_text(p.store_error));
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"files", p.files},
        {"files_ready", p.files_ready},
        {"files_failed", p.files_failed},
        {"files_pending", p.files_pending},
        {"directories_unreadable", p.directories_unreadable},
        {"bytes", p.bytes},
        {"bytes_done", p.bytes_done},
    };
    for (size_t i = 0; !rq->viewer && i < sizeof counts / sizeof *counts; i++)
        jw_put_uint(&j, counts[i].name, counts[i].value);
    jw_end(&j, '}');
    jw_finish(&j);
    return ERR_END;
}

static const struct param_spec pretty_params[] = {
    {"pretty", PARAM_BOOL, false, "false", NULL, "print JSON with line breaks and indentation"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const no_params[] = {NULL};
static const struct param_spec *const readyz_params[] = {pretty_params, NULL};

const struct endpoint endpoint_healthz = {
    .path = "/healthz",
    .summary = "liveness: 200 while the daemon runs",
    .methods = METHOD_GET,
    .params = no_params,
    .formats = formats,
    .format_count = 1,
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
    .params = readyz_params,
    .formats = formats,
    .format_count = 1,
    .immediate = true,
    .public = true,
    .open = open_nothing,
    .next = next_readyz,
};
