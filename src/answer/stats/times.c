/* times.c - finds the first start and the last end; decides which chunks and batches need not be
 * read for this. */
#include "answer/stats/times.h"
#include "engine/derived/times.h"
#include "engine/derived/batch_times.h"

#include "dftracerd/kernel.h"

void shared_times_init(struct shared_times *shared, const struct source *ts,
                       const struct source *dur, bool reads_durations)
{
    *shared = (struct shared_times){.ts = ts, .dur = dur, .reads_durations = reads_durations};
    pthread_mutex_init(&shared->lock, NULL);
}

void shared_times_done(struct shared_times *shared)
{
    pthread_mutex_destroy(&shared->lock);
}

void times_begin(struct stats_times *t, struct shared_times *shared)
{
    *t = (struct stats_times){.shared = shared};
}

static void span_add(struct time_span *s, __int128 min_ts, __int128 max_te)
{
    s->min_ts = !s->any || min_ts < s->min_ts ? min_ts : s->min_ts;
    s->max_te = !s->any || max_te > s->max_te ? max_te : s->max_te;
    s->any = true;
}

void shared_times_put(const struct shared_times *shared, struct buf *out)
{
    rec_put_u(out, shared->events);
    rec_put_u(out, shared->span.any);
    rec_put_i128(out, shared->span.min_ts);
    rec_put_i128(out, shared->span.max_te);
}

int shared_times_take(struct shared_times *shared, struct rec *in)
{
    uint64_t events = rec_u(in);
    bool any = rec_u(in);
    __int128 min_ts = rec_i128(in), max_te = rec_i128(in);

    if (in->bad)
        return ERR_CORRUPT;
    shared->events += events;
    if (any)
        span_add(&shared->span, min_ts, max_te);
    return 0;
}

void times_end(struct stats_times *t, uint64_t events)
{
    pthread_mutex_lock(&t->shared->lock);
    if (t->span.any)
        span_add(&t->shared->span, t->span.min_ts, t->span.max_te);
    t->shared->events += events;
    pthread_mutex_unlock(&t->shared->lock);
}

void times_chunk(struct stats_times *t, struct scan_chunk *c)
{
    const struct shared_times *shared = t->shared;
    int64_t first, last, shortest, longest;

    pthread_mutex_lock(&t->shared->lock);
    if (t->span.any)
        span_add(&t->shared->span, t->span.min_ts, t->span.max_te);
    t->known = t->shared->span;
    pthread_mutex_unlock(&t->shared->lock);
    t->may_widen = TIMES_ALL;
    t->longest_known = scan_range(c, shared->dur, &shortest, &longest);
    if (t->longest_known)
        t->longest =
            (__int128)(longest > 0 ? longest : 0) * (scan_is_nano(c, shared->dur) ? 1 : 1000);
    if (!t->known.any || !scan_range(c, shared->ts, &first, &last))
        return;
    __int128 unit = scan_is_nano(c, shared->ts) ? 1 : 1000;
    t->last_ts = last * unit;
    if (first * unit < t->known.min_ts || t->last_ts > t->known.max_te)
        return;
    t->may_widen = shared->reads_durations ? TIMES_LONG : TIMES_ALL;
    if (t->longest_known && t->last_ts + t->longest <= t->known.max_te)
        t->may_widen = TIMES_NONE;
}

/* Widens the span in 64-bit arithmetic. Returns false if that is not possible: ts has nulls, the
 * units differ, or a sum may overflow. A null dur is 0 in its array. */
static bool widen_span_i64(const struct scan_batch *b, const struct batch_times *t,
                           struct time_span *span)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    uint64_t bits = 0;

    const int64_t *ts = t->ts, *dur = t->dur;
    if (t->ts_valid || t->ts_nano != t->dur_nano)
        return false;
    for (uint32_t j = 0, n = b->count; j < n; j++) {
        uint32_t row = batch_row(b, j);
        int64_t te = (int64_t)((uint64_t)ts[row] + (uint64_t)dur[row]);
        bits |= (uint64_t)ts[row] | (uint64_t)dur[row];
        min = ts[row] < min ? ts[row] : min;
        max = te > max ? te : max;
    }
    if (bits >> 62)
        return false;
    if (min != INT64_MAX) {
        __int128 unit = t->ts_nano ? 1 : 1000;
        span_add(span, min * unit, max * unit);
    }
    return true;
}

