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

void counters_sort(const struct aggregate_plan *p, struct class_rows *to, struct scan_batch *b,
                   uint32_t count, uint32_t ret[SETS])
{
    /* A row with a value of one of these is a profile; one whose cat is "sys" only with a value of
     * the first two. */
    static const unsigned marks[] = {COUNTER_FREQ,     COUNTER_TIME, COUNTER_DFT_CNT,
                                     COUNTER_ARGS_DUR, COUNTER_DUR,  COUNTER_DUR_SUM};
    enum { SYS_MARKS = 2, MARKS = sizeof(marks) / sizeof(*marks) };
    const uint64_t *valid[MARKS];
    const uint64_t sys = query_key_text_id(index_text_find(query_index(p->query), TEXT("sys")));
    const uint64_t *cats = batch_keys(b, p->cat);

    for (unsigned i = 0; i < MARKS; i++)
        valid[i] = batch_valid(b, p->counter[marks[i]]);
    memset(ret, 0, SETS * sizeof(*ret));
    for (uint32_t j = 0; j < count; j++) {
        uint32_t row = to->other_rows[j];
        bool profile = false, is_sys = sys != QUERY_KEY_NULL && cats[row] == sys;
        for (unsigned i = 0; i < (is_sys ? (unsigned)SYS_MARKS : (unsigned)MARKS); i++)
            profile |= batch_is_valid(valid[i], row);
        unsigned set = profile ? SET_PROFILE : SET_SYSTEM;
        to->rows[set][ret[set]++] = (uint16_t)row;
    }
}

/* ---- amounts --------------------------------------------------------------------------------- */

