/* slices.c - collects objects of the window for depth.c. If there are at most
 * TIMELINE_SLICES_MAX, all are collected. Otherwise only those that are at least an eighth of a
 * column long (a whole column, if there are more than TIMELINE_SLICES_FINE). This minimum is
 * doubled as long as more than TIMELINE_SLICES_LONG objects reach it. The result depends on
 * neither chunks nor threads. */
#include "answer/timeline/slices.h"
#include "answer/timeline/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slice_worker {
    unsigned least;       /* class: items of lower classes were dropped */
    VEC(uint64_t) wanted; /* rows of the chunk that are long enough and near the window */
    uint64_t *near; /* second half of the memory of `wanted`: rows that may reach into the window */
    uint32_t row[SCAN_BATCH], place[SCAN_BATCH], lane[SCAN_BATCH];
    int64_t ts[SCAN_BATCH], te[SCAN_BATCH];
};

static uint64_t item_length(int64_t ts, int64_t te)
{
    return (uint64_t)te - (uint64_t)ts;
}

/* ---- the minimum length ---------------------------------------------------------------------- */

static uint64_t class_min_ns(const struct timeline_slices *s, unsigned class)
{
    return class < (unsigned)__builtin_clzll(s->unit) ? s->unit << class : UINT64_MAX;
}

static uint64_t current_min_ns(const struct timeline_slices *s)
{
    return s->all ? 0 : class_min_ns(s, atomic_load(&s->least));
}

static unsigned class_of(const struct timeline_slices *s, uint64_t length)
{
    return 63 - (unsigned)__builtin_clzll(length / s->unit);
}

/* Drops items shorter than `least` ns. */
static void drop_short(struct vec *list, uint64_t least)
{
    struct call_item *items = list->at;
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (item_length(items[i].ts, items[i].te) >= least)
            items[kept++] = items[i];
    list->count = kept;
}

/* Raises the minimum to the lowest class such that it and the classes above have no more than
 * TIMELINE_SLICES_LONG objects so far. It is never lowered. */
static void raise_min_class(struct timeline_slices *s)
{
    unsigned least = TIMELINE_CLASSES, old = atomic_load(&s->least);
    uint64_t sum = 0;

    while (least > 0 && (sum += atomic_load(&s->counts[least - 1])) <= TIMELINE_SLICES_LONG)
        least--;
    while (least > old && !atomic_compare_exchange_weak(&s->least, &old, least))
        ;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Chooses the selected rows that are to be collected: stores their indexes among the selected
 * rows, their rows in the chunk, and their times. Returns how many. */
static uint32_t choose_rows(struct group_worker *w, struct scan_batch *b)
{
    const struct timeline_found *f = timeline_found_of(w);
    const struct batch_times t = batch_times(b, f->plan->ts, f->plan->dur);
    struct slice_worker *own = w->own;
    uint64_t least = current_min_ns(&f->slices);
    uint32_t n = 0;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!row_start_ns(&t, row, &own->ts[n]))
            continue;
        own->te[n] = row_end_ns(&t, row);
        own->row[n] = j;
        own->place[n] = batch_place(b, row);
        bool in_window = own->ts[n] <= f->plan->to && own->te[n] >= f->plan->from;
        n += in_window && item_length(own->ts[n], own->te[n]) >= least;
    }
    return n;
}

/* Sets w->group[k] to the group of the k-th chosen row. */
static int find_groups(struct group_worker *w, struct scan_batch *b, uint32_t n, unsigned set)
{
    const struct slice_worker *own = w->own;

    if (!timeline_found_of(w)->slices.all) {
        struct scan_batch few = batch_of_places(b->chunk, own->place, n);
        return groups_find_few(w, &few, set);
    }
    int rc = groups_find(w, b, set);
    for (uint32_t k = 0; k < n; k++)
        w->group[k] = w->group[own->row[k]];
    return rc;
}

