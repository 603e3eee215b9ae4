/* progress.c - the members of a report on indexing. */
#include "http/metrics/progress.h"
#include "http/metrics/metrics.h"

bool progress_is_done(const struct index_progress *p)
{
    return p->listed && p->files_pending == 0;
}

bool progress_is_same(const struct index_progress *a, const struct index_progress *b)
{
    return a->listed == b->listed && a->store_error == b->store_error && a->files == b->files &&
           a->files_ready == b->files_ready && a->files_failed == b->files_failed &&
           a->files_pending == b->files_pending && a->bytes == b->bytes &&
           a->bytes_done == b->bytes_done;
}

static void add_file(struct index *ix, struct index_progress *p, const struct index_file *f)
{
    bool pending = f->state == INDEX_PENDING || f->state == INDEX_INDEXING;
    p->files++;
    if (f->state == INDEX_PENDING && index_is_unasked(ix, f->name)) {
        p->files_unasked++;
        return;
    }
    p->files_pending += pending;
    p->files_failed += f->state == INDEX_FAILED;
    p->files_ready += !pending && f->state != INDEX_FAILED;
    p->bytes += f->compressed_bytes;
    p->bytes_done += index_file_done(f);
}

void progress_count(struct index *ix, const struct snapshot *snapshot, const uint32_t *files,
                    size_t count, struct index_progress *p)
{
    *p = (struct index_progress){.listed = p->listed, .store_error = p->store_error};
    for (size_t i = 0; i < count; i++)
        add_file(ix, p, snapshot_file(snapshot, files ? files[i] : (uint32_t)i));
}

static const char *state_name(const struct index_progress *p)
{
    if (p->store_error)
        return "stopped";
    if (!progress_is_done(p))
        return "indexing";
    return p->files_failed ? "failed" : "ready";
}

/* Of all files, so not for viewers. */
static void write_speed(const struct request *rq, const struct index_progress *p, struct jw *j)
{
    double rate =
        rq->http->metrics && !rq->viewer ? rate_bytes_per_s(&rq->http->metrics->rate) : -1;
    struct value speed = {.type = VALUE_NULL}, eta = {.type = VALUE_NULL};
    if (rate >= 0 && p->files_pending)
        speed = (struct value){.type = VALUE_DOUBLE, .d = rate};
    if (rate > 0 && p->files_pending)
        eta = (struct value){.type = VALUE_DOUBLE, .d = (double)(p->bytes - p->bytes_done) / rate};
    jw_put_value(j, "bytes_per_s", &speed);
    jw_put_value(j, "eta_s", &eta);
}

void progress_write(const struct request *rq, const struct index_progress *p, struct jw *j)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"files", p->files},
                  {"files_ready", p->files_ready},
                  {"files_failed", p->files_failed},
                  {"bytes", p->bytes},
                  {"bytes_done", p->bytes_done}};
    jw_put_str(j, "state", state_name(p));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        jw_put_uint(j, counts[i].name, counts[i].value);
    write_speed(rq, p, j);
    if (p->files_unasked)
        jw_put_uint(j, "files_unasked", p->files_unasked);
}
