/* dlio_config.c - /dlio-config: step times of a training run as a configuration of the
 * benchmark DLIO. */
#include "dftracerd/dlio_report.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <string.h>

static const enum format formats[] = {FORMAT_YAML, FORMAT_JSON, FORMAT_TEXT};

enum { NS_PER_MS = 1000000 };
/* Each rank has a queue of workers * prefetch_factor batches. */
enum { WORKERS_MOST = 1024, PREFETCH_MOST = 64, ITERATIONS_MOST = 1000 };

static const struct param_spec own_params[] = {
    {"max_bound_percentile", PARAM_NUMBER, false, "95", NULL,
     "percentile of the samples at which the search for max_bound starts, 0 to 100"},
    {"simulation_iterations", PARAM_UINT, false, "5", NULL,
     "maximum number of simulations, 1 to 1000"},
    {"target_e2e_error", PARAM_NUMBER, false, "0.05", NULL,
     "relative error of the simulated end-to-end time that is good enough"},
    {"target_cdf_similarity", PARAM_NUMBER, false, "0.90", NULL,
     "similarity of simulated and traced computation times that is good enough, 0 to 1"},
    {"patience", PARAM_UINT, false, "10", NULL,
     "stop after this number of simulations without improvement"},
    {"epsilon", PARAM_NUMBER, false, "1.0", NULL, "step of the percentile"},
    {"momentum", PARAM_NUMBER, false, "0.9", NULL,
     "part of the last step that is added to the next one, 0 to below 1"},
    {"min_percentile", PARAM_NUMBER, false, "50", NULL, "least percentile of max_bound, 0 to 100"},
    {"types", PARAM_CHOICE, false, "all", "all|drawn",
     "all: choose among all types; drawn: only among those that DLIO 2.0.1 draws: normal, gamma, "
     "exponential"},
    {"num_workers", PARAM_UINT, false, NULL, NULL,
     "simulate this number of processes that load batches, at most 1024; 0: the training process "
     "loads them. "
     "Without num_workers and prefetch_factor, waits are as traced",
     false, "8"},
    {"prefetch_factor", PARAM_UINT, false, NULL, NULL,
     "simulate this number of batches that each worker loads ahead, 1 to 64 (default 2; then "
     "num_workers is 8)",
     false, "2"},
    {"seed", PARAM_UINT, false, "42", NULL, "random seed; equal requests return equal bytes"},
    {"max_samples_per_entry", PARAM_UINT, false, "100", NULL,
     "maximum number of samples of a process and interval that are fitted, chosen at random; 0 = "
     "all"},
    {"time_interval", PARAM_TEXT, false, "5000", NULL,
     "length of an interval; a bare number is milliseconds"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {selection_events_params, own_params,
                                                  answer_params, NULL};

struct state {
    struct dlio_report *report;
};

static int out_of_range(struct request *rq, const char *name, const char *range)
{
    return err_set_param(&rq->err, ERR_PARAM, name, "`%s` must be %s", name, range);
}

static double real(struct request *rq, const char *name)
{
    return request_param(rq, name)->real;
}

/* Numbers whose range is 0 to `most`. */
static int check_real(struct request *rq, const char *name, double most, const char *range)
{
    double value = real(rq, name);
    return value >= 0 && value <= most ? 0 : out_of_range(rq, name, range);
}

static int check_uint(struct request *rq, const char *name, uint64_t least, uint64_t most,
                      const char *range)
{
    const struct param *p = request_param(rq, name);
    return !p->set || (p->number >= least && p->number <= most) ? 0 : out_of_range(rq, name, range);
}

static int check(struct request *rq)
{
    int rc = check_real(rq, "max_bound_percentile", 100, "0 to 100");
    rc = rc < 0 ? rc : check_real(rq, "min_percentile", 100, "0 to 100");
    rc = rc < 0 ? rc : check_real(rq, "target_e2e_error", 1e9, "0 or more");
    rc = rc < 0 ? rc : check_real(rq, "target_cdf_similarity", 1, "0 to 1");
    rc = rc < 0 ? rc : check_real(rq, "epsilon", 100, "0 to 100");
    rc = rc < 0 ? rc : check_real(rq, "momentum", 0.999999, "0 to below 1");
    rc = rc < 0 ? rc : check_uint(rq, "simulation_iterations", 1, ITERATIONS_MOST, "1 to 1000");
    rc = rc < 0 ? rc : check_uint(rq, "patience", 1, UINT64_MAX, "1 or more");
    rc = rc < 0 ? rc : check_uint(rq, "num_workers", 0, WORKERS_MOST, "0 to 1024");
    rc = rc < 0 ? rc : check_uint(rq, "prefetch_factor", 1, PREFETCH_MOST, "1 to 64");
    return rc;
}

static int read_options(struct request *rq, struct dlio_options *o)
{
    const struct param *workers = request_param(rq, "num_workers"),
                       *prefetch = request_param(rq, "prefetch_factor");
    uint64_t patience = request_uint(rq, "patience");
    *o = (struct dlio_options){
        .refine = {.percentile = real(rq, "max_bound_percentile"),
                   .min_percentile = real(rq, "min_percentile"),
                   .iterations = (unsigned)request_uint(rq, "simulation_iterations"),
                   .patience = patience < ITERATIONS_MOST ? (unsigned)patience : ITERATIONS_MOST,
                   .target_error = real(rq, "target_e2e_error"),
                   .target_similarity = real(rq, "target_cdf_similarity"),
                   .epsilon = real(rq, "epsilon"),
                   .momentum = real(rq, "momentum")},
        .has_queue = workers->set || prefetch->set,
        .workers = workers->set ? (unsigned)workers->number : 8,
        .prefetch = prefetch->set ? (unsigned)prefetch->number : 2,
        .families = strcmp(request_text(rq, "types"), "drawn") == 0 ? DLIO_DRAWN : DLIO_ALL,
        .seed = request_uint(rq, "seed"),
        .samples_per_entry = request_uint(rq, "max_samples_per_entry")};
    int rc =
        num_parse_duration(request_param(rq, "time_interval")->text, NS_PER_MS, &o->interval_ns);
    if (rc == -ENOMEM)
        return rc;
    return rc == 0 && o->interval_ns > 0
               ? 0
               : out_of_range(rq, "time_interval", "a duration above 0, such as 5000 or 5s");
}

static int open_dlio_config(struct request *rq)
{
    struct state *s = rq->state;
    struct dlio_options o;
    struct selection chosen;
    int rc = check(rq);
    rc = rc < 0 ? rc : read_options(rq, &o);
    rc = rc < 0 ? rc : selection_read(rq, &chosen);
    rc = rc < 0 ? rc
                : dlio_report_run(&rq->http->env, rq->snapshot, &chosen, &o, &rq->budget, &rq->err,
                                  &s->report);
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
    .params = params,
    .formats = formats,
    .format_count = 3,
    .state_size = sizeof(struct state),
    .open = open_dlio_config,
    .next = next_dlio_config,
    .close = close_dlio_config,
};