static int add_rows(struct group_worker *w, const struct scan_batch *b, uint32_t n)
{
    struct timeline_slices *s = &timeline_found_of(w)->slices;
    struct slice_worker *own = w->own;
    struct vec *list = timeline_list(w->found, TIMELINE_ITEMS);
    int rc = vec_reserve_items(list, sizeof(struct call_item), n);

    for (uint32_t k = 0; k < n && rc == 0; k++) {
        uint64_t place = (uint64_t)b->chunk->position << 32 | own->place[k];
        ((struct call_item *)list->at)[list->count++] = (struct call_item){.ts = own->ts[k],
                                                                           .te = own->te[k],
                                                                           .id = ~(int64_t)place,
                                                                           .tuple = w->group[k],
                                                                           .lane = own->lane[k]};
        if (!s->all)
            atomic_fetch_add(&s->counts[class_of(s, item_length(own->ts[k], own->te[k]))], 1);
    }
    if (rc < 0 || s->all)
        return rc;
    raise_min_class(s);
    if (own->least < atomic_load(&s->least)) {
        own->least = atomic_load(&s->least);
        drop_short(list, class_min_ns(s, own->least));
    }
    return 0;
}

static int add_batch(struct group_worker *w, struct scan_batch *b)
{
    struct slice_worker *own = w->own;
    uint32_t n = choose_rows(w, b);
    int rc = n ? find_groups(w, b, n, TIMELINE_CELLS) : 0;

    if (rc < 0 || n == 0)
        return rc;
    memcpy(own->lane, w->group, n * sizeof(*own->lane));
    rc = find_groups(w, b, n, TIMELINE_NAMES);
    return rc < 0 ? rc : add_rows(w, b, n);
}

static int items_merge(struct acc *into, struct acc *from, unsigned set, const uint32_t *const *to)
{
    struct call_item *item = from->list.at;

    for (size_t i = 0; i < from->list.count; i++, item++) {
        item->lane = to[TIMELINE_CELLS][item->lane];
        item->tuple = to[set][item->tuple];
    }
    if (into->list.count == 0) {
        struct vec empty = into->list;
        into->list = from->list;
        from->list = empty;
        return 0;
    }
    int rc = vec_reserve_items(&into->list, sizeof(*item), from->list.count);
    if (rc < 0 || from->list.count == 0)
        return rc;
    memcpy((struct call_item *)into->list.at + into->list.count, from->list.at,
           from->list.count * sizeof(*item));
    into->list.count += from->list.count;
    return 0;
}

static bool item_refers_to_groups(const struct groups *f, unsigned set, const void *of)
{
    const struct call_item *item = of;

    return item->lane < f->set[TIMELINE_CELLS].ready && item->tuple < f->set[set].ready;
}

const struct acc_kind timeline_acc_items = {.item = sizeof(struct call_item),
                                            .item_refers_to_groups = item_refers_to_groups,
                                            .merge_lists = items_merge};

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Selects the rows of at least `least` ns from the list of the longest rows. Returns false if rows
 * that are not in the list may be as long. */
static bool select_listed_rows(struct slice_worker *w, const struct density *d, int64_t least)
{
    if (d->rest_dur >= least)
        return false;
    for (uint32_t i = 0; i < d->longest_count; i++)
        if (d->longest_dur[i] >= least)
            w->wanted.at[d->longest[i] / 64] |= (uint64_t)1 << d->longest[i] % 64;
    return true;
}

/* Selects the rows of at least `least` ns in w->wanted. Returns -EDOM if the columns of the chunk
 * do not allow it, so all rows must be read. */
static int select_long_rows(struct slice_worker *w, struct scan_chunk *c, uint64_t least)
{
    struct density d;
    int rc = chunk_density(c->view, &d);

    if (rc == 0 && select_listed_rows(w, &d, (int64_t)least))
        return 0;
    if (rc < 0 && rc != -ENOENT)
        return rc;
    return timeline_select_long(c->view, least, w->wanted.at);
}

/* Computes the range of ts in which an object must start to reach into the window, if it is as long
 * as the longest of the chunk. lo > hi: no object does. Without known times: all values. */
