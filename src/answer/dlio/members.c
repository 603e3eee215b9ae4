/* members.c - the members of the report of /dlio-config: numbers, types and keys of DLIO. */
#include "dftracerd/dlio_report.h"

#include <string.h>

/* ---- models ---------------------------------------------------------------------------------- */

static const char *const types[] = {[DLIO_NORMAL] = "normal",    [DLIO_LOGNORMAL] = "lognormal",
                                    [DLIO_GAMMA] = "gamma",      [DLIO_EXPONENTIAL] = "exponential",
                                    [DLIO_WEIBULL] = "weibull",  [DLIO_MIXTURE2] = "mixture",
                                    [DLIO_MIXTURE3] = "mixture", NULL};

const char *dlio_type(const struct dlio_model *m)
{
    return types[m->family];
}

unsigned dlio_parameters(const struct dlio_model *m, struct dlio_parameter ret[2])
{
    static const char *const keys[DLIO_FAMILIES][2] = {
        [DLIO_NORMAL] = {"mean", "stdev"},   [DLIO_LOGNORMAL] = {"mean", "sigma"},
        [DLIO_GAMMA] = {"shape", "scale"},   [DLIO_EXPONENTIAL] = {NULL, "scale"},
        [DLIO_WEIBULL] = {"shape", "scale"},
    };
    const double values[2] = {m->first, m->second};
    unsigned count = 0;

    for (int i = 0; i < 2; i++)
        if (keys[m->family][i])
            ret[count++] =
                (struct dlio_parameter){keys[m->family][i], member_rounded(values[i], DLIO_DIGITS)};
    return count;
}

bool dlio_is_drawn(const struct dlio_model *m)
{
    return DLIO_DRAWN >> m->family & 1;
}

const struct dlio_candidate *dlio_drawn(const struct dlio_fit *fit)
{
    const struct dlio_candidate *best = NULL;

    for (int i = 0; i < DLIO_FAMILIES && !dlio_is_drawn(&fit->best); i++) {
        const struct dlio_candidate *c = &fit->candidates[i];
        if (c->valid && dlio_is_drawn(&c->model) && (!best || c->bic < best->bic))
            best = c;
    }
    return best;
}

/* Returns null if the family has no such parameter. */
static struct value parameter(const struct dlio_model *m, const char *key)
{
    struct dlio_parameter p[2];
    unsigned count = dlio_parameters(m, p);

    for (unsigned i = 0; i < count; i++)
        if (strcmp(p[i].key, key) == 0)
            return (struct value){.type = VALUE_DOUBLE, .d = p[i].value};
    return (struct value){.type = VALUE_NULL};
}

