/* info.c - /info: totals and, by `detail`, files, chunks and columns. */
#include "dftracerd/info.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdlib.h>

static const struct param_spec own_params[] = {
    PARAM("detail", CHOICE, "level of detail; default totals", .choices = "totals|files|columns"),
    PARAM("query", CHOICE,
          "other names for `detail`, as in dftracer_info: summary = totals, detailed = files",
          .choices = "summary|detailed", .not_with = "detail"),
    {0},
};

struct state {
    uint32_t *files;
    size_t count;
    struct info *info;
    struct document document;
};

static bool is_complete(const struct request *rq, const struct selection *chosen,
                        const struct state *s)
{
    const struct snapshot *snapshot = rq->snapshot;
    for (size_t i = 0; i < s->count; i++) {
        enum index_state state = snapshot_file(snapshot, s->files[i])->state;
        if (state == INDEX_PENDING || state == INDEX_INDEXING || state == INDEX_GROWING)
            return false;
    }
    return snapshot_is_listed(snapshot) &&
           query_selection_is_complete(&rq->http->env, snapshot, chosen);
}

static int open_info(struct request *rq)
{
    struct state *s = rq->state;
    struct selection chosen;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    int rc =
        query_select_files(&rq->http->env, rq->snapshot, &chosen, &rq->err, &s->files, &s->count);
    if (rc < 0)
        return rc;
    rq->incomplete = !is_complete(rq, &chosen, s);
    const char *detail = request_param(rq, "detail")->set ? "detail" : "query";
    struct info_options options = {.detail = (unsigned)request_uint(rq, detail),
                                   .all = !chosen.dir_count && !chosen.file_count,
                                   .complete = !rq->incomplete,
                                   .only_chosen = rq->viewer != NULL,
                                   .only_files = rq->format == FORMAT_TEXT};
    rc = info_open(&rq->http->env, rq->snapshot, s->files, s->count, &options, &s->info);
    if (rc < 0)
        return err_set_code(&rq->err, rc);
    s->info->budget = &rq->budget;
    s->info->err = &rq->err;
    document_begin(&s->document, &info_type, s->info, rq->pretty);
    return 0;
}

static int next_info(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    s->info->out = out;
    if (rq->format == FORMAT_JSON)
        return document_next(&s->document, out);
    format_info_text(s->info, out);
    return ERR_END;
}

static void close_info(struct request *rq)
{
    struct state *s = rq->state;
    info_close(s->info);
    free(s->files);
}

const struct endpoint endpoint_info = {
    .path = "/info",
    .summary = "overview of the indexed traces: totals, files, chunks, columns",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &info_type,
    PARAMS(own_params, files_params, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_TEXT),
    .state_size = sizeof(struct state),
    .open = open_info,
    .next = next_info,
    .close = close_info,
};
