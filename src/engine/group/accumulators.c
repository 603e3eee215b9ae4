/* accumulators.c - accumulators that are not numbers: spans of time, single values, distinct
 * values, intervals. */
#include "engine/derived/batch_times.h"
#include "engine/derived/times.h"
#include "engine/group/encode.h"
#include "engine/group/worker.h"

#include <errno.h>

/* ---- extent ---------------------------------------------------------------------------------- */

static void extent_clear(const struct acc_spec *spec, void *slot)
{
    struct extent *e = slot;
    (void)spec;

    *e = (struct extent){EXTENT_NONE, -EXTENT_NONE};
}

static int extent_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &w->found->set[set];
    const struct acc_spec *spec = s->accs[acc].spec;
    const struct batch_times t =
        batch_times(b, spec->column, spec->with ? spec->with : spec->column);
    const int64_t *dur = spec->with ? t.dur : no_values.integers;
    int64_t ts_unit = t.ts_nano ? 1 : 1000, dur_unit = t.dur_nano ? 1 : 1000;

    for (uint32_t j = 0, n = b->count; j < n; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(t.ts_valid, row))
            continue;
        __int128 from = (__int128)t.ts[row] * ts_unit, to = from + (__int128)dur[row] * dur_unit;
        extent_widen(group_slot(s, w->group[j], acc), from, to);
    }
    return 0;
}

static int extent_merge(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                        const void *other, pthread_mutex_t *shared)
{
    const struct extent *e = other;
    (void)into, (void)acc, (void)from, (void)shared;

    extent_widen(slot, e->min_ts, e->max_te);
    return 0;
}

const struct acc_kind acc_extent = {.size = sizeof(struct extent),
                                    .wide = true,
                                    .clear = extent_clear,
                                    .add = extent_add,
                                    .merge = extent_merge};

/* ---- first and last -------------------------------------------------------------------------- */

static bool pick_before(const struct pick *a, const struct pick *b)
{
    if (a->ts != b->ts)
        return a->ts < b->ts;
    return a->place != b->place ? a->place < b->place : a->row < b->row;
}

/* Replaces a pick by another one that is before it in time, or after it (last). */
static void pick_update(struct pick *into, const struct pick *from, bool last)
{
    if (from->has && (!into->has || pick_before(last ? into : from, last ? from : into)))
        *into = *from;
}

static int pick_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &w->found->set[set];
    const struct acc_spec *spec = s->accs[acc].spec;
    const uint64_t *keys = batch_keys(b, spec->column), *valid;
    bool last = spec->kind == &acc_last, nano;
    const int64_t *ts = batch_i64(b, spec->with, &valid, &nano);

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (keys[row] == QUERY_KEY_NULL || !batch_is_valid(valid, row))
            continue;
        struct pick p = {.ts = (__int128)ts[row] * (nano ? 1 : 1000),
                         .key = keys[row],
                         .place = (uint32_t)b->chunk->position,
                         .row = batch_place(b, row),
                         .has = true};
        pick_update(group_slot(s, w->group[j], acc), &p, last);
    }
    return 0;
}

static int pick_merge(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                      const void *other, pthread_mutex_t *shared)
{
    (void)into, (void)from, (void)shared;

    pick_update(slot, other, acc->spec->kind == &acc_last);
    return 0;
}

/* pick.place is a position among the places of the query, which are the same in all processes. */
static int pick_encode(struct groups_encoder *e, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &e->from->set[set];
    int rc = 0;

    for (uint32_t g = 0; g < s->ready && rc == 0; g++)
        rc = encode_key(e, ((const struct pick *)group_slot(s, g, acc))->key);
    return rc;
}

static int pick_decode(struct groups_decoder *d, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &d->into->set[set];
    int rc = 0;

    for (uint32_t g = 0; g < s->ready && rc == 0; g++)
        rc = decode_key(d, &((struct pick *)group_slot(s, g, acc))->key);
    return rc;
}

#define PICK \
    .size = sizeof(struct pick), .wide = true, .add = pick_add, .merge = pick_merge, \
    .encode = pick_encode, .decode = pick_decode
const struct acc_kind acc_first = {PICK};
const struct acc_kind acc_last = {PICK};

/* ---- distinct -------------------------------------------------------------------------------- */

static int distinct_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    struct acc *a = &w->found->set[set].accs[acc];
    const uint64_t *keys = batch_keys(b, a->spec->column);

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (keys[row] == QUERY_KEY_NULL)
            continue;
        int64_t rc = group_table_add(&a->pairs, (uint64_t[]){w->group[j], keys[row]});
        if (rc < 0)
            return (int)rc;
    }
    return 0;
}

