/* offer.c - from rows to picks, of all rows or of those that a chunk's density names. */
#include "dftracerd/kernel.h"
#include "answer/timeline/work.h"

/* ---- the longest objects --------------------------------------------------------------------- */

/* It was told when its chunk was. */
static bool is_told(const struct worker *w, uint32_t row)
{
    const struct density *d = &w->density.chunk;

    for (uint32_t i = 0; w->job->again && i < d->longest_count; i++)
        if (d->longest[i] == row)
            return true;
    return false;
}

/* In the unit of `dur`: no object that is shorter is wanted. Null rows are 0. */
static int64_t least_wanted(const struct timeline_picks *p, const struct batch_times *t)
{
    const int unit = t->dur_nano ? 1 : 1000;

    if (!p->full || p->least.dur < 0)
        return INT64_MIN;
    __int128 least = p->least.dur / unit + (p->least.dur % unit > 0);
    return least > INT64_MAX ? INT64_MAX : (int64_t)least;
}

static bool make_pick(const struct worker *w, const struct scan_batch *b, uint32_t row,
                      const struct batch_times *t, struct timeline_pick *ret)
{
    *ret = (struct timeline_pick){.dur = -1};
    if (!batch_is_valid(t->ts_valid, row) || is_told(w, batch_place(b, row)))
        return false;
    ret->ts = (__int128)t->ts[row] * (t->ts_nano ? 1 : 1000);
    if (batch_is_valid(t->dur_valid, row) && t->dur[row] >= 0)
        ret->dur = (__int128)t->dur[row] * (t->dur_nano ? 1 : 1000);
    ret->file = b->chunk->place.file;
    ret->chunk = b->chunk->place.chunk;
    ret->row = batch_place(b, row);
    return picks_want(&w->own.picks, ret);
}

/* What a pick tells besides its times, of those rows alone. Groups are known but of rows that are
 * looked at once more. */
static int name_few(struct worker *w, struct scan_batch *b, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        w->few.place[k] = batch_place(b, batch_row(b, w->few.row[k]));
    struct scan_batch few = batch_of_places(b->chunk, w->few.place, n);
    int rc = group_map_few(&w->tuples, &few, w->few.tuple);
    if (rc == 0 && w->job->again)
        return group_map_few(&w->groups, &few, w->few.group);
    for (uint32_t k = 0; k < n; k++)
        w->few.group[k] = group_of(w, b, w->few.row[k]);
    return rc;
}

/* Of few.row, numbers among the selected ones. */
static int add_few(struct worker *w, struct scan_batch *b, const struct batch_times *t, uint32_t n)
{
    struct timeline_pick pick;
    int rc = n > 0 ? name_few(w, b, n) : 0;

    for (uint32_t k = 0; k < n && rc == 0; k++) {
        if (!make_pick(w, b, batch_row(b, w->few.row[k]), t, &pick)) /* no longer */
            continue;
        pick.group = w->few.group[k];
        pick.tuple = w->few.tuple[k];
        picks_add(&w->own.picks, &pick);
    }
    return rc;
}

/* Selected rows that may be long enough. */
static void long_rows(const struct worker *w, const struct scan_batch *b,
                      const struct batch_times *t, uint64_t *mask)
{
    kernels()->range_i64(t->dur, b->rows, least_wanted(&w->own.picks, t), INT64_MAX, mask);
    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        mask[i] &= b->mask[i];
}

/* `before`: selected rows in words before the one at hand. */
int timeline_offer_rows(struct worker *w, struct scan_batch *b, const struct batch_times *t)
{
    uint64_t mask[SCAN_WORDS];
    struct timeline_pick pick;
    uint32_t n = 0;

    if (w->own.picks.most == 0)
        return 0;
    long_rows(w, b, t, mask);
    for (uint32_t i = 0, before = 0; i < (b->rows + 63) / 64; i++) {
        for (uint64_t left = mask[i]; left; left &= left - 1) {
            uint64_t below = ((left & -left) - 1) & b->mask[i];
            uint32_t j = before + (uint32_t)__builtin_popcountll(below);
            w->few.row[n] = j;
            n += make_pick(w, b, batch_row(b, j), t, &pick);
        }
        before += (uint32_t)__builtin_popcountll(b->mask[i]);
    }
    return add_few(w, b, t, n);
}

/* ---- some rows, whatever the time range says ------------------------------------------------- */

static bool is_in_window(const struct timeline_plan *p, const struct batch_times *t, uint32_t row)
{
    int64_t start;

    return time_of(t, row, &start) && start <= p->to && end_of(t, row) >= p->from;
}

static int offer_few(struct worker *w, struct scan_batch *b, const struct batch_times *t)
{
    struct timeline_pick pick;
    uint32_t n = 0;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        w->few.row[n] = j;
        n += is_in_window(w->job->plan, t, row) && make_pick(w, b, row, t, &pick);
    }
    return add_few(w, b, t, n);
}

int timeline_offer_few(struct worker *w, struct scan_batch *b)
{
    const struct batch_times t = batch_times(b, w->job->plan->ts, w->job->plan->dur);

    return offer_few(w, b, &t);
}

/* ---- a chunk's density ----------------------------------------------------------------------- */

/* Of those that are listed as the longest, whose groups stand in the order of the rows. The list
 * tells what they take, but not whether one that takes no time has a dur. */
static int offer_longest(struct worker *w, struct scan_chunk *c, const uint32_t *rows, uint32_t n)
{
    struct scan_batch few = batch_of_places(c, rows, n);
    struct batch_times t = {.dur = w->few.dur, .dur_nano = true};
    bool has_zero = false;

    t.ts = batch_i64(&few, w->job->plan->ts, &t.ts_valid, &t.ts_nano);
    for (uint32_t k = 0; k < n; k++)
        has_zero |= w->few.dur[k] <= 0;
    if (has_zero)
        t.dur = batch_i64(&few, w->job->plan->dur, &t.dur_valid, &t.dur_nano);
    return offer_few(w, &few, &t);
}

/* Keys are read once, of the rows that stand for tuples and of those that may be picks. */
int timeline_add_tuples(struct worker *w, struct scan_batch *b)
{
    uint32_t longest[SCAN_BATCH], n = 0, tuple;
    int rc = group_map_few(&w->groups, b, w->group);

    w->by_row = false;
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = longest[n] = batch_place(b, batch_row(b, j)),
                 group = w->group[n] = w->group[j];
        if (timeline_density_tuple(&w->density, row, &tuple))
            w->density.group.at[tuple] = group + 1;
        n += timeline_density_longest(&w->density, row, &w->few.dur[n]);
    }
    rc = rc < 0 ? rc : vec_extend(&w->own.cells, w->groups.table.count);
    return rc < 0 || n == 0 ? rc : offer_longest(w, b->chunk, longest, n);
}
