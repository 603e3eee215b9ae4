/* counters.c - rows of counters and aggregated records: how many events each stands for,
 * and their durations, sizes and fields. Count: dft_cnt, else freq, else count, else 1. Duration:
 * dur_sum, else dur, else time (seconds). Size: size_sum, else ret_sum, else as for events. Other
 * times in arguments are in the unit of their file. */
#include "answer/aggregate/scan.h"

#include <errno.h>
#include <math.h>

/* A number of one row, or none. */
struct amount {
    bool has, is_f64;
    int64_t i;
    double d;
};

static struct amount amount_at(const struct batch_numbers *n, uint32_t row)
{
    struct amount a = {.has = batch_is_valid(n->valid, row)};

    if (!a.has)
        return a;
    a.is_f64 = n->d != NULL;
    a.i = n->i ? n->i[row] : 0;
    a.d = n->d ? n->d[row] : (double)a.i;
    return a;
}

void counters_sort(const struct aggregate_plan *p, struct class_rows *of, struct scan_batch *b,
                   const uint16_t *rows, uint32_t count, uint32_t ret[SETS])
{
    const struct source *marks[] = {p->freq, p->time, p->dft_cnt, p->args_dur, p->dur, p->dur_sum};
    enum {
        SURE = 2,
        MARKS = sizeof(marks) / sizeof(*marks)
    }; /* freq and time: even where cat is sys */
    const uint64_t *valid[MARKS];
    struct scan_batch all = *b;
    uint64_t sys = query_key_text_id(index_text_find(query_index(p->query), TEXT("sys")));

    all.mask = NULL;
    const uint64_t *cats = batch_keys(&all, p->cat);
    for (unsigned i = 0; i < MARKS; i++)
        valid[i] = batch_valid(&all, marks[i]);
    memset(ret, 0, SETS * sizeof(*ret));
    for (uint32_t j = 0; j < count; j++) {
        uint32_t row = rows[j];
        bool profile = false, is_sys = sys != QUERY_KEY_NULL && cats[row] == sys;
        for (unsigned i = 0; i < (is_sys ? (unsigned)SURE : (unsigned)MARKS); i++)
            profile |= batch_is_valid(valid[i], row);
        unsigned set = profile ? SET_PROFILE : SET_SYSTEM;
        of->of[set][ret[set]++] = (uint16_t)row;
    }
}

/* ---- how much -------------------------------------------------------------------------------- */

/* value * factor, half to even, exactly; false beyond 64 bits. */
static bool scale_exactly(double value, int64_t factor, int64_t *ret)
{
    if (!(fabs(value) < 0x1p63))
        return false;
    __float128 product = (__float128)value * factor;
    __float128 most = 9223372036854775807.0Q;
    if (product > most || product < -most)
        return false;
    int64_t whole = (int64_t)product; /* towards 0 */
    __float128 rest = product - whole;
    if (rest > 0.5Q || (rest == 0.5Q && (whole & 1)))
        whole++;
    else if (rest < -0.5Q || (rest == -0.5Q && (whole & 1)))
        whole--;
    *ret = whole;
    return true;
}

/* To nanoseconds. */
static struct amount in_ns(struct amount a, int64_t unit)
{
    struct amount ns = {.has = a.has};

    if (a.has && a.is_f64)
        ns.has = scale_exactly(a.d, unit, &ns.i);
    else if (a.has)
        ns.has = !__builtin_mul_overflow(a.i, unit, &ns.i);
    return ns;
}

/* What one counter adds to one measure. */
struct sums {
    uint64_t n;
    struct amount sum, min, max;
};

/* The least and the greatest are the value itself where there is one only. */
static void complete(struct sums *s, bool one)
{
    one = one || s->n == 1;
    if (!s->min.has && one)
        s->min = s->sum;
    if (!s->max.has && one)
        s->max = s->sum;
}

static int sums_add(struct group_worker *w, unsigned set, unsigned measure, uint32_t group,
                    const struct sums *s, bool nano)
{
    if (!s->sum.has || s->n == 0)
        return 0;
    if (s->sum.is_f64 || s->min.is_f64 || s->max.is_f64) {
        struct doubles_entry *e = number_doubles(w, set, measure, group);
        if (!e)
            return -ENOMEM;
        struct moments_f64 m = {.count = s->n,
                                .sum = s->sum.d,
                                .min = s->min.has ? s->min.d : INFINITY,
                                .max = s->max.has ? s->max.d : -INFINITY};
        moments_f64_merge(&entry_float_moments(e)->m, &m);
        return 0;
    }
    return int_moments_add_many(w->found, group_slot(&w->found->set[set], group, measure), s->n,
                                s->sum.i, s->min.has ? s->min.i : INT64_MAX,
                                s->max.has ? s->max.i : INT64_MIN, nano);
}

/* ---- batches --------------------------------------------------------------------------------- */

enum {
    N_TS,
    N_DFT_CNT,
    N_FREQ,
    N_COUNT,
    N_DUR_SUM,
    N_ARGS_DUR,
    N_DUR,
    N_TIME,
    N_DUR_MIN,
    N_DUR_MAX,
    N_SIZE,
    N_SIZE_SUM,
    N_SIZE_MIN,
    N_SIZE_MAX,
    N_RET_SUM,
    N_RET_MIN,
    N_RET_MAX,
    N_ALL
};

