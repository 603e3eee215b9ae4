/* event_count.c - /event-count: one exact number, or one for each file. */
#include "dftracerd/event_count.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

struct counted_file {
    const char *path;
    uint64_t events;
};
struct state {
    uint64_t events;
    struct counted_file *files;
    size_t file_count;
    struct text unknown[QUERY_UNKNOWN_MAX];
    size_t unknown_count;
};

/* ---- members --------------------------------------------------------------------------------- */

#define OBJECT struct counted_file
static const struct member file_members[] = {
    MEMBER("path", path),
    MEMBER("events", events),
};
static const struct object_type file_type = {NULL, MEMBERS(file_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member members[] = {
    MEMBER("events", events),
    MEMBER_VALUES("unknown", unknown, unknown_count, .optional = true,
                  .help = "columns of the query that no selected file has"),
    MEMBER_OBJECTS("files", files, file_count, &file_type),
};
static const struct object_type event_count_type = {"EventCount", MEMBERS(members)};
#undef OBJECT

/* ---- the request ----------------------------------------------------------------------------- */

static int count_events(struct request *rq, struct state *s)
{
    const uint32_t *files;
    size_t n = query_files(rq->query, &files);
    uint64_t *counts = arena_alloc(&rq->arena, (n + 1) * sizeof *counts);
    s->files = arena_alloc(&rq->arena, (n + 1) * sizeof *s->files);
    if (rq->arena.error)
        return rq->arena.error;
    int rc = query_count_files(rq->query, &rq->err, counts);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        s->files[i] = (struct counted_file){snapshot_file(rq->snapshot, files[i])->name, counts[i]};
        s->events += counts[i];
    }
    s->file_count = n;
    return rc;
}

static int open_event_count(struct request *rq)
{
    struct state *s = rq->state;
    int rc = count_events(rq, s);
    if (rc < 0 || rq->format != FORMAT_JSON)
        return rc;
    /* A name that no file has is not an error: another trace may have the column. */
    rc = query_unknown_columns(rq->query, s->unknown);
    s->unknown_count = rc < 0 ? 0 : (size_t)rc;
    return rc < 0 ? rc : 0;
}

static int next_event_count(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    if (rq->format == FORMAT_JSON)
        return format_object(&event_count_type, s, rq->pretty, out);
    buf_printf(out, "%llu\n", (unsigned long long)s->events);
    return ERR_END;
}

const struct endpoint endpoint_event_count = {
    .path = "/event-count",
    .summary = "exact number of events",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &event_count_type,
    PARAMS(selection_params, clip_params, answer_params),
    FORMATS(FORMAT_TEXT, FORMAT_JSON),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_event_count,
    .next = next_event_count,
};
