/* find.c - /find: the next selected object in the order of time. */
#include "dftracerd/find.h"
#include "engine/scan/scan.h"

#include <errno.h>
#include <stdlib.h>

/* In the order of time: ns, which may be more than 64 bits have. */
struct spot {
    __int128 ts;
    uint32_t file;
    uint64_t object;
};
struct job {
    const struct find_options *options;
    struct query *query;
    const struct source *ts;
    struct find_found *found;
    struct spot best;
};
struct worker {
    const struct job *job;
    uint64_t chunk_start; /* object of the chunk's first row */
    uint64_t objects, untimed, beyond;
    bool any;
    struct spot best;
};

static int spot_cmp(const struct spot *a, const struct spot *b)
{
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

/* Whether it may be the answer. */
static bool is_beyond(const struct find_options *o, const struct spot *s)
{
    const struct spot at = {o->at_ns, o->file, o->object};

    if (!o->has_at)
        return true;
    if (!o->has_place)
        return o->backward ? s->ts <= o->at_ns : s->ts >= o->at_ns;
    return o->backward ? spot_cmp(s, &at) < 0 : spot_cmp(s, &at) > 0;
}

static void take(const struct find_options *o, struct spot *best, bool *any, const struct spot *s)
{
    int cmp = *any ? spot_cmp(s, best) : 0;

    if (!*any || (o->backward ? cmp > 0 : cmp < 0))
        *best = *s;
    *any = true;
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct worker *w = state;

    w->chunk_start = 0;
    for (uint32_t i = 0; i < c->place.chunk; i++)
        w->chunk_start += c->file->chunks[i].rows;
    return 0;
}

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    const struct find_options *o = w->job->options;
    const uint64_t *valid;
    bool nano;
    const int64_t *values = batch_i64(b, w->job->ts, &valid, &nano);

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(valid, row)) {
            w->untimed++;
            continue;
        }
        struct spot s = {(__int128)values[row] * (nano ? 1 : 1000), b->chunk->place.file,
                         w->chunk_start + batch_place(b, row)};
        w->objects++;
        if (!is_beyond(o, &s))
            continue;
        w->beyond++;
        take(o, &w->best, &w->any, &s);
    }
    return 0;
}

static int worker_begin(void *arg, unsigned number, void **ret_state)
{
    struct worker *w = calloc(1, sizeof(*w));
    (void)number;

    if (!w)
        return -ENOMEM;
    w->job = arg;
    *ret_state = w;
    return 0;
}

/* `position` counts what may be the answer, until all workers are done. */
static int worker_end(void *arg, unsigned number, void *state, bool failed)
{
    struct job *job = arg;
    struct worker *w = state;
    bool any = job->found->position > 0;
    (void)number;
    (void)failed;

    if (w->any)
        take(job->options, &job->best, &any, &w->best);
    job->found->objects += w->objects;
    job->found->untimed += w->untimed;
    job->found->position += w->beyond;
    free(w);
    return 0;
}

int query_find(struct query *q, const struct find_options *o, struct find_found *ret,
               struct err *err)
{
    struct job job = {.options = o, .query = q, .found = ret};
    struct scan_sink sink = {.arg = &job,
                             .gathers = true,
                             .worker_begin = worker_begin,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .worker_end = worker_end};
    int rc = query_source(q, TEXT("ts"), &job.ts);

    *ret = (struct find_found){0};
    rc = rc < 0 ? rc : scan_run(q, &sink, err);
    if (rc < 0)
        return err_set(err, rc, "%s", err_text(rc));
    if (ret->position && !o->backward)
        ret->position = ret->objects - ret->position + 1;
    ret->file = job.best.file;
    ret->object = job.best.object;
    query_counters(q, &ret->counters);
    ret->complete = query_complete(q);
    return 0;
}
