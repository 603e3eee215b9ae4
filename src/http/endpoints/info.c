/* info.c - /info: totals and, by `detail`, files, chunks and columns. */
#include "dftracerd/info.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdlib.h>
#include <string.h>

static const enum format formats[] = {FORMAT_JSON, FORMAT_TEXT};

static const struct param_spec own_params[] = {
    PARAM("detail", CHOICE, "level of detail; default totals", .choices = "totals|files|columns"),
    PARAM("query", CHOICE,
          "other names for `detail`, as in dftracer_info: summary = totals, detailed = files",
          .choices = "summary|detailed"),
    PARAM("dir", TEXT, "directory whose trace files are selected; repeatable; default all",
          .repeatable = true, .example = "['.']"),
    PARAM("file", TEXT, "trace file or glob pattern; repeatable", .repeatable = true,
          .example = "['rank_*.pfw.gz']"),
    PARAM("recursive", BOOL, "include subdirectories", .fallback = "true"),
    {0},
};
static const struct param_spec *const params[] = {own_params, answer_params, NULL};

static unsigned detail_of(const struct request *rq)
{
    const char *detail = request_text(rq, "detail"), *query = request_text(rq, "query");
    if (detail)
        return strcmp(detail, "columns") == 0 ? 2 : strcmp(detail, "files") == 0;
    return query && strcmp(query, "detailed") == 0;
}

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
    return snapshot_is_listed(snapshot) && query_select_whole(&rq->http->env, snapshot, chosen);
}

static int open_info(struct request *rq)
{
    struct state *s = rq->state;
    struct selection chosen;
    if (request_param(rq, "detail")->set && request_param(rq, "query")->set)
        return err_set_param(&rq->err, ERR_PARAM, "query", "give `detail` or `query`, not both");
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    int rc =
        query_select_files(&rq->http->env, rq->snapshot, &chosen, &rq->err, &s->files, &s->count);
    if (rc < 0)
        return rc;
    rq->incomplete = !is_complete(rq, &chosen, s);
    struct info_options options = {.detail = detail_of(rq),
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
    .params = params,
    .formats = formats,
    .format_count = 2,
    .state_size = sizeof(struct state),
    .open = open_info,
    .next = next_info,
    .close = close_info,
};
