/* histogram.c - /histogram: the distribution of the values of a column. */
#include "answer/stats/result.h"
#include "dftracerd/histogram.h"
#include "engine/group/worker.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct histogram_job {
    const struct source *source;
    uint32_t bins; /* of equal width in [lo, hi]; 0: powers of two */
    double lo, hi;
    struct value_histogram *found;
};
/* The slot of the only group, with acc_spec.max_items bins. */
struct bins {
    uint64_t values, outside;
    uint64_t counts[];
};

static void add_value(const struct histogram_job *job, struct bins *to, double x)
{
    to->values++;
    if (!job->bins) { /* bins as in struct histogram */
        if (x < 0 || x >= 0x1p64 || isnan(x))
            to->outside++;
        else
            to->counts[x == 0 ? 0 : x < 1 ? HISTOGRAM_BINS - 1 : (unsigned)ilogb(x) + 1]++;
        return;
    }
    double half = isinf(job->hi - job->lo) ? 0.5 : 1; /* the difference may exceed a double */
    double span = job->hi * half - job->lo * half;
    double at = span > 0 ? (x * half - job->lo * half) / span * job->bins : 0;
    /* x may be rounded to another double than lo and hi if the units of times differ. */
    to->counts[at < 0 ? 0 : at >= job->bins ? job->bins - 1 : (uint32_t)at]++;
}

static void add_integers(const struct histogram_job *job, struct bins *to,
                         const struct scan_batch *b, const struct batch_numbers *n)
{
    struct histogram h = {0};

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(n->valid, row))
            continue;
        int64_t v = n->i[row];
        if (job->bins) {
            add_value(job, to, n->nano ? (double)v / 1000 : (double)v);
            continue;
        }
        to->values++;
        to->outside += v < 0;
        histogram_add(&h, v, n->nano);
    }
    for (unsigned i = 0; !job->bins && i < HISTOGRAM_BINS; i++)
        to->counts[i] += h.count[i];
}

/* ---- accumulator ----------------------------------------------------------------------------- */

static size_t bins_bytes(const struct acc_spec *spec)
{
    return sizeof(struct bins) + spec->max_items * sizeof(uint64_t);
}

static int bins_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const struct histogram_job *job = w->grouping->arg;
    struct bins *to = group_slot(&w->found->set[set], 0, acc);
    const struct batch_numbers n = batch_numbers(b, job->source);

    if (n.i)
        add_integers(job, to, b, &n);
    for (uint32_t j = 0; n.d && j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (batch_is_valid(n.valid, row))
            add_value(job, to, n.d[row]);
    }
    return 0;
}

static int bins_merge(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                      const void *other, pthread_mutex_t *shared)
{
    const struct bins *bins = other;
    struct bins *to = slot;
    (void)into, (void)from, (void)shared;

    to->values += bins->values;
    to->outside += bins->outside;
    for (uint32_t i = 0; i < acc->spec->max_items; i++)
        to->counts[i] += bins->counts[i];
    return 0;
}

static const struct acc_kind acc_bins = {.bytes = bins_bytes, .add = bins_add, .merge = bins_merge};

/* ---- the answer ------------------------------------------------------------------------------ */

/* Sets job->lo and job->hi to the range of all values; NAN: there are none. */
static int find_range(struct query *q, struct histogram_job *job, struct err *err)
{
    const struct acc_spec numbers = {.kind = &acc_number, .column = job->source};
    const struct group_set set = {.accs = &numbers, .acc_count = 1};
    const struct grouping g = {.query = q,
                               .budget = query_budget(q),
                               .set_count = 1,
                               .sets = &set,
                               .spreads = true,
                               .more = true};
    struct groups *found = NULL;
    struct quantity all = {.sample = NULL};
    int rc = groups_scan(&g, &found, err);

    if (rc == 0 && found->set[0].map.table.count > 0)
        group_quantity(found, 0, 0, 0, &all);
    if (all.moments.count)
        moments_f64_merge_integers(&all.doubles, &all.moments);
    job->lo = all.doubles.count ? all.doubles.min : NAN;
    job->hi = all.doubles.count ? all.doubles.max : NAN;
    groups_free(found);
    return rc;
}

