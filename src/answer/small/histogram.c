/* histogram.c - /histogram: how many objects have which value of a column. */
#include "dftracerd/aggregate.h"
#include "dftracerd/histogram.h"
#include "dftracerd/stats.h"
#include "engine/scan/scan.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Linear bins: of [lo, hi], `bins` of equal width. 0: powers of two. */
struct job {
    const struct source *source;
    uint32_t bins;
    double lo, hi;
    struct value_histogram *found;
    uint64_t *counts;
    size_t size;
};
struct worker {
    const struct job *job;
    uint64_t objects, values, outside;
    uint64_t counts[];
};

static int worker_begin(void *arg, unsigned number, void **ret_state)
{
    const struct job *job = arg;
    struct worker *w = calloc(1, sizeof(*w) + job->size * sizeof(*w->counts));
    (void)number;

    if (!w)
        return -ENOMEM;
    w->job = job;
    *ret_state = w;
    return 0;
}

static int worker_end(void *arg, unsigned number, void *state, bool failed)
{
    struct job *job = arg;
    struct worker *w = state;
    (void)number;
    (void)failed;

    for (size_t i = 0; i < job->size; i++)
        job->counts[i] += w->counts[i];
    job->found->objects += w->objects;
    job->found->values += w->values;
    job->found->outside += w->outside;
    free(w);
    return 0;
}

/* As struct histogram has them; what is below 0 or beyond 2^64 is in none. */
static void add_log2(struct worker *w, double x)
{
    if (x < 0 || x >= 0x1p64 || isnan(x))
        w->outside++;
    else
        w->counts[x == 0 ? 0 : x < 1 ? HISTOGRAM_BINS - 1 : (unsigned)ilogb(x) + 1]++;
}

static void add_linear(struct worker *w, double x)
{
    const struct job *job = w->job;
    double half = isinf(job->hi - job->lo) ? 0.5 : 1; /* more than a double holds */
    double span = job->hi * half - job->lo * half;
    double at = span > 0 ? (x * half - job->lo * half) / span * job->bins : 0;

    if (!(x >= job->lo && x <= job->hi))
        w->outside++;
    else
        w->counts[at >= job->bins ? job->bins - 1 : (uint32_t)at]++;
}

static void add(struct worker *w, double x)
{
    w->values++;
    if (w->job->bins)
        add_linear(w, x);
    else
        add_log2(w, x);
}

static void add_integers(struct worker *w, const struct scan_batch *b,
                         const struct batch_numbers *n)
{
    struct histogram h = {0};

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(n->valid, row))
            continue;
        int64_t v = n->i[row];
        if (w->job->bins) {
            add(w, n->nano ? (double)v / 1000 : (double)v);
            continue;
        }
        w->values++;
        w->outside += v < 0;
        histogram_add(&h, v, n->nano);
    }
    for (unsigned i = 0; !w->job->bins && i < HISTOGRAM_BINS; i++)
        w->counts[i] += h.count[i];
}

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    const struct batch_numbers n = batch_numbers(b, w->job->source);

    w->objects += b->count;
    if (n.i)
        add_integers(w, b, &n);
    for (uint32_t j = 0; n.d && j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (batch_is_valid(n.valid, row))
            add(w, n.d[row]);
    }
    return 0;
}

/* Of all values; NAN where there are none. */
static int find_range(struct query *q, const char *column, struct job *job, struct err *err)
{
    struct buf least = {0}, most = {0};
    struct aggregate *a = NULL;
    const struct value *row;
    size_t count = 0;

    buf_printf(&least, "@min=min:%s%c", column, 0);
    buf_printf(&most, "@max=max:%s%c", column, 0);
    const char *const told[] = {least.data, most.data};
    struct aggregate_options o = {.aggregates = told, .aggregate_count = 2, .limit = UINT64_MAX};
    int rc = least.error ? least.error : most.error;
    job->lo = job->hi = NAN;
    rc = rc < 0 ? rc : aggregate_open(q, &o, err, &a);
    rc = rc < 0 ? rc : aggregate_next(a, 1, err, &row, &count);
    if (rc == 0 && count) {
        job->lo = value_double(&row[0], NAN);
        job->hi = value_double(&row[1], NAN);
    }
    aggregate_close(a);
    buf_done(&least);
    buf_done(&most);
    return rc == ERR_END ? 0 : rc;
}

static int tell(const struct job *job, struct value_histogram *h)
{
    h->bins = arena_alloc(&h->arena, (job->size + 1) * sizeof(*h->bins));
    if (!h->bins)
        return -ENOMEM;
    for (size_t k = 0; k < job->size; k++) { /* the one of (0, 1) comes second */
        size_t i = job->bins || k == 0 ? k : k == 1 ? HISTOGRAM_BINS - 1 : k - 1;
        struct stats_bin *bin = &h->bins[h->count];
        double span = job->hi - job->lo;
        double width = isinf(span) ? job->hi / job->bins - job->lo / job->bins : span / job->bins;
        if (!job->counts[i])
            continue;
        bin->count = job->counts[i];
        if (job->bins) {
            bin->lo = job->lo + width * (double)i;
            bin->hi = i + 1 == job->bins ? job->hi : job->lo + width * (double)(i + 1);
        } else {
            histogram_range((unsigned)i, &bin->lo, &bin->hi);
        }
        h->count++;
    }
    return 0;
}

static int run(struct query *q, const char *column, struct job *job, struct err *err)
{
    struct scan_sink sink = {.arg = job,
                             .gathers = true,
                             .worker_begin = worker_begin,
                             .batch = batch,
                             .worker_end = worker_end};
    int rc = query_source(q, text_of(column), &job->source);

    rc = rc < 0 ? rc : query_check_column(q, job->source, "column", err);
    rc = rc < 0 || !job->bins ? rc : find_range(q, column, job, err);
    if (rc < 0)
        return rc;
    job->size = job->bins ? job->bins : HISTOGRAM_BINS;
    job->counts = calloc(job->size, sizeof(*job->counts));
    return job->counts ? scan_run(q, &sink, err) : -ENOMEM;
}

int histogram_run(struct query *q, const char *column, uint32_t bins, struct err *err,
                  struct value_histogram **ret)
{
    struct value_histogram *h = calloc(1, sizeof(*h));
    struct job job = {.bins = bins, .found = h};
    int rc = h ? run(q, column, &job, err) : -ENOMEM;

    rc = rc < 0 ? rc : tell(&job, h);
    free(job.counts);
    if (rc < 0) {
        histogram_free(h);
        return err_set(err, rc, "%s", err_text(rc));
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