/* Sets *ret to value * factor, rounded half to even. Returns false if it is beyond 64 bits. */
static bool scale_exactly(double value, int64_t factor, int64_t *ret)
{
    if (!(fabs(value) < 0x1p63))
        return false;
    __float128 product = (__float128)value * factor;
    __float128 max = 9223372036854775807.0Q;
    if (product > max || product < -max)
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

/* Converts to ns; unit_ns: of `a`. */
static struct amount amount_in_ns(struct amount a, int64_t unit_ns)
{
    struct amount ns = {.has = a.has};

    if (a.has && a.is_f64)
        ns.has = scale_exactly(a.d, unit_ns, &ns.i);
    else if (a.has)
        ns.has = !__builtin_mul_overflow(a.i, unit_ns, &ns.i);
    return ns;
}

/* Sum, minimum and maximum of `n` values of a measure that one counter represents. */
struct counter_sums {
    uint64_t n;
    struct amount sum, min, max;
};

/* If there is only one value, it is also the minimum and the maximum. */
static void sums_complete(struct counter_sums *s, bool one)
{
    one = one || s->n == 1;
    if (!s->min.has && one)
        s->min = s->sum;
    if (!s->max.has && one)
        s->max = s->sum;
}

static int sums_add(struct group_worker *w, unsigned set, unsigned measure, uint32_t group,
                    const struct counter_sums *s, bool nano)
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

/* The number of calls that an event represents: dft_cnt, else freq, else count, else 1. Values that
 * are not whole numbers >= 0 are ignored. */
static uint64_t calls_of_event(const struct batch_numbers *n, uint32_t row)
{
    for (unsigned i = COUNTER_DFT_CNT; i <= COUNTER_COUNT; i++) {
        struct amount a = amount_at(&n[i], row);
        if (a.has && !a.is_f64 && a.i >= 0)
            return (uint64_t)a.i;
        if (a.has && a.is_f64 && a.d >= 0 && a.d < 0x1p63 && floor(a.d) == a.d)
            return (uint64_t)a.d;
    }
    return 1;
}

static int duration_add(struct group_worker *w, const struct batch_numbers *n, unsigned set,
                        uint32_t group, uint32_t row, uint64_t count, int64_t unit_ns)
{
    struct counter_sums s = {.n = count,
                             .sum = amount_in_ns(amount_at(&n[COUNTER_DUR_SUM], row), unit_ns)};
    bool plain = !s.sum.has;

    if (!s.sum.has)
        s.sum = amount_in_ns(amount_at(&n[COUNTER_ARGS_DUR], row), unit_ns);
    if (!s.sum.has)
        s.sum = amount_in_ns(amount_at(&n[COUNTER_DUR], row), n[COUNTER_DUR].nano ? 1 : 1000);
    if (!s.sum.has) {
        s.sum = amount_in_ns(amount_at(&n[COUNTER_TIME], row), 1000000000);
        plain = false;
    }
    s.min = amount_in_ns(amount_at(&n[COUNTER_DUR_MIN], row), unit_ns);
    s.max = amount_in_ns(amount_at(&n[COUNTER_DUR_MAX], row), unit_ns);
    sums_complete(&s, plain);
    return sums_add(w, set, M_DUR, group, &s, true);
}

static int size_add(struct group_worker *w, const struct batch_numbers *n, unsigned set,
                    uint32_t group, uint32_t row, uint64_t count)
{
    struct counter_sums s = {.n = count, .sum = amount_at(&n[COUNTER_SIZE], row)};
    bool sized = amount_at(&n[COUNTER_SIZE_SUM], row).has,
         returned = amount_at(&n[COUNTER_RET_SUM], row).has;

    if (sized || returned) {
        s.min = amount_at(&n[sized ? COUNTER_SIZE_MIN : COUNTER_RET_MIN], row);
        s.max = amount_at(&n[sized ? COUNTER_SIZE_MAX : COUNTER_RET_MAX], row);
    }
    sums_complete(&s, !sized && !returned);
    return sums_add(w, set, M_SIZE, group, &s, false);
}

static int field_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned measure,
                     const struct batch_numbers *counts)
{
    const struct measure *m = &worker_plan(w)->measures.at[measure];
    const struct batch_numbers sum = batch_numbers(b, m->sum), plain = batch_numbers(b, m->plain),
                               min = batch_numbers(b, m->min), max = batch_numbers(b, m->max);
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        struct counter_sums s = {.n = calls_of_event(counts, row),
                                 .sum = amount_at(&sum, row),
                                 .min = amount_at(&min, row),
                                 .max = amount_at(&max, row)};
        bool one = !s.sum.has;
        if (one)
            s.sum = amount_at(&plain, row);
        sums_complete(&s, one);
        rc = sums_add(w, set, measure, w->group[j], &s, false);
    }
    return rc;
}

int counters_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    const struct aggregate_plan *p = worker_plan(w);
    const struct groups_of_set *s = &w->found->set[set];
    struct batch_numbers n[COUNTER_COLUMNS];
    static const int64_t units[] = {
        [TRACE_US] = 1000, [TRACE_NS] = 1, [TRACE_MS] = 1000000, [TRACE_SEC] = 1000000000};
    int64_t unit_ns = units[b->chunk->file->unit];
    int rc = 0;

    for (unsigned i = 0; i < COUNTER_COLUMNS; i++)
        n[i] = batch_numbers(b, p->counter[i]);
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j), group = w->group[j];
        uint64_t count = calls_of_event(n, row);
        *group_count(s, group) += count;
        struct amount ts = amount_at(&n[COUNTER_TS], row);
        __int128 from = (__int128)ts.i * (n[COUNTER_TS].nano ? 1 : 1000);
        if (ts.has)
            extent_widen(plan_extent(p, s, set, group), from, from + p->interval_ns);
        rc = duration_add(w, n, set, group, row, count, unit_ns);
        if (rc == 0)
            rc = size_add(w, n, set, group, row, count);
    }
    for (unsigned i = M_FIELDS; i < p->requested_measures && rc == 0; i++)
        rc = field_add(w, b, set, i, n);
    for (unsigned i = p->requested_measures; i < plan_measures(p, set) && rc == 0; i++)
        rc = acc_number.add(w, b, set, i);
    return rc;
}
