/* compare.c - /compare: two or more selections, and how their metrics differ. */
#include "dftracerd/compare.h"

#include "http/endpoints/compare_stacks.h"
#include "http/endpoints/endpoints.h"
#include "http/request/compare_request.h"
#include "http/request/selection.h"
#include "http/request/spread.h"

struct state {
    struct compare_request compare;
    struct comparison *found;
    struct buf stacks; /* collapsed-diff */
};

static int open_compare(struct request *rq)
{
    struct state *s = rq->state;
    const struct query_env env = request_env(rq);
    int rc = compare_request_read(rq, &s->compare);
    if (rc == 0 && rq->format == FORMAT_COLLAPSED_DIFF)
        return compare_stacks(rq, &s->compare, &s->stacks);
    if (rc == 0)
        rc = compare_run(&env, rq->snapshot, &s->compare.options, &rq->budget, &rq->err, &s->found);
    if (rc == 0)
        rq->incomplete = !s->found->complete;
    return rc;
}

static int next_compare(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    if (!s->found) {
        buf_append(out, s->stacks.data, s->stacks.len);
        return out->error ? out->error : ERR_END;
    }
    struct format_compare_options o = {.format = rq->format,
                                       .pretty = rq->pretty,
                                       .terminal = request_flag(rq, "terminal"),
                                       .color = request_flag(rq, "color"),
                                       .budget = &rq->budget};
    int rc = format_compare(s->found, &o, out);
    return rc < 0 ? rc : ERR_END;
}

static void close_compare(struct request *rq)
{
    struct state *s = rq->state;
    comparison_free(s->found);
    buf_done(&s->stacks);
}

const struct endpoint endpoint_compare = {
    .path = "/compare",
    .summary = "differences between the metrics of two or more selections, with significance tests",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &compare_type,
    .line = &compare_row_type,
    PARAMS(compare_params, compare_selections, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT, FORMAT_MARKDOWN,
            FORMAT_COLLAPSED_DIFF),
    .state_size = sizeof(struct state),
    .open = open_compare,
    .next = next_compare,
    .close = close_compare,
};