static void set_linear_bins(const struct histogram_job *job, const uint64_t *counts)
{
    struct value_histogram *h = job->found;
    double span = job->hi - job->lo;
    double width = isinf(span) ? job->hi / job->bins - job->lo / job->bins : span / job->bins;

    for (uint32_t i = 0; i < job->bins; i++) {
        double next = i + 1 == job->bins ? job->hi : job->lo + width * (double)(i + 1);
        if (counts[i])
            h->bins[h->count++] = (struct stats_bin){job->lo + width * (double)i, next, counts[i]};
    }
}

static int set_bins(const struct histogram_job *job, const struct bins *found, uint32_t size)
{
    struct value_histogram *h = job->found;

    h->bins = arena_alloc(&h->arena, size * sizeof(*h->bins));
    if (!h->bins)
        return -ENOMEM;
    if (job->bins)
        set_linear_bins(job, found->counts);
    else
        h->count = stats_bins(found->counts, h->bins);
    return 0;
}

static int scan_values(struct query *q, struct histogram_job *job, struct err *err)
{
    const struct acc_spec bins = {.kind = &acc_bins,
                                  .max_items = job->bins ? job->bins : HISTOGRAM_BINS};
    static const struct group_hooks hooks = {.batch = groups_add_all};
    const struct group_set set = {.accs = &bins, .acc_count = 1};
    const struct grouping g = {.query = q,
                               .budget = query_budget(q),
                               .set_count = 1,
                               .sets = &set,
                               .hooks = &hooks,
                               .arg = job,
                               .spreads = true};
    struct groups *found = NULL;
    int rc = groups_scan(&g, &found, err);

    if (rc == 0 && found->set[0].map.table.count > 0) {
        const struct bins *of = group_slot(&found->set[0], 0, 0);
        job->found->objects = *group_count(&found->set[0], 0);
        job->found->values = of->values;
        job->found->outside = of->outside;
        rc = set_bins(job, of, bins.max_items);
    }
    groups_free(found);
    return rc;
}

int histogram_run(struct query *q, const char *column, uint32_t bins, struct err *err,
                  struct value_histogram **ret)
{
    struct value_histogram *h = calloc(1, sizeof(*h));
    struct histogram_job job = {.bins = bins, .found = h};
    int rc = h ? query_source(q, text_of(column), &job.source) : -ENOMEM;

    rc = rc < 0 ? rc : query_check_argument(q, job.source, "column", err);
    rc = rc < 0 || !bins ? rc : find_range(q, &job, err);
    rc = rc < 0 ? rc : scan_values(q, &job, err);
    if (rc < 0) {
        histogram_free(h);
        return err_set_code(err, rc);
    }
    query_counters(q, &h->counters);
    h->complete = query_complete(q);
    h->column = column;
    *ret = h;
    return 0;
}

void histogram_free(struct value_histogram *h)
{
    if (h)
        arena_done(&h->arena);
    free(h);
}

/* ---- members --------------------------------------------------------------------------------- */

#define OBJECT struct value_histogram
static const struct member members[] = {
    MEMBERS_STATE(counters.generation, complete),
    MEMBER("column", column),
    MEMBERS_FILES(counters),
    MEMBER("count", objects, .help = "selected objects"),
    MEMBER("values", values, .help = "objects with a number in the column"),
    MEMBER("outside", outside, .help = "numbers that are in no bin: below 0, or 2^64 and more"),
    MEMBER_OBJECTS("histogram", bins, count, &stats_bin_type),
};
const struct object_type histogram_type = {"Histogram", MEMBERS(members)};
#undef OBJECT
