/* times.c - from when to when: which chunks and batches need not be read for it, and the
 * others. */
#include "answer/stats/times.h"
#include "engine/derived/times.h"
#include "engine/derived/batch_times.h"

#include "dftracerd/kernel.h"

void known_init(struct stats_known *known, const struct source *ts, const struct source *dur,
                bool reads_durations)
{
    *known = (struct stats_known){.ts = ts, .dur = dur, .reads_durations = reads_durations};
    pthread_mutex_init(&known->lock, NULL);
}

void known_done(struct stats_known *known)
{
    pthread_mutex_destroy(&known->lock);
}

void times_begin(struct stats_times *t, struct stats_known *job)
{
    *t = (struct stats_times){.job = job};
}

static void span_add(struct time_span *s, __int128 min_ts, __int128 max_te)
{
    s->min_ts = !s->any || min_ts < s->min_ts ? min_ts : s->min_ts;
    s->max_te = !s->any || max_te > s->max_te ? max_te : s->max_te;
    s->any = true;
}

void known_put(const struct stats_known *known, struct buf *out)
{
    rec_put_u(out, known->events);
    rec_put_u(out, known->span.any);
    rec_put_i128(out, known->span.min_ts);
    rec_put_i128(out, known->span.max_te);
}

int known_take(struct stats_known *known, struct rec *in)
{
    uint64_t events = rec_u(in);
    bool any = rec_u(in);
    __int128 min_ts = rec_i128(in), max_te = rec_i128(in);

    if (in->bad)
        return ERR_CORRUPT;
    known->events += events;
    if (any)
        span_add(&known->span, min_ts, max_te);
    return 0;
}

void times_end(struct stats_times *t, uint64_t events)
{
    pthread_mutex_lock(&t->job->lock);
    if (t->span.any)
        span_add(&t->job->span, t->span.min_ts, t->span.max_te);
    t->job->events += events;
    pthread_mutex_unlock(&t->job->lock);
}

/* Times of a chunk that lie within the span that is known already need not be read. */
void times_chunk(struct stats_times *t, struct scan_chunk *c)
{
    const struct stats_known *job = t->job;
    int64_t first, last, shortest, longest;

    pthread_mutex_lock(&t->job->lock);
    if (t->span.any)
        span_add(&t->job->span, t->span.min_ts, t->span.max_te);
    t->known = t->job->span;
    pthread_mutex_unlock(&t->job->lock);
    t->state = TIMES_NEW;
    t->lengths_known = scan_range(c, job->dur, &shortest, &longest);
    if (t->lengths_known)
        t->longest = (__int128)(longest > 0 ? longest : 0) * (scan_is_nano(c, job->dur) ? 1 : 1000);
    if (!t->known.any || !scan_range(c, job->ts, &first, &last))
        return;
    __int128 unit = scan_is_nano(c, job->ts) ? 1 : 1000;
    t->last_ts = last * unit;
    if (first * unit < t->known.min_ts || t->last_ts > t->known.max_te)
        return;
    t->state = job->reads_durations ? TIMES_LENGTHS : TIMES_NEW;
    if (t->lengths_known && t->last_ts + t->longest <= t->known.max_te)
        t->state = TIMES_KNOWN;
}

/* One unit, no nulls, and no sum that could overflow: plain 64-bit sums; a null dur is 0 in its
 * array. False: not so. */
static bool span_of_plain(const struct scan_batch *b, const struct batch_times *t,
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

/* Whether even the longest duration ends within the span that is known. */
static bool all_within(const struct stats_times *t, int64_t longest, bool nano)
{
    return t->last_ts + (__int128)longest * (nano ? 1 : 1000) <= t->known.max_te;
}

/* The same of a batch. */
static bool ends_within(const struct stats_times *t, struct scan_batch *b)
{
    int64_t longest = 0;
    bool nano;
    const int64_t *dur = batch_i64(b, t->job->dur, NULL, &nano);

    for (uint32_t j = 0; j < b->count; j++) {
        int64_t d = dur[batch_row(b, j)];
        longest = d > longest ? d : longest;
    }
    return all_within(t, longest, nano);
}

/* The values of ts in `unit` ns with which an event of the chunk is within the span, however long
 * it is. False: none. */
static bool starts_within(const struct stats_times *t, int64_t unit, int64_t *ret_lo,
                          int64_t *ret_hi)
{
    __int128 min = t->known.min_ts, max = t->known.max_te - t->longest;
    __int128 lo = min / unit + (min % unit > 0), hi = max / unit - (max % unit < 0);

    *ret_lo = clamp_ns(lo);
    *ret_hi = clamp_ns(hi);
    return t->known.any && t->lengths_known && lo <= hi && lo <= INT64_MAX && hi >= INT64_MIN;
}

/* Whether all selected events begin so early and late that they are within, by comparing many at
 * once. */
static bool begins_within(const struct stats_times *t, struct scan_batch *b)
{
    const struct source *source = t->job->ts;
    uint64_t inside[SCAN_WORDS], outside = 0;
    int64_t lo, hi;

    if (!starts_within(t, scan_is_nano(b->chunk, source) ? 1 : 1000, &lo, &hi))
        return false;
    kernels()->range_i64(batch_i64(b, source, NULL, NULL), b->rows, lo, hi, inside);
    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        outside |= b->mask[i] & ~inside[i];
    return outside == 0;
}

static void widen_span(struct stats_times *t, struct scan_batch *b)
{
    struct time_span *span = &t->span;
    struct batch_times times = batch_times(b, t->job->ts, t->job->dur);

    if (times.ts_valid && batch_all_valid(b, times.ts_valid)) /* metadata have no ts */
        times.ts_valid = NULL;
    if (span_of_plain(b, &times, span))
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
    if (t->state == TIMES_KNOWN || (t->state == TIMES_LENGTHS && ends_within(t, b)) ||
        begins_within(t, b))
        return;
    widen_span(t, b);
    if (t->span.any)
        span_add(&t->known, t->span.min_ts, t->span.max_te);
}

bool times_within(const struct stats_times *t, const struct scan_values *v)
{
    int64_t longest = 0;

    for (uint32_t i = 0; t->state == TIMES_LENGTHS && i < v->count; i++)
        longest = v->values[i] > longest ? v->values[i] : longest;
    return t->state == TIMES_KNOWN ||
           (t->state == TIMES_LENGTHS && all_within(t, longest, v->nano));
}
