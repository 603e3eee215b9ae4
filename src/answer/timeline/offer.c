/* offer.c - finds picks among all rows, or among those that a chunk's density lists. */
#include "dftracerd/kernel.h"
#include "answer/timeline/work.h"

/* ---- the longest objects --------------------------------------------------------------------- */

const struct timeline_pick *timeline_last_pick(const struct group_worker *w)
{
    const struct timeline_found *f = timeline_found_of(w);
    uint32_t max = f->plan->events;
    const struct timeline_pick *own = picks_last(timeline_list(w->found, TIMELINE_PICKS), max);

    return own || !f->groups ? own : picks_last(timeline_list(f->groups, TIMELINE_PICKS), max);
}

static bool is_second_scan(const struct group_worker *w)
{
    return timeline_found_of(w)->groups;
}

/* True if the scan before offered it, with its chunk's density. */
static bool was_offered(const struct group_worker *w, uint32_t row)
{
    const struct timeline_worker *own = w->own;
    const struct density *d = &own->density.chunk;

    for (uint32_t i = 0; is_second_scan(w) && i < d->longest_count; i++)
        if (d->longest[i] == row)
            return true;
    return false;
}

/* Returns the minimum duration of a pick, in the unit of `dur`. Null rows are 0. */
static int64_t min_dur_of_picks(const struct group_worker *w, const struct batch_times *t)
{
    const struct timeline_pick *last = timeline_last_pick(w);
    const int unit = t->dur_nano ? 1 : 1000;

    if (!last || last->dur < 0)
        return INT64_MIN;
    __int128 min = last->dur / unit + (last->dur % unit > 0);
    return min > INT64_MAX ? INT64_MAX : (int64_t)min;
}

/* Makes a pick of the j-th selected row, at the next position of few.pick. Returns 1, or 0 if it is
 * not wanted. */
static uint32_t pick_row(const struct group_worker *w, const struct scan_batch *b, uint32_t j,
                         const struct batch_times *t, struct timeline_pick *ret)
{
    const struct timeline_pick *last = timeline_last_pick(w);
    uint32_t row = batch_row(b, j);

    *ret = (struct timeline_pick){.dur = -1, .lane = w->group[j]};
    if (!batch_is_valid(t->ts_valid, row) || was_offered(w, batch_place(b, row)))
        return 0;
    ret->ts = (__int128)t->ts[row] * (t->ts_nano ? 1 : 1000);
    if (batch_is_valid(t->dur_valid, row) && t->dur[row] >= 0)
        ret->dur = (__int128)t->dur[row] * (t->dur_nano ? 1 : 1000);
    ret->position = (uint32_t)b->chunk->position;
    ret->row = batch_place(b, row);
    return !last || pick_before(ret, last);
}

/* few.pick: the other values of a pick are read of these rows alone, and after their times, because
 * both may need the same memory. */
static int add_few(struct group_worker *w, struct scan_chunk *c, uint32_t n)
{
    struct timeline_worker *own = w->own;
    struct timeline_pick *pick = own->few.pick;
    int rc = 0;

    if (n == 0)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        own->few.place[k] = pick[k].row;
    struct scan_batch few = batch_of_places(c, own->few.place, n);
    if (is_second_scan(w))
        rc = groups_find_few(w, &few, TIMELINE_CELLS);
    for (uint32_t k = 0; is_second_scan(w) && k < n; k++)
        pick[k].lane = w->group[k];
    rc = rc < 0 ? rc : groups_find_few(w, &few, TIMELINE_NAMES);
    for (uint32_t k = 0; k < n && rc == 0; k++) {
        pick[k].tuple = w->group[k];
        rc = picks_add(timeline_list(w->found, TIMELINE_PICKS), timeline_found_of(w)->plan->events,
                       &pick[k]);
    }
    return rc;
}

/* Finds selected rows that may be long enough. */
static void mask_long_rows(const struct group_worker *w, const struct scan_batch *b,
                           const struct batch_times *t, uint64_t *mask)
{
    kernels()->range_i64(t->dur, b->rows, min_dur_of_picks(w, t), INT64_MAX, mask);
    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        mask[i] &= b->mask[i];
}

/* `before`: selected rows in the earlier words. */
int timeline_offer_rows(struct group_worker *w, struct scan_batch *b)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    struct timeline_worker *own = w->own;
    uint64_t mask[SCAN_WORDS];
    uint32_t n = 0;

    if (p->events == 0)
        return 0;
    const struct batch_times t = batch_times(b, p->ts, p->dur);
    mask_long_rows(w, b, &t, mask);
    for (uint32_t i = 0, before = 0; i < (b->rows + 63) / 64; i++) {
        for (uint64_t left = mask[i]; left; left &= left - 1) {
            uint64_t below = ((left & -left) - 1) & b->mask[i];
            n += pick_row(w, b, before + (uint32_t)__builtin_popcountll(below), &t,
                          &own->few.pick[n]);
        }
        before += (uint32_t)__builtin_popcountll(b->mask[i]);
    }
    return add_few(w, b->chunk, n);
}

/* ---- some rows, without the time range ------------------------------------------------------- */

static bool is_in_window(const struct timeline_plan *p, const struct batch_times *t, uint32_t row)
{
    int64_t start;

    return row_start_ns(t, row, &start) && start <= p->to && row_end_ns(t, row) >= p->from;
}

static int offer_few(struct group_worker *w, struct scan_batch *b, const struct batch_times *t)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    struct timeline_worker *own = w->own;
    uint32_t n = 0;

    for (uint32_t j = 0; j < b->count; j++) {
        if (is_in_window(p, t, batch_row(b, j)))
            n += pick_row(w, b, j, t, &own->few.pick[n]);
    }
    return add_few(w, b->chunk, n);
}

int timeline_offer_few(struct group_worker *w, struct scan_batch *b)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    const struct batch_times t = batch_times(b, p->ts, p->dur);

    return offer_few(w, b, &t);
}

/* ---- a chunk's density ----------------------------------------------------------------------- */

/* Offers the listed longest rows. The list has their time, but not whether a row of time 0 has a
 * dur. */
static int offer_longest(struct group_worker *w, struct scan_chunk *c, const uint32_t *rows,
                         uint32_t n)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    const struct timeline_worker *own = w->own;
    struct scan_batch few = batch_of_places(c, rows, n);
    struct batch_times t = {.dur = own->few.dur, .dur_nano = true};
    bool has_zero = false;

    t.ts = batch_i64(&few, p->ts, &t.ts_valid, &t.ts_nano);
    for (uint32_t k = 0; k < n; k++)
        has_zero |= own->few.dur[k] <= 0;
    if (has_zero)
        t.dur = batch_i64(&few, p->dur, &t.dur_valid, &t.dur_nano);
    return offer_few(w, &few, &t);
}

int timeline_add_tuples(struct group_worker *w, struct scan_batch *b)
{
    struct timeline_worker *own = w->own;
    uint32_t longest[SCAN_BATCH], n = 0, tuple;
    int rc = groups_find_few(w, b, TIMELINE_CELLS);

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = longest[n] = batch_place(b, batch_row(b, j));
        w->group[n] = w->group[j];
        if (timeline_density_tuple(&own->density, row, &tuple))
            own->density.group.at[tuple] = w->group[n] + 1;
        n += timeline_density_longest(&own->density, row, &own->few.dur[n]);
    }
    return rc < 0 || n == 0 ? rc : offer_longest(w, b->chunk, longest, n);
}
