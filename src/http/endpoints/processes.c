/* processes.c - /processes: the tree of processes, and statistics of each. */
#include "dftracerd/processes.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

static const struct param_spec page_of_rows[] = {
    PAGE_PARAMS(.formats = FORMAT_BIT(NDJSON) | FORMAT_BIT(CSV)), /* a tree has no pages */
    {0},
};

struct state {
    struct process_list *list;
    struct format_processes *writer;
};

static int open_processes(struct request *rq)
{
    struct state *s = rq->state;
    int rc = processes_run(rq->query, &rq->err, &s->list);
    if (rc < 0)
        return rc;
    struct format_processes_options o = {.format = rq->format,
                                         .pretty = rq->pretty,
                                         .limit = request_limit(rq),
                                         .offset = request_uint(rq, "offset")};
    return format_processes_new(s->list, &o, &s->writer);
}

static int next_processes(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return format_processes_next(s->writer, out);
}

static void close_processes(struct request *rq)
{
    struct state *s = rq->state;
    format_processes_free(s->writer);
    processes_free(s->list);
}

const struct endpoint endpoint_processes = {
    .path = "/processes",
    .summary = "tree of processes: commands, ranks, times and activity",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &processes_type,
    .line = &process_line_type,
    PARAMS(selection_params, clip_params, page_of_rows, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_processes,
    .next = next_processes,
    .close = close_processes,
};
