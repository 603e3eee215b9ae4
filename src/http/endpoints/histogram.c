/* histogram.c - /histogram: the distribution of the values of a column. */
#include "dftracerd/histogram.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

struct options {
    const char *column;
    bool linear; /* from `scale` */
    uint32_t bins;
};
#define OPTIONS struct options
static const struct param_spec own_params[] = {
    PARAM("column", TEXT, "numeric column: dur, size, args.offset ...", .fallback = "dur",
          .example = "'size'", BIND(column)),
    PARAM("scale", CHOICE,
          "log2: bins are powers of two; linear: bins have equal width, from the smallest to the "
          "largest value",
          .fallback = "log2", .choices = "log2|linear", BIND(linear)),
    PARAM("bins", UINT, "linear: number of bins, at most 10000", .fallback = "50", .min = 1,
          .max = 10000, BIND(bins)),
    {0},
};
#undef OPTIONS

struct state {
    struct value_histogram *found;
};

static int open_histogram(struct request *rq)
{
    struct state *s = rq->state;
    const struct options *o = rq->options;
    return histogram_run(rq->query, o->column, o->linear ? o->bins : 0, &rq->err, &s->found);
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
}

const struct endpoint endpoint_histogram = {
    .path = "/histogram",
    .summary = "distribution of the values of a numeric column",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &histogram_type,
    PARAMS(own_params, selection_params, clip_params, answer_params),
    FORMATS(FORMAT_JSON),
    .options_size = sizeof(struct options),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_histogram,
    .next = next_histogram,
    .close = close_histogram,
};
