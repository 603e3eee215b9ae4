/* split.c - events divided among the buckets that they cover (bucket=split).
 *
 * The part of an event in a bucket has the time that it spends there, and the same share of its
 * size and bytes, rounded to whole bytes so that the parts add up to the whole. An event is counted
 * in the bucket in which it starts.
 *
 */
#include "answer/aggregate/scan.h"
#include "engine/derived/keys.h"
#include "engine/derived/times.h"

#include <math.h>

/* The part of an event in one bucket. Times are in ns; from and to are relative to ts. */
struct piece {
    uint32_t row, group;
    __int128 ts, dur, from, to;
    bool first; /* the part with the start of the event */
};

/* Returns the part of `whole` that belongs to the first `at` ns of the duration. */
static __int128 share_until(__int128 whole, __int128 at, __int128 dur)
{
    if (at == dur)
        return whole;
    return dur <= INT64_MAX ? whole * at / dur : (__int128)((__float128)whole * at / dur);
}

/* The values of a measure; rows without a bit in `with` do not count. */
struct lane {
    struct batch_numbers of;
    const uint64_t *with; /* NULL: all count */
};

static int piece_value(struct group_worker *w, const struct piece *p, unsigned set,
                       unsigned measure, const struct lane *values)
{
    const struct batch_numbers *lane = &values->of;
    const struct measure *m = &worker_plan(w)->measures.at[measure];
    bool whole = p->from == 0 && p->to == p->dur;
    bool shared = m->source == worker_plan(w)->size || m->source == worker_plan(w)->bytes;

    if (!batch_is_valid(lane->valid, p->row) || !batch_is_valid(values->with, p->row))
        return 0;
    __int128 ns = p->to - p->from;
    if (m->source == worker_plan(w)->dur && ns == (int64_t)ns)
        return number_add(w, set, measure, p->group, (int64_t)ns, true);
    if (!shared && !p->first)
        return 0; /* other values are added where the event starts */
    if (!shared || whole)
        return lane->i ? number_add(w, set, measure, p->group, lane->i[p->row], lane->nano)
                       : number_add_f64(w, set, measure, p->group, lane->d[p->row]);
    /* Whole numbers may be among doubles because of other objects of the chunk. */
    double d = lane->d ? lane->d[p->row] : 0;
    if (d != floor(d) || !(fabs(d) < 0x1p53))
        return number_add_f64(w, set, measure, p->group,
                              d * (double)(p->to - p->from) / (double)p->dur);
    __int128 size = lane->i ? lane->i[p->row] : (int64_t)d;
    return number_add(
        w, set, measure, p->group,
        (int64_t)(share_until(size, p->to, p->dur) - share_until(size, p->from, p->dur)), false);
}

static int piece_add(struct group_worker *w, const struct piece *p, unsigned set,
                     const struct lane *lanes)
{
    const struct aggregate_plan *plan = worker_plan(w);
    const struct groups_of_set *s = &w->found->set[set];
    __int128 from = p->ts + p->from, to = p->ts + p->to;
    int rc = 0;

    *group_count(s, p->group) += p->first;
    if (!plan->general)
        extent_widen(plan_extent(plan, s, set, p->group), from, to);
    for (unsigned i = 0; i < plan_measures(plan, set) && rc == 0; i++)
        rc = piece_value(w, p, set, i, &lanes[i]);
    if (rc == 0 && plan->intervals && to > from)
        rc = interval_add(plan_intervals(plan, w->found), p->group, clamp_ns(from), clamp_ns(to));
    return rc;
}

/* Returns the group with the same keys in the bucket that begins at `start` (ns after the origin),
 * or an error. */
static int64_t group_in_bucket(struct group_worker *w, unsigned set, uint32_t group, __int128 start)
{
    const struct aggregate_plan *p = worker_plan(w);
    struct groups_of_set *s = &w->found->set[set];
    uint64_t keys[GROUP_KEYS_MAX];

    if (start > INT64_MAX || start < INT64_MIN)
        return ERR_ROW_LIMIT;
    group_map_keys(&s->map, group, keys);
    int rc = key_of_time(p->query, (int64_t)start, true, &keys[p->bucket_key]);
    int64_t other = rc < 0 ? rc : group_map_add(&s->map, keys);
    rc = other < 0 ? (int)other : groups_grow(w->found, set);
    return rc < 0 ? rc : other;
}

static int row_add(struct group_worker *w, struct piece *p, unsigned set, const struct lane *lanes)
{
    const __int128 step = worker_plan(w)->interval_ns, origin = worker_plan(w)->origin_ns;
    __int128 at = p->ts - origin, bucket = floor_to(at, step);
    uint32_t home = p->group;
    uint64_t pieces = 0;
    int rc = 0;

    p->from = 0;
    p->first = true;
    do {
        __int128 end = bucket + step - at; /* relative to ts */
        p->to = p->dur < end ? p->dur : end;
        rc = piece_add(w, p, set, lanes);
        p->from = p->to;
        p->first = false;
        bucket += step;
        if (rc < 0 || p->from >= p->dur)
            break;
        int64_t next = group_in_bucket(w, set, home, bucket);
        p->group = (uint32_t)next;
        rc = next < 0 ? (int)next : ++pieces % 1024 ? 0 : budget_check(worker_plan(w)->budget);
    } while (rc == 0);
    return rc;
}

int split_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    const struct aggregate_plan *p = worker_plan(w);
    const struct groups_of_set *s = &w->found->set[set];
    unsigned measures = plan_measures(p, set);
    const struct batch_numbers ts = batch_numbers(b, p->ts), dur = batch_numbers(b, p->dur);
    struct lane lanes[measures + 1];
    int rc = 0;

    for (unsigned i = 0; i < measures; i++) {
        const struct measure *m = &p->measures.at[i];
        lanes[i].of = batch_numbers(b, m->source);
        lanes[i].with = m->with ? batch_numbers(b, m->with).valid : NULL;
    }
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        struct piece piece = {.row = row, .group = w->group[j], .first = true};
        if (batch_is_valid(dur.valid, row))
            piece.to = piece.dur = (__int128)dur.i[row] * (dur.nano ? 1 : 1000);
        if (!batch_is_valid(ts.valid, row)) { /* without a bucket, nothing is divided */
            ++*group_count(s, piece.group);
            for (unsigned i = 0; i < measures && rc == 0; i++)
                rc = piece_value(w, &piece, set, i, &lanes[i]);
            continue;
        }
        piece.ts = (__int128)ts.i[row] * (ts.nano ? 1 : 1000);
        rc = row_add(w, &piece, set, lanes);
    }
    for (unsigned k = 0; k < p->keep_count && rc == 0; k++) /* values are kept of whole events */
        rc = plan_kept(p, w->found, k)->spec->kind->add(w, b, set, measures + k);
    return rc;
}