/* Returns true if even an event of the longest duration ends within the known span. */
static bool longest_ends_within(const struct stats_times *t, int64_t longest, bool nano)
{
    return t->last_ts + (__int128)longest * (nano ? 1 : 1000) <= t->known.max_te;
}

/* Returns true if all events of the batch end within the known span. */
static bool ends_within(const struct stats_times *t, struct scan_batch *b)
{
    int64_t longest = 0;
    bool nano;
    const int64_t *dur = batch_i64(b, t->shared->dur, NULL, &nano);

    for (uint32_t j = 0; j < b->count; j++) {
        int64_t d = dur[batch_row(b, j)];
        longest = d > longest ? d : longest;
    }
    return longest_ends_within(t, longest, nano);
}

/* Sets *ret_lo and *ret_hi to the range of ts (in units of `unit` ns) with which any event of
 * the chunk is within the known span. Returns false if it is empty. */
static bool safe_starts(const struct stats_times *t, int64_t unit, int64_t *ret_lo, int64_t *ret_hi)
{
    __int128 min = t->known.min_ts, max = t->known.max_te - t->longest;
    __int128 lo = min / unit + (min % unit > 0), hi = max / unit - (max % unit < 0);

    *ret_lo = clamp_ns(lo);
    *ret_hi = clamp_ns(hi);
    return t->known.any && t->longest_known && lo <= hi && lo <= INT64_MAX && hi >= INT64_MIN;
}

/* Returns true if all selected events of the batch are within the known span by their ts alone. */
static bool begins_within(const struct stats_times *t, struct scan_batch *b)
{
    const struct source *source = t->shared->ts;
    uint64_t inside[SCAN_WORDS], outside = 0;
    int64_t lo, hi;

    if (!safe_starts(t, scan_is_nano(b->chunk, source) ? 1 : 1000, &lo, &hi))
        return false;
    kernels()->range_i64(batch_i64(b, source, NULL, NULL), b->rows, lo, hi, inside);
    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        outside |= b->mask[i] & ~inside[i];
    return outside == 0;
}

static void widen_span(struct stats_times *t, struct scan_batch *b)
{
    struct time_span *span = &t->span;
    struct batch_times times = batch_times(b, t->shared->ts, t->shared->dur);

    if (times.ts_valid && batch_all_valid(b, times.ts_valid)) /* metadata have no ts */
        times.ts_valid = NULL;
    if (widen_span_i64(b, &times, span))
        return;
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(times.ts_valid, row))
            continue;
        __int128 ts = (__int128)times.ts[row] * (times.ts_nano ? 1 : 1000);
        __int128 dur = (__int128)times.dur[row] * (times.dur_nano ? 1 : 1000);
        span_add(span, ts, ts + dur);
    }
}

void times_batch(struct stats_times *t, struct scan_batch *b)
{
    if (t->may_widen == TIMES_NONE || (t->may_widen == TIMES_LONG && ends_within(t, b)) ||
        begins_within(t, b))
        return;
    widen_span(t, b);
    if (t->span.any)
        span_add(&t->known, t->span.min_ts, t->span.max_te);
}

bool times_within(const struct stats_times *t, const struct scan_values *v)
{
    int64_t longest = 0;

    for (uint32_t i = 0; t->may_widen == TIMES_LONG && i < v->count; i++)
        longest = v->values[i] > longest ? v->values[i] : longest;
    return t->may_widen == TIMES_NONE ||
           (t->may_widen == TIMES_LONG && longest_ends_within(t, longest, v->nano));
}
