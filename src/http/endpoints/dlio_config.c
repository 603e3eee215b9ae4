/* dlio_config.c - /dlio-config: step times of a training run as a configuration of the
 * benchmark DLIO. */
#include "dftracerd/dlio_report.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

/* Each rank has a queue of workers * prefetch_factor batches. */
enum { WORKERS_MAX = 1024, PREFETCH_MAX = 64, ITERATIONS_MAX = 1000 };

struct options {
    struct dlio_options dlio;
    bool drawn; /* set by `types` */
};
#define OPTIONS struct options
static const struct param_spec own_params[] = {
    PARAM("max_bound_percentile", NUMBER,
          "percentile of the samples at which the search for max_bound starts, 0 to 100",
          .fallback = "95", .max = 100, BIND(dlio.refine.percentile)),
    PARAM("simulation_iterations", UINT, "maximum number of simulations, 1 to 1000",
          .fallback = "5", .min = 1, .max = ITERATIONS_MAX, BIND(dlio.refine.iterations)),
    PARAM("target_e2e_error", NUMBER,
          "relative error of the simulated end-to-end time that is good enough", .fallback = "0.05",
          BIND(dlio.refine.target_error)),
    PARAM("target_cdf_similarity", NUMBER,
          "similarity of simulated and traced computation times that is good enough, 0 to 1",
          .fallback = "0.90", .max = 1, BIND(dlio.refine.target_similarity)),
    PARAM("patience", UINT, "stop after this number of simulations without improvement",
          .fallback = "10", .min = 1, BIND(dlio.refine.patience)),
    PARAM("epsilon", NUMBER, "step of the percentile", .fallback = "1.0", .max = 100,
          BIND(dlio.refine.epsilon)),
    PARAM("momentum", NUMBER, "part of the last step that is added to the next one, 0 to below 1",
          .fallback = "0.9", .max = 0.999999, BIND(dlio.refine.momentum)),
    PARAM("min_percentile", NUMBER, "least percentile of max_bound, 0 to 100", .fallback = "50",
          .max = 100, BIND(dlio.refine.min_percentile)),
    PARAM("types", CHOICE,
          "all: choose among all types; drawn: only among those that DLIO 2.0.1 draws: normal, "
          "gamma, exponential",
          .fallback = "all", .choices = "all|drawn", BIND(drawn)),
    PARAM("num_workers", UINT,
          "simulate this number of processes that load batches, at most 1024; 0: the training "
          "process loads them. Without num_workers and prefetch_factor, waits are as traced",
          .example = "8", .max = WORKERS_MAX, BIND(dlio.workers)),
    PARAM("prefetch_factor", UINT,
          "simulate this number of batches that each worker loads ahead, 1 to 64 (default 2; then "
          "num_workers is 8)",
          .example = "2", .min = 1, .max = PREFETCH_MAX, BIND(dlio.prefetch)),
    PARAM("seed", UINT, "random seed; equal requests return equal bytes", .fallback = "42",
          BIND(dlio.seed)),
    PARAM("max_samples_per_entry", UINT,
          "maximum number of samples of a process and interval that are fitted, chosen at random; "
          "0 = all",
          .fallback = "100", BIND(dlio.samples_per_entry)),
    PARAM("time_interval", INTERVAL, "length of an interval; a bare number is milliseconds",
          .fallback = "5000", BIND(dlio.interval_ns)),
    {0},
};
#undef OPTIONS

struct state {
    struct dlio_report *report;
};

static int read_options(struct request *rq, struct options *given)
{
    const struct param *workers = request_param(rq, "num_workers"),
                       *prefetch = request_param(rq, "prefetch_factor");
    struct dlio_options *o = &given->dlio;
    if (o->interval_ns == 0)
        return params_refuse(rq, "time_interval", "must not be 0");
    if (o->refine.patience > ITERATIONS_MAX)
        o->refine.patience = ITERATIONS_MAX;
    o->has_queue = workers->set || prefetch->set;
    o->workers = workers->set ? o->workers : 8;
    o->prefetch = prefetch->set ? o->prefetch : 2;
    o->families = given->drawn ? DLIO_DRAWN : DLIO_ALL;
    return 0;
}

static int open_dlio_config(struct request *rq)
{
    struct state *s = rq->state;
    struct options *o = rq->options;
    struct selection chosen;
    int rc = read_options(rq, o);
    rc = rc < 0 ? rc : selection_read(rq, &chosen);
    rc = rc < 0 ? rc
                : dlio_report_run(&rq->http->env, rq->snapshot, &chosen, &o->dlio, &rq->budget,
                                  &rq->err, &s->report);
    if (rc == 0)
        rq->incomplete = !s->report->complete;
    return rc;
}

static int next_dlio_config(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    int rc = format_dlio(s->report, rq->format, rq->pretty, out);
    return rc < 0 ? rc : ERR_END;
}

static void close_dlio_config(struct request *rq)
{
    struct state *s = rq->state;
    dlio_report_free(s->report);
}

const struct endpoint endpoint_dlio_config = {
    .path = "/dlio-config",
    .summary = "step times of a training run, fitted and simulated, as a configuration of DLIO",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &dlio_report_type,
    PARAMS(selection_events_params, own_params, answer_params),
    FORMATS(FORMAT_YAML, FORMAT_JSON, FORMAT_TEXT),
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .open = open_dlio_config,
    .next = next_dlio_config,
    .close = close_dlio_config,
};