static void range_of_starts(const struct timeline_plan *p, struct scan_chunk *c, int64_t *ret_lo,
                            int64_t *ret_hi)
{
    int64_t first, last, shortest, longest;

    *ret_lo = INT64_MIN;
    *ret_hi = INT64_MAX;
    if (!scan_range(c, p->ts, &first, &last) || !scan_range(c, p->dur, &shortest, &longest))
        return;
    __int128 unit = scan_is_nano(c, p->ts) ? 1 : 1000;
    __int128 reach = (__int128)longest * (scan_is_nano(c, p->dur) ? 1 : 1000);
    __int128 lo = (p->from - reach) / unit - 1, hi = p->to / unit + 1;
    if (lo > last || hi < first) {
        *ret_lo = INT64_MAX;
        *ret_hi = INT64_MIN;
        return;
    }
    if (lo > first)
        *ret_lo = (int64_t)lo;
    if (hi < last)
        *ret_hi = (int64_t)hi;
}

/* Keeps only those wanted rows that may reach into the window. */
static int deselect_far_rows(struct slice_worker *w, struct scan_chunk *c, int64_t lo, int64_t hi)
{
    struct column ts;

    if (lo == INT64_MIN && hi == INT64_MAX)
        return 0;
    if (chunk_find(c->view, TEXT("ts"), &ts) < 0 || ts.type != COLUMN_TIME)
        return 0;
    int rc = column_select_i64(c->view, &ts, lo, hi, w->near);
    for (size_t i = 0; i < (c->rows + 63) / 64 && rc == 0; i++)
        w->wanted.at[i] &= w->near[i];
    return rc;
}

/* If times alone decide, the other columns are not read for rows that are too short or too far from
 * the window. */
static int chunk_plan(struct group_worker *w, struct scan_chunk *c)
{
    const struct timeline_found *f = timeline_found_of(w);
    struct slice_worker *own = w->own;
    uint64_t least = current_min_ns(&f->slices);
    size_t words = (c->rows + SCAN_BATCH - 1ul) / SCAN_BATCH * SCAN_WORDS;
    int64_t lo, hi;

    if (f->slices.all || !f->plan->overlaps || least > INT64_MAX)
        return 0;
    own->wanted.count = 0;
    int rc = vec_extend(&own->wanted, 2 * words);
    if (rc < 0)
        return rc;
    own->near = own->wanted.at + words;
    range_of_starts(f->plan, c, &lo, &hi);
    rc = lo > hi ? 0 : select_long_rows(own, c, least);
    rc = rc == 0 && lo <= hi ? deselect_far_rows(own, c, lo, hi) : rc;
    if (rc == 0)
        c->wanted = own->wanted.at;
    return rc == -EDOM ? 0 : rc;
}

static bool skip_short_chunk(void *arg, size_t position)
{
    const struct timeline_found *f = arg;
    int64_t longest = f->chunks.at[position].longest;

    return f->plan->overlaps && longest < INT64_MAX &&
           (uint64_t)longest < current_min_ns(&f->slices);
}

/* ---- workers --------------------------------------------------------------------------------- */

static int worker_begin(struct group_worker *w)
{
    struct slice_worker *own = w->own = calloc(1, sizeof(*own));

    if (own)
        own->wanted.budget = w->grouping->budget;
    return own ? 0 : -ENOMEM;
}

static int worker_end(struct group_worker *w, bool failed)
{
    struct slice_worker *own = w->own;
    (void)failed;

    vec_done(&own->wanted);
    free(own);
    return 0;
}

int timeline_collect_slices(struct timeline_found *f, struct err *err)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .skip = skip_short_chunk,
                                             .chunk_plan = chunk_plan,
                                             .batch = add_batch,
                                             .put = timeline_put,
                                             .take = timeline_take};
    struct timeline_slices *s = &f->slices;

    s->all = f->objects <= TIMELINE_SLICES_MAX;
    s->each = f->objects <= TIMELINE_SLICES_ALL;
    bool coarse = f->objects > TIMELINE_SLICES_FINE || f->plan->step < 8;
    s->unit = coarse ? f->plan->step : f->plan->step / 8;
    int rc = timeline_scan_more(f, &hooks, err);
    if (!s->all) /* other ranks may have added to the counts */
        raise_min_class(s);
    s->min_ns = current_min_ns(s);
    if (rc == 0)
        drop_short(timeline_list(f->groups, TIMELINE_ITEMS), s->min_ns);
    return rc;
}
