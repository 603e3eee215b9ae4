/* endpoint_index.c - /index: how far indexing is (GET), and indexing anew (POST). */
#include "endpoint.h"
#include "metrics.h"

#include <stdlib.h>

static const struct param_spec own_params[] = {
    {"dir", PARAM_TEXT, true, NULL, NULL, "subtree of the root; repeatable; default all"},
    {"file", PARAM_TEXT, true, NULL, NULL, "path or glob of trace files; repeatable"},
    {"recursive", PARAM_BOOL, false, "true", NULL, "also directories below dir"},
    {"force", PARAM_BOOL, false, "false", NULL,
     "POST: index all of the chosen files anew; otherwise only those that have failed"},
    {"pretty", PARAM_BOOL, false, "false", NULL, "JSON with line breaks, for people"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, NULL};
static const enum format formats[] = {FORMAT_JSON};

struct state {
    struct index_progress progress; /* of the chosen files */
    uint64_t queued;
};

static void add_file(struct index_progress *p, const struct index_file *f)
{
    bool pending = f->state == INDEX_PENDING || f->state == INDEX_INDEXING;
    p->files++;
    p->files_pending += pending;
    p->files_failed += f->state == INDEX_FAILED;
    p->files_ready += !pending && f->state != INDEX_FAILED;
    p->bytes += f->compressed_bytes;
    p->bytes_done += pending ? 0 : f->compressed_bytes;
}

/* Rebuilding makes a file pending: what is told is how it is after that. */
static int rebuild(struct request *rq, struct state *s, const struct index_file *f)
{
    if (f->state != INDEX_FAILED && !request_flag(rq, "force"))
        return 0;
    int rc = index_rebuild(rq->http->options->index, f->name, NULL);
    s->queued += rc == 0;
    return rc == ERR_NOT_FOUND ? 0 : rc; /* it went away just now */
}

static int choose(struct request *rq, struct snapshot *snapshot, uint32_t **ret, size_t *ret_count)
{
    struct selection chosen;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    return query_select_files(&rq->http->env, snapshot, &chosen, &rq->err, ret, ret_count);
}

static int rebuild_chosen(struct request *rq, struct state *s)
{
    struct snapshot *snapshot = index_snapshot(rq->http->options->index);
    uint32_t *files = NULL;
    size_t count = 0;
    int rc = choose(rq, snapshot, &files, &count);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = rebuild(rq, s, snapshot_file(snapshot, files[i]));
    free(files);
    snapshot_release(snapshot);
    return rc;
}

/* Of all files the index knows more: what is done of those that are being read. */
static int read_progress(struct request *rq, struct state *s)
{
    struct index_progress all;
    uint32_t *files = NULL;
    size_t count = 0;
    index_progress(rq->http->options->index, &all);
    struct snapshot *snapshot = index_snapshot(rq->http->options->index);
    int rc = choose(rq, snapshot, &files, &count);
    for (size_t i = 0; i < count; i++)
        add_file(&s->progress, snapshot_file(snapshot, files[i]));
    s->progress.listed = all.listed;
    s->progress.store_error = all.store_error;
    if (!request_param(rq, "dir")->count && !request_param(rq, "file")->count)
        s->progress = all;
    free(files);
    snapshot_release(snapshot);
    return rc;
}

static int open_index(struct request *rq)
{
    struct state *s = rq->state = arena_alloc(&rq->arena, sizeof *s);
    if (!s)
        return -ENOMEM;
    rq->format = FORMAT_JSON;
    if (!rq->post && request_flag(rq, "force"))
        return err_set_param(&rq->err, ERR_PARAM, "force",
                             "`force` changes something: it needs POST with a JSON body");
    int rc = rq->post ? rebuild_chosen(rq, s) : 0;
    return rc < 0 ? rc : read_progress(rq, s);
}

static const char *state_name(const struct index_progress *p)
{
    if (p->store_error)
        return "stopped";
    return p->listed && p->files_pending == 0 ? "ready" : "indexing";
}

/* The speed since the daemon was asked before, -1 when it is not known: nothing was done, or that is long ago. */
static double speed(struct request *rq, const struct index_progress *p)
{
    struct metrics *m = rq->http->metrics;
    struct index_progress all;
    if (!m)
        return -1;
    index_progress(rq->http->options->index, &all);
    int64_t now = clock_mono_ns(), before = atomic_exchange(&m->index_asked_ns, now);
    int64_t done =
        (int64_t)all.bytes_done - (int64_t)atomic_exchange(&m->index_asked_bytes, all.bytes_done);
    if (!before || now - before > 60 * 1000000000ll || now <= before || done <= 0 ||
        !p->files_pending)
        return -1;
    return (double)done * 1e9 / (double)(now - before);
}

static int next_index(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    const struct index_progress *p = &s->progress;
    double rate = speed(rq, p);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"files", p->files},
                  {"files_ready", p->files_ready},
                  {"files_failed", p->files_failed},
                  {"bytes", p->bytes},
                  {"bytes_done", p->bytes_done}};
    struct jw j;
    jw_init(&j, out, rq->pretty);
    jw_begin(&j, '{');
    jw_key(&j, "state");
    jw_str(&j, state_name(p));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        jw_key(&j, counts[i].name);
        jw_uint(&j, counts[i].value);
    }
    struct value none = {.type = VALUE_NULL}, v = {.type = VALUE_DOUBLE, .d = rate};
    jw_key(&j, "bytes_per_s");
    jw_value(&j, rate > 0 ? &v : &none);
    v.d = p->bytes > p->bytes_done ? (double)(p->bytes - p->bytes_done) / rate : 0;
    jw_key(&j, "eta_s");
    jw_value(&j, rate > 0 ? &v : &none);
    if (rq->post) {
        jw_key(&j, "queued");
        jw_uint(&j, s->queued);
    }
    jw_end(&j, '}');
    jw_finish(&j);
    return ERR_END;
}

const struct endpoint endpoint_index = {
    .path = "/index",
    .summary = "how far indexing is; POST indexes files anew",
    .methods = METHOD_GET | METHOD_POST,
    .params = params,
    .formats = formats,
    .format_count = 1,
    .immediate = true,
    .changes = true,
    .open = open_index,
    .next = next_index,
};