static void load(const struct aggregate_plan *p, struct scan_batch *b, struct batch_numbers *n)
{
    const struct source *const sources[N_ALL] = {[N_TS] = p->ts,
                                                 [N_DFT_CNT] = p->dft_cnt,
                                                 [N_FREQ] = p->freq,
                                                 [N_COUNT] = p->count,
                                                 [N_DUR_SUM] = p->dur_sum,
                                                 [N_ARGS_DUR] = p->args_dur,
                                                 [N_DUR] = p->dur,
                                                 [N_TIME] = p->time,
                                                 [N_DUR_MIN] = p->dur_min,
                                                 [N_DUR_MAX] = p->dur_max,
                                                 [N_SIZE] = p->size,
                                                 [N_SIZE_SUM] = p->size_sum,
                                                 [N_SIZE_MIN] = p->size_min,
                                                 [N_SIZE_MAX] = p->size_max,
                                                 [N_RET_SUM] = p->ret_sum,
                                                 [N_RET_MIN] = p->ret_min,
                                                 [N_RET_MAX] = p->ret_max};

    for (unsigned i = 0; i < N_ALL; i++)
        n[i] = batch_numbers(b, sources[i]);
}

/* The number of calls that an event represents: dft_cnt, else freq, else count, else 1. Values that
 * are not whole numbers >= 0 are ignored. */
static uint64_t calls_of_event(const struct batch_numbers *n, uint32_t row)
{
    for (unsigned i = N_DFT_CNT; i <= N_COUNT; i++) {
        struct amount a = amount_at(&n[i], row);
        if (a.has && !a.is_f64 && a.i >= 0)
            return (uint64_t)a.i;
        if (a.has && a.is_f64 && a.d >= 0 && a.d < 0x1p63 && floor(a.d) == a.d)
            return (uint64_t)a.d;
    }
    return 1;
}

static int duration_add(struct group_worker *w, const struct batch_numbers *n, unsigned set,
                        uint32_t group, uint32_t row, uint64_t count, int64_t unit)
{
    struct sums s = {.n = count, .sum = in_ns(amount_at(&n[N_DUR_SUM], row), unit)};
    bool plain = !s.sum.has;

    if (!s.sum.has)
        s.sum = in_ns(amount_at(&n[N_ARGS_DUR], row), unit);
    if (!s.sum.has)
        s.sum = in_ns(amount_at(&n[N_DUR], row), n[N_DUR].nano ? 1 : 1000);
    if (!s.sum.has) {
        s.sum = in_ns(amount_at(&n[N_TIME], row), 1000000000);
        plain = false;
    }
    s.min = in_ns(amount_at(&n[N_DUR_MIN], row), unit);
    s.max = in_ns(amount_at(&n[N_DUR_MAX], row), unit);
    complete(&s, plain);
    return sums_add(w, set, M_DUR, group, &s, true);
}

static int size_add(struct group_worker *w, const struct batch_numbers *n, unsigned set,
                    uint32_t group, uint32_t row, uint64_t count)
{
    struct sums s = {.n = count, .sum = amount_at(&n[N_SIZE], row)};
    bool sized = amount_at(&n[N_SIZE_SUM], row).has, returned = amount_at(&n[N_RET_SUM], row).has;

    if (sized || returned) {
        s.min = amount_at(&n[sized ? N_SIZE_MIN : N_RET_MIN], row);
        s.max = amount_at(&n[sized ? N_SIZE_MAX : N_RET_MAX], row);
    }
    complete(&s, !sized && !returned);
    return sums_add(w, set, M_SIZE, group, &s, false);
}

static int field_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned measure,
                     const struct batch_numbers *counts)
{
    const struct measure *m = &worker_plan(w)->measures[measure];
    const struct batch_numbers sum = batch_numbers(b, m->sum), plain = batch_numbers(b, m->plain),
                               min = batch_numbers(b, m->min), max = batch_numbers(b, m->max);
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        struct sums s = {.n = calls_of_event(counts, row),
                         .sum = amount_at(&sum, row),
                         .min = amount_at(&min, row),
                         .max = amount_at(&max, row)};
        bool one = !s.sum.has;
        if (one)
            s.sum = amount_at(&plain, row);
        complete(&s, one);
        rc = sums_add(w, set, measure, w->group[j], &s, false);
    }
    return rc;
}

int counters_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    const struct aggregate_plan *p = worker_plan(w);
    const struct groups_of_set *s = &w->found->set[set];
    struct batch_numbers n[N_ALL];
    static const int64_t units[] = {
        [TRACE_US] = 1000, [TRACE_NS] = 1, [TRACE_MS] = 1000000, [TRACE_SEC] = 1000000000};
    int64_t unit = units[b->chunk->file->unit];
    int rc = 0;

    load(p, b, n);
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j), group = w->group[j];
        uint64_t count = calls_of_event(n, row);
        *group_count(s, group) += count;
        struct amount ts = amount_at(&n[N_TS], row);
        __int128 from = (__int128)ts.i * (n[N_TS].nano ? 1 : 1000);
        if (ts.has)
            extent_widen(plan_extent(p, s, set, group), from, from + p->interval_ns);
        rc = duration_add(w, n, set, group, row, count, unit);
        if (rc == 0)
            rc = size_add(w, n, set, group, row, count);
    }
    for (unsigned i = M_FIELDS; i < p->requested_measures && rc == 0; i++)
        rc = field_add(w, b, set, i, n);
    for (unsigned i = p->requested_measures; i < plan_measures(p, set) && rc == 0; i++)
        rc = acc_number.add(w, b, set, i);
    return rc;
}
