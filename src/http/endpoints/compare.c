/* compare.c - /compare: two or more selections, and how their metrics differ. */
#include "dftracerd/call_tree.h"
#include "dftracerd/compare.h"

#include "http/endpoints/endpoints.h"
#include "http/request/compare_request.h"
#include "http/request/selection.h"
#include "http/request/spread.h"

struct state {
    struct compare_request compare;
    struct comparison *found;
    struct buf stacks; /* collapsed-diff */
};

/* format=collapsed-diff: the folded calls of two sides, for differential flame graphs. */
static int write_stacks(struct request *rq, const struct compare_options *compare, struct buf *out)
{
    struct call_tree_options o = {.max_depth = CALL_TREE_PATH_LEVELS};
    struct query *queries[2] = {0};
    struct call_tree *trees[2] = {0};
    bool incomplete = false;
    int rc = 0;
    if (compare->side_count != 2)
        return err_set_param(
            &rq->err, ERR_PARAM, "variant",
            "format=collapsed-diff compares two sides: give exactly one `variant`");
    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        rc = selection_open(rq, &compare->sides[i], &queries[i]);
        incomplete |= rq->incomplete;
        rc = rc < 0 ? rc : call_tree_open(queries[i], &o, &rq->err, &trees[i]);
    }
    rq->incomplete = incomplete;
    rc = rc < 0 ? rc : format_call_tree_diff(trees, &rq->budget, out);
    for (unsigned i = 0; i < 2; i++) {
        call_tree_close(trees[i]);
        query_close(queries[i]);
    }
    return rc;
}

/* For strict=true. */
static int check_sides(struct request *rq, const struct compare_request *c)
{
    int rc = 0;
    for (size_t i = 0; i < c->options.side_count && rc == 0; i++)
        rc = selection_check_files(rq, &c->sides[i], c->labels[i]);
    return rc;
}

static int open_compare(struct request *rq)
{
    struct state *s = rq->state;
    const struct query_env env = request_env(rq);
    int rc = compare_request_read(rq, &s->compare);
    if (rc == 0 && request_flag(rq, "strict"))
        rc = check_sides(rq, &s->compare);
    if (rc == 0 && rq->format == FORMAT_COLLAPSED_DIFF)
        return write_stacks(rq, &s->compare.options, &s->stacks);
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
