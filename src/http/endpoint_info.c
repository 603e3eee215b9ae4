/* endpoint_info.c - /info: totals and, by `detail`, files, chunks and columns. */
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

static const enum format formats[] = {FORMAT_JSON, FORMAT_TEXT};

static const struct param_spec own_params[] = {
    {"detail", PARAM_CHOICE, false, NULL, "totals|files|columns", "how much to tell; default totals"},
    {"query", PARAM_CHOICE, false, NULL, "summary|detailed", "the old command's words for detail=totals and detail=files"},
    {"dir", PARAM_TEXT, true, NULL, NULL, "subtree of the root; repeatable; default all"},
    {"file", PARAM_TEXT, true, NULL, NULL, "path or glob of trace files; repeatable"},
    {"recursive", PARAM_BOOL, false, "true", NULL, "also directories below dir"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, answer_params, NULL};

static unsigned detail_of(const struct request *rq)
{
    const char *detail = request_text(rq, "detail"), *query = request_text(rq, "query");
    if (detail)
        return strcmp(detail, "columns") == 0 ? 2 : strcmp(detail, "files") == 0;
    return query && strcmp(query, "detailed") == 0;
}

static int open_info(struct request *rq)
{
    return detail_of(rq) && request_param(rq, "detail")->set && request_param(rq, "query")->set
               ? err_set_param(&rq->err, ERR_PARAM, "query", "give `detail` or `query`, not both")
               : 0;
}

static int next_info(struct request *rq, struct buf *out)
{
    const struct http_options *o = rq->http->options;
    const struct param *dir = request_param(rq, "dir"), *file = request_param(rq, "file");
    struct selection s;
    uint32_t *files = NULL;
    size_t count = 0;
    selection_init(&s);
    s.dirs = (const char *const *)dir->items, s.dir_count = dir->count;
    s.files = (const char *const *)file->items, s.file_count = file->count;
    s.not_recursive = !request_flag(rq, "recursive");
    int rc = query_select_files(&rq->http->env, rq->snapshot, &s, &rq->err, &files, &count);
    if (rc < 0)
        return rc;
    struct format_info_options options = {.detail = detail_of(rq), .pretty = rq->pretty, .root_labels = o->root_labels,
                                          .root_paths = o->root_paths, .root_count = o->root_count};
    rc = format_info(o->index, rq->snapshot, files, count, &options, rq->format, out);
    free(files);
    return rc < 0 ? rc : ERR_END;
}

const struct endpoint endpoint_info = {
    .path = "/info", .summary = "what is there: totals, files, chunks, columns", .methods = METHOD_GET | METHOD_POST,
    .params = params, .formats = formats, .format_count = 2, .open = open_info, .next = next_info,
};