#define PARAMETER_VALUE(key) \
    static struct value key(const void *model) \
    { \
        return parameter(model, #key); \
    }
PARAMETER_VALUE(mean)
PARAMETER_VALUE(stdev)
PARAMETER_VALUE(sigma)
PARAMETER_VALUE(shape)
PARAMETER_VALUE(scale)

static struct value component_count(const void *model)
{
    const struct dlio_model *m = model;

    return (struct value){.type = m->part_count ? VALUE_UINT : VALUE_NULL, .u = m->part_count};
}

static struct value is_drawn(const void *model)
{
    return (struct value){.type = VALUE_BOOL, .i = dlio_is_drawn(model)};
}

static struct value normal(const void *part)
{
    (void)part;
    return member_string(types[DLIO_NORMAL]);
}

#define ROUNDED .digits = DLIO_DIGITS

#define OBJECT struct dlio_part
static const struct member normal_members[] = {
    MEMBER_COMPUTED("type", VALUE_TEXT, normal, .schema = "{'const':'normal'}"),
    MEMBER("mean", mean, ROUNDED),
    MEMBER("stdev", stdev, ROUNDED),
};
static const struct object_type normal_type = {NULL, MEMBERS(normal_members)};

static const struct member part_members[] = {
    MEMBER("weight", weight, ROUNDED),
    MEMBER_SELF("params", &normal_type),
};
static const struct object_type part_type = {NULL, MEMBERS(part_members)};
#undef OBJECT

#define PARAMETER(key, field) \
    MEMBER_COMPUTED(#key, VALUE_DOUBLE, key, .offset = offsetof(OBJECT, field), .optional = true)
/* The members of a struct dlio_model within another struct. */
#define MODEL(field) \
    MEMBER("type", field.family, .choices = types), PARAMETER(mean, field), \
        PARAMETER(stdev, field), PARAMETER(sigma, field), PARAMETER(shape, field), \
        PARAMETER(scale, field), \
        MEMBER_COMPUTED("n_components", VALUE_UINT, component_count, \
                        .offset = offsetof(OBJECT, field), .optional = true), \
        MEMBER_OBJECTS("components", field.parts, field.part_count, &part_type, .optional = true)
#define IS_DRAWN(field) \
    MEMBER_COMPUTED("drawn_by_dlio", VALUE_BOOL, is_drawn, .offset = offsetof(OBJECT, field), \
                    .schema = "{'type':'boolean','description':'DLIO 2.0.1 draws the type'}")

#define OBJECT struct dlio_candidate
static const struct member candidate_members[] = {
    MODEL(model),
    MEMBER("bic", bic, ROUNDED, .help = "Bayesian information criterion"),
    MEMBER("ks", ks, ROUNDED, .help = "Kolmogorov-Smirnov statistic"),
    MEMBER("log_likelihood", log_likelihood, ROUNDED),
    IS_DRAWN(model),
};
static const struct object_type candidate_type = {"DlioCandidate", MEMBERS(candidate_members)};
#undef OBJECT

/* ---- times ----------------------------------------------------------------------------------- */

static const void *candidate(const void *times, size_t i)
{
    const struct dlio_candidate *c = ((const struct dlio_times *)times)->fit.candidates;

    while (!c->valid || i-- > 0)
        c++;
    return c;
}

#define OBJECT struct dlio_histogram
static const struct member histogram_members[] = {
    MEMBER("from_s", from, ROUNDED),
    MEMBER("width_s", width, ROUNDED),
    MEMBER_VALUES("counts", counts, bin_count),
    MEMBER("above", above, .help = "samples above the 99th percentile"),
    MEMBER_VALUES("density", density, density_count, ROUNDED,
                  .schema = "{'type':'array','description':'of the fit, at the borders of the "
                            "bars','items':{'type':['number','null']}}"),
};
static const struct object_type histogram_type = {NULL, MEMBERS(histogram_members)};
#undef OBJECT

#define OBJECT struct dlio_times
static const struct member fit_members[] = {
    MEMBER("samples", fit.count),
    MEMBER("mean_s", fit.mean, ROUNDED),
    MEMBER("stdev_s", fit.stdev, ROUNDED),
    MEMBER("min_s", fit.min, ROUNDED),
    MEMBER("max_s", fit.max, ROUNDED),
    MEMBER("constant", fit.constant, .help = "all samples are equal"),
    MEMBER("type", fit.best.family, .choices = types),
    IS_DRAWN(fit.best),
    MEMBER_ITEMS("candidates", candidate_count, &candidate_type, candidate),
    MEMBER_IN("histogram", histogram, &histogram_type),
};
static const struct object_type fit_type = {"DlioFit", MEMBERS(fit_members)};

static const struct member model_members[] = {
    MODEL(fit.best),
    MEMBER("max_bound", max_bound, ROUNDED),
};
static const struct object_type model_type = {"DlioModel", MEMBERS(model_members)};

static const struct member train_members[] = {MEMBER_SELF("computation_time", &model_type)};
static const struct object_type train_type = {NULL, MEMBERS(train_members)};
static const struct member reader_members[] = {MEMBER_SELF("preprocess_time", &model_type)};
static const struct object_type reader_type = {NULL, MEMBERS(reader_members)};

static const char *const kinds[] = {"fetch_block", "fetch_iter", "preprocess", "getitem", NULL};
static const struct member matched_members[] = {
    MEMBER("component", kind, .choices = kinds),
    MEMBER("cat", cat),
    MEMBER("name", name),
    MEMBER("events", events),
    MEMBER("invalid", invalid,
           .help = "events without a time or a duration, or with a negative duration"),
    MEMBER("processes", processes),
    MEMBER("samples", count, .help = "samples that are used"),
};
static const struct object_type matched_type = {NULL, MEMBERS(matched_members)};
#undef OBJECT

/* ---- the report ------------------------------------------------------------------------------ */

static struct value batch_samples(const void *report)
{
    const struct dlio_report *r = report;

    return (struct value){.type = r->batch_items ? VALUE_UINT : VALUE_NULL, .u = r->batch_items};
}

static struct value waits(const void *report)
{
    return member_string(((const struct dlio_report *)report)->queued ? "queue" : "traced");
}

#define OBJECT struct dlio_report
#define QUEUED .when = WHEN(queued)
static const struct member config_members[] = {
    MEMBER_AT("train", block, &train_type),
    MEMBER_AT("reader", preprocess, &reader_type, .optional = true),
};
static const struct object_type config_type = {NULL, MEMBERS(config_members),
                                               .help = "the configuration, as in the YAML"};

static const struct member fits_members[] = {
    MEMBER_AT("computation_time", block, &fit_type),
    MEMBER_AT("preprocess_time", preprocess, &fit_type, .nullable = true),
};
static const struct object_type fits_type = {NULL, MEMBERS(fits_members)};

static const struct member simulation_members[] = {
    MEMBER_COMPUTED("waits", VALUE_TEXT, waits, .schema = "{'enum':['traced','queue']}"),
    MEMBER("num_workers", options.workers, QUEUED, .help = "null unless `waits` is `queue`"),
    MEMBER("prefetch_factor", options.prefetch, QUEUED, .help = "null unless `waits` is `queue`"),
    MEMBER("stalls", refined.simulated.stalls, QUEUED,
           .help = "steps whose batch was not loaded in time"),
    MEMBER("seed", options.seed, .help = "seed of all random numbers"),
    MEMBER("traced_e2e_s", traced_e2e, ROUNDED,
           .help = "seconds in which at least one rank worked or waited, by the events; pauses "
                   "between epochs do not count, clocks of hosts are taken as they are"),
    MEMBER("simulated_e2e_s", refined.e2e, ROUNDED, .help = "seconds until the last rank is done"),
    MEMBER("e2e_error", refined.error, ROUNDED, .nullable = true,
           .help = "relative difference of both"),
    MEMBER("cdf_similarity", refined.similarity, ROUNDED,
           .help = "1 minus the two-sample Kolmogorov-Smirnov distance of simulated and traced "
                   "computation times"),
    MEMBER("traced_rank_variance", traced_variance, ROUNDED,
           .help = "variance of the seconds that the ranks took"),
    MEMBER("simulated_rank_variance", refined.simulated.rank_variance, ROUNDED,
           .help = "variance of the seconds that the ranks took"),
    MEMBER("max_bound_percentile", refined.percentile, ROUNDED,
           .help = "percentile of the samples that `max_bound` is"),
    MEMBER("iterations", refined.iterations, .help = "number of simulations"),
    MEMBER("converged", refined.converged, .help = "both targets were met"),
};
static const struct object_type simulation_type = {NULL, MEMBERS(simulation_members)};

static const struct member percentiles_members[] = {
    MEMBER_VALUES("traced_s", traced.points, traced.count, ROUNDED),
    MEMBER_VALUES("simulated_s", simulated.points, simulated.count, ROUNDED),
};
static const struct object_type percentiles_type = {
    NULL, MEMBERS(percentiles_members), .help = "percentiles 0 to 100 of the computation times"};

static const struct member members[] = {
    MEMBERS_QUERY(counters, complete),
    MEMBER_SELF("config", &config_type),
    MEMBER_OBJECTS("matched", times, time_count, &matched_type, .help = "the events of each time"),
    MEMBER("other_events", other_events, .help = "events with names of other versions of DLIO"),
    MEMBER("ranks", ranks, .help = "processes with events of the loop body"),
    MEMBER("steps", steps, .help = "of the rank with the fewest"),
    MEMBER("steps_most", steps_most, .help = "of the rank with the most"),
    MEMBER_COMPUTED("batch_samples", VALUE_UINT, batch_samples,
                    .help = "samples of a batch: events per wait, rounded"),
    MEMBER_SELF("fits", &fits_type,
                .help =
                    "of both times: the samples, all candidates with `bic`, `ks` and "
                    "`log_likelihood`, and a histogram up to the 99th percentile with the density "
                    "of the fit at the 61 borders of its bars"),
    MEMBER_SELF("simulation", &simulation_type),
    MEMBER_SELF("percentiles", &percentiles_type),
};
const struct object_type dlio_report_type = {"DlioConfig", MEMBERS(members)};
#undef OBJECT
