/* processes.c - /processes: the tree of processes, and what each of them did. */
#include "dftracerd/processes.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

static const enum format formats[] = {FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT};
static const struct param_spec *const params[] = {selection_params, clip_params, page_params,
                                                  answer_params, NULL};

struct state {
    struct query *query;
    struct process_list *list;
    struct format_processes *writer;
};

/* A tree from its middle on would be none. */
static int check_page(struct request *rq)
{
    static const char *const names[] = {"limit", "offset"};
    bool rows = rq->format == FORMAT_NDJSON || rq->format == FORMAT_CSV;

    for (unsigned i = 0; i < 2; i++)
        if (!rows && request_param(rq, names[i])->given)
            return err_set_param(&rq->err, ERR_PARAM, names[i],
                                 "`%s` counts rows and requires format ndjson or csv", names[i]);
    return 0;
}

static int open_processes(struct request *rq)
{
    struct state *s = rq->state;
    const struct param *limit = request_param(rq, "limit");
    struct selection chosen;

    int rc = check_page(rq);
    rc = rc < 0 ? rc : selection_read(rq, &chosen);
    rc = rc < 0 ? rc : selection_open(rq, &chosen, &s->query);
    rc = rc < 0 ? rc : processes_run(s->query, &rq->err, &s->list);
    if (rc < 0)
        return rc;
    struct format_processes_options o = {.format = rq->format,
                                         .pretty = rq->pretty,
                                         .limit = limit->set ? limit->number : UINT64_MAX,
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
    query_close(s->query);
}

const struct endpoint endpoint_processes = {
    .path = "/processes",
    .summary = "tree of processes: commands, ranks, times and activity",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &processes_type,
    .line = &process_line_type,
    .params = params,
    .formats = formats,
    .format_count = 4,
    .state_size = sizeof(struct state),
    .open = open_processes,
    .next = next_processes,
    .close = close_processes,
};
