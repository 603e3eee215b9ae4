/* event_count.c - /event-count: one exact number, or one a file. */
#include "dftracerd/event_count.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON};
static const struct param_spec *const params[] = {selection_params, clip_params, answer_params,
                                                  NULL};

struct state {
    struct query *query;
    uint64_t *counts; /* of query_files, in their order */
    struct text unknown[QUERY_LOOKED_AT];
    int unknown_count;
};

static int open_event_count(struct request *rq)
{
    struct state *s = rq->state;
    struct selection chosen;
    const uint32_t *files;
    int rc = selection_read(rq, &chosen);
    if (rc == 0)
        rc = selection_open(rq, &chosen, &s->query);
    if (rc < 0)
        return rc;
    s->counts = arena_alloc(&rq->arena, (query_files(s->query, &files) + 1) * sizeof *s->counts);
    rc = s->counts ? query_count_files(s->query, &rq->err, s->counts) : -ENOMEM;
    if (rc == 0 && rq->format == FORMAT_JSON)
        rc = s->unknown_count = query_unknown(s->query, s->unknown);
    return rc < 0 ? rc : 0;
}

static void write_files(const struct request *rq, const struct state *s, struct jw *j)
{
    const uint32_t *files;
    size_t n = query_files(s->query, &files);
    jw_key(j, "files");
    jw_begin(j, '[');
    for (size_t i = 0; i < n; i++) {
        jw_begin(j, '{');
        jw_put_str(j, "path", snapshot_file(rq->snapshot, files[i])->name);
        jw_put_uint(j, "events", s->counts[i]);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

/* Such a test is no mistake: another trace may have the column. */
static void write_unknown(const struct state *s, struct jw *j)
{
    if (s->unknown_count == 0)
        return;
    jw_key(j, "unknown");
    jw_begin(j, '[');
    for (int i = 0; i < s->unknown_count; i++)
        jw_text(j, s->unknown[i]);
    jw_end(j, ']');
}

static int next_event_count(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    const uint32_t *files;
    uint64_t events = 0;
    struct jw j;
    for (size_t n = query_files(s->query, &files); n > 0; n--)
        events += s->counts[n - 1];
    if (rq->format == FORMAT_TEXT) {
        buf_printf(out, "%llu\n", (unsigned long long)events);
        return ERR_END;
    }
    jw_init(&j, out, rq->pretty);
    jw_begin(&j, '{');
    jw_put_uint(&j, "events", events);
    write_unknown(s, &j);
    write_files(rq, s, &j);
    jw_end(&j, '}');
    jw_finish(&j);
    return ERR_END;
}

static void close_event_count(struct request *rq)
{
    struct state *s = rq->state;
    query_close(s->query);
}

const struct endpoint endpoint_event_count = {
    .path = "/event-count",
    .summary = "exact number of events",
    .methods = METHOD_GET | METHOD_POST,
    .params = params,
    .formats = formats,
    .format_count = 2,
    .state_size = sizeof(struct state),
    .open = open_event_count,
    .next = next_event_count,
    .close = close_event_count,
};