static int distinct_merge(struct acc *into, struct acc *from, unsigned set,
                          const uint32_t *const *to)
{
    for (uint32_t i = 0; i < from->pairs.count; i++) {
        const uint64_t *pair = group_table_keys(&from->pairs, i);
        int64_t rc = group_table_add(&into->pairs, (uint64_t[]){to[set][pair[0]], pair[1]});
        if (rc < 0)
            return (int)rc;
    }
    return 0;
}

static int distinct_encode(struct groups_encoder *e, unsigned set, unsigned acc)
{
    const struct group_table *pairs = &e->from->set[set].accs[acc].pairs;
    int rc = 0;

    rec_put_u(e->out, pairs->count);
    if (pairs->count)
        buf_append(e->out, pairs->keys, pairs->count * 2 * sizeof(*pairs->keys));
    for (uint32_t i = 0; i < pairs->count && rc == 0; i++)
        rc = encode_key(e, group_table_keys(pairs, i)[1]);
    return rc;
}

static int distinct_decode(struct groups_decoder *d, unsigned set, unsigned acc)
{
    struct groups_of_set *s = &d->into->set[set];
    struct group_table *pairs = &s->accs[acc].pairs;
    uint64_t n = rec_count(&d->rec, 2 * sizeof(uint64_t));
    int rc = n < GROUP_NONE ? group_table_append(pairs, (uint32_t)n) : ERR_CORRUPT;

    if (rc == 0 && n && !rec_array(&d->rec, pairs->keys, n * 2 * sizeof(uint64_t)))
        rc = ERR_CORRUPT;
    for (uint64_t i = 0; i < n && rc == 0; i++)
        rc = pairs->keys[2 * i] < s->ready ? decode_key(d, &pairs->keys[2 * i + 1]) : ERR_CORRUPT;
    return rc;
}

const struct acc_kind acc_distinct = {.add = distinct_add,
                                      .merge_lists = distinct_merge,
                                      .encode = distinct_encode,
                                      .decode = distinct_decode};

/* ---- intervals ------------------------------------------------------------------------------- */

int intervals_unite(struct acc *acc)
{
    return spans_unite(acc->intervals.at, &acc->intervals.count, acc->intervals.budget);
}

/* Intervals that overlap are united before more memory is allocated. */
static int intervals_reserve(struct acc *acc, size_t more)
{
    enum { FIRST = 4096 };
    size_t cap = acc->intervals.cap;

    if (more <= cap - acc->intervals.count)
        return 0;
    int rc = intervals_unite(acc);
    return rc < 0 || acc->intervals.count + more <= cap / 2
               ? rc
               : vec_reserve(&acc->intervals, cap - acc->intervals.count + FIRST);
}

int interval_add(struct acc *acc, uint32_t group, int64_t from, int64_t to)
{
    int rc = intervals_reserve(acc, 1);

    if (rc == 0)
        acc->intervals.at[acc->intervals.count++] =
            (struct span){.lo = from, .hi = to, .scope = group};
    return rc;
}

static int intervals_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    struct acc *a = &w->found->set[set].accs[acc];
    const struct batch_times t = batch_times(b, a->spec->column, a->spec->with);
    bool instants = a->spec->instants;
    int rc = intervals_reserve(a, b->count);
    struct span *to = a->intervals.at + a->intervals.count;
    int64_t ts, te;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        if (batch_times_of(&t, batch_row(b, j), &ts, &te) && (te > ts || instants))
            *to++ = (struct span){.lo = ts, .hi = te > ts ? te : ts, .scope = w->group[j]};
    }
    a->intervals.count = rc < 0 ? 0 : (size_t)(to - a->intervals.at);
    return rc;
}

static int intervals_merge(struct acc *into, struct acc *from, unsigned set,
                           const uint32_t *const *to)
{
    int rc = 0;

    for (size_t i = 0; i < from->intervals.count && rc == 0; i++) {
        const struct span *s = &from->intervals.at[i];
        rc = interval_add(into, to[set][s->scope], s->lo, s->hi);
    }
    return rc;
}

static bool interval_is_whole(const struct groups *f, unsigned set, const void *item)
{
    return ((const struct span *)item)->scope < f->set[set].ready;
}

const struct acc_kind acc_intervals = {.item = sizeof(struct span),
                                       .item_refers_to_groups = interval_is_whole,
                                       .add = intervals_add,
                                       .merge_lists = intervals_merge};
