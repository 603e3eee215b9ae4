/* dlio_report.h - /dlio-config: the step times of the selected events, fitted and simulated.
 *
 * Used by:   format, http.
 * Path:      dlio_report_run: rows of the selected events (answer/dlio/events.h) -> samples ->
 *            dlio.h fits and simulates -> struct dlio_report -> dlio_report_type, format_dlio.
 * Memory:    the samples, charged to the budget until dlio_report_free.
 * Threads:   a report belongs to one thread; the scan inside is spread over query_env.pool.
 * Determinism: the same events, options and seed give the same report, whatever the files, their
 * order and the threads.
 */
#ifndef DFTRACERD_DLIO_REPORT_H
#define DFTRACERD_DLIO_REPORT_H

#include "dftracerd/dlio.h"
#include "dftracerd/member.h"

/* The step times of training runs that DLIO, or a program with the same events, traced; the
 * distributions fitted to them, and how well a simulation with these resembles the trace. */
enum dlio_kind {
    DLIO_BLOCK,      /* the loop body: train.computation_time */
    DLIO_ITER,       /* the wait for the next batch */
    DLIO_PREPROCESS, /* reader.preprocess_time */
    DLIO_ITEM,       /* loading one sample */
    DLIO_KINDS
};
struct dlio_options {
    struct dlio_refine_options refine;
    bool has_queue; /* the queue of workers is simulated; else waits are as traced */
    unsigned workers, prefetch;
    unsigned families; /* DLIO_ALL, DLIO_DRAWN */
    uint64_t seed;
    uint64_t samples_per_entry; /* of an entry, a process in an interval, that are fitted; 0: all */
    int64_t interval_ns;
};
/* Histogram of samples up to the 99th percentile; the density of the fit at the borders of the
 * bins. */
enum { DLIO_BINS = 60, DLIO_CURVE_POINTS = 101 };
struct dlio_histogram {
    double from, width; /* seconds */
    uint64_t counts[DLIO_BINS], above;
    double density[DLIO_BINS + 1];
    size_t bin_count, density_count; /* no density: all samples are equal */
};
/* Percentiles 0 to 100; none without samples. */
struct dlio_curve {
    double points[DLIO_CURVE_POINTS];
    size_t count;
};
struct dlio_times {
    enum dlio_kind kind;
    const char *cat, *name;   /* of the events; static */
    uint64_t events, invalid; /* matched; those of them without a time or duration */
    uint64_t processes;
    /* seconds, sorted; of DLIO_BLOCK and DLIO_PREPROCESS within samples_per_entry */
    double *samples;
    size_t count;
    /* of DLIO_BLOCK and DLIO_PREPROCESS, if count > 0 */
    struct dlio_fit fit;
    uint32_t candidate_count; /* valid ones */
    struct dlio_histogram histogram;
    double max_bound;
};
struct dlio_report {
    struct dlio_options options;
    struct dlio_times times[DLIO_KINDS];
    uint32_t time_count;
    const struct dlio_times *block, *preprocess; /* elements of `times`; NULL: without samples */
    uint64_t other_events;      /* of data loaders, with names of other generations */
    size_t ranks;               /* processes with events of the loop body */
    uint64_t steps, steps_most; /* of the rank with the fewest, with the most */
    uint64_t batch_items;       /* samples a batch, rounded; 0: unknown */
    bool queued;                /* the queue was simulated */
    /* seconds in which a rank waited or worked; variance of the ranks' seconds */
    double traced_e2e, traced_variance;
    struct dlio_refined refined;
    struct dlio_curve traced, simulated; /* of the loop body */
    struct query_counters counters;
    bool complete;
    struct budget *budget;
    struct charge charge; /* for the samples */
};
/* Returns *new*, charged to the budget; borrowed until dlio_report_free. Returns ERR_NOT_FOUND if
 * there is no event of the loop body, with what there is instead, or errors of query_open and
 * rows_next. */
int dlio_report_run(const struct query_env *env, struct snapshot *snapshot,
                    const struct selection *selection, const struct dlio_options *o,
                    struct budget *budget, struct err *err, struct dlio_report **ret);
void dlio_report_free(struct dlio_report *r);
extern const struct object_type dlio_report_type; /* DLIO_DIGITS of each double */

/* ---- values of the answers ------------------------------------------------------------------- */

enum { DLIO_DIGITS = 9 };
/* Returns the value of DLIO's key `type`. */
const char *dlio_type(const struct dlio_model *m);
/* Stores the parameters of a family that is no mixture, with the keys of DLIO, rounded; returns
 * their number. */
struct dlio_parameter {
    const char *key;
    double value;
};
unsigned dlio_parameters(const struct dlio_model *m, struct dlio_parameter ret[2]);
/* True for normal, gamma and exponential, which DLIO 2.0.1 draws; it draws nothing for other types.
 */
bool dlio_is_drawn(const struct dlio_model *m);
/* Returns the best candidate that DLIO draws, if the best of all is none of these; else NULL. */
const struct dlio_candidate *dlio_drawn(const struct dlio_fit *fit);

#endif
