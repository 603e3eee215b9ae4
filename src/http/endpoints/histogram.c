/* histogram.c - /histogram: how often which value of a column occurs. */
#include "dftracerd/histogram.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <string.h>

enum { BINS_MOST = 10000 };

static const enum format formats[] = {FORMAT_JSON};

static const struct param_spec own_params[] = {
    {"column", PARAM_TEXT, false, "dur", NULL, "numeric column: dur, size, args.offset ...", false,
     "'name'"},
    {"scale", PARAM_CHOICE, false, "log2", "log2|linear",
     "log2: bins are powers of two; linear: bins have equal width, from the smallest to the "
     "largest value"},
    {"bins", PARAM_UINT, false, "50", NULL, "linear: number of bins, at most 10000"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, selection_params, clip_params,
                                                  answer_params, NULL};

struct state {
    struct query *query;
    struct value_histogram *found;
};

static int open_histogram(struct request *rq)
{
    struct state *s = rq->state;
    bool linear = strcmp(request_text(rq, "scale"), "linear") == 0;
    uint64_t bins = request_uint(rq, "bins");
    struct selection chosen;

    if (bins < 1 || bins > BINS_MOST)
        return err_set_param(&rq->err, ERR_PARAM, "bins", "`bins` must be from 1 to %d", BINS_MOST);
    int rc = selection_read(rq, &chosen);
    rc = rc < 0 ? rc : selection_open(rq, &chosen, &s->query);
    return rc < 0 ? rc
                  : histogram_run(s->query, request_text(rq, "column"), linear ? (uint32_t)bins : 0,
                                  &rq->err, &s->found);
}

static int next_histogram(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;

    return format_object(&histogram_type, s->found, rq->pretty, out);
}

static void close_histogram(struct request *rq)
{
    struct state *s = rq->state;

    histogram_free(s->found);
    query_close(s->query);
}

const struct endpoint endpoint_histogram = {
    .path = "/histogram",
    .summary = "distribution of the values of a numeric column",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &histogram_type,
    .params = params,
    .formats = formats,
    .format_count = 1,
    .state_size = sizeof(struct state),
    .open = open_histogram,
    .next = next_histogram,
    .close = close_histogram,
};
