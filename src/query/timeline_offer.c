/* timeline_offer.c - from rows to picks, of all rows or of those that a chunk's density names. */
#include "dftracerd/kernel.h"
#include "timeline_work.h"

#include <string.h>

/* ---- the longest objects ------------------------------------------------------------------------------------ */

/* Numbers of keys of few rows, without what a map does for a chunk. */
static int number_rows(struct group_table *t, const struct source *const *sources,
                       struct scan_batch *b, uint32_t *out)
{
    const uint64_t *keys[TIMELINE_KEYS_MAX + 1];
    uint64_t tuple[TIMELINE_KEYS_MAX + 1];
    int rc = 0;

    for (unsigned k = 0; k < t->width && rc == 0; k++)
        rc = batch_keys(b, sources[k], &keys[k]);
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        for (unsigned k = 0; k < t->width; k++)
            tuple[k] = keys[k][batch_row(b, j)];
        int64_t number = group_table_add(t, tuple);
        out[j] = (uint32_t)number;
        rc = number < 0 ? (int)number : 0;
    }
    return rc;
}

static int number_lanes(struct worker *w, struct scan_batch *b)
{
    w->by_row = false;
    return number_rows(&w->groups.table, w->job->plan->keys, b, w->group);
}

/* Fills what a pick tells besides its times. */
static int name_rows(struct worker *w, struct scan_batch *b)
{
    const struct timeline_plan *p = w->job->plan;
    int rc = 0;

    if (w->job->again)
        rc = w->few ? number_lanes(w, b) : timeline_find_groups(w, b);
    if (rc < 0)
        return rc;
    return w->few ? number_rows(&w->tuples.table, p->names, b, w->tuple)
                  : group_map_batch(&w->tuples, b, w->tuple);
}

static int offer(struct worker *w, struct scan_batch *b, uint32_t j, struct timeline_pick *pick,
                 bool *has_tuples)
{
    pick->file = b->chunk->place.file;
    pick->chunk = b->chunk->place.chunk;
    pick->row = batch_place(b, batch_row(b, j));
    if (!picks_want(&w->own.picks, pick))
        return 0;
    int rc = *has_tuples ? 0 : name_rows(w, b);
    if (rc < 0)
        return rc;
    *has_tuples = true;
    pick->group = group_of(w, b, j);
    pick->tuple = w->tuple[j];
    picks_add(&w->own.picks, pick);
    return 0;
}

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
static int64_t least_wanted(const struct timeline_picks *p, const struct times *dur)
{
    if (!p->full || !dur->values || p->least.dur < 0)
        return INT64_MIN;
    __int128 least = p->least.dur / dur->unit + (p->least.dur % dur->unit > 0);
    return least > INT64_MAX ? INT64_MAX : (int64_t)least;
}

static int offer_row(struct worker *w, struct scan_batch *b, uint32_t j, const struct times *ts,
                     const struct times *dur, bool *has_tuples)
{
    struct timeline_pick pick = {.dur = -1};
    uint32_t row = batch_row(b, j);

    if (!has_time(ts, row) || is_told(w, batch_place(b, row)))
        return 0;
    pick.ts = (__int128)ts->values[row] * ts->unit;
    if (has_time(dur, row) && dur->values[row] >= 0)
        pick.dur = (__int128)dur->values[row] * dur->unit;
    return offer(w, b, j, &pick, has_tuples);
}

/* Selected rows that may be long enough. */
static void long_rows(const struct worker *w, const struct scan_batch *b, const struct times *dur,
                      uint64_t *mask)
{
    int64_t least = least_wanted(&w->own.picks, dur);

    memset(mask, 0xFF, SCAN_WORDS * sizeof(*mask));
    if (dur->values)
        kernels()->range_i64(dur->values, b->rows, least, INT64_MAX, mask);
    for (uint32_t i = 0; i < SCAN_WORDS; i++)
        mask[i] &= b->mask[i];
}

/* `before`: selected rows in words before the one at hand. */
int timeline_offer_rows(struct worker *w, struct scan_batch *b, const struct times *ts,
                        const struct times *dur)
{
    uint64_t mask[SCAN_WORDS];
    bool has_tuples = false;
    int rc = 0;

    if (w->own.picks.most == 0)
        return 0;
    long_rows(w, b, dur, mask);
    for (uint32_t i = 0, before = 0; i < (b->rows + 63) / 64 && rc == 0; i++) {
        for (uint64_t left = mask[i]; left && rc == 0; left &= left - 1) {
            uint64_t below = ((left & -left) - 1) & b->mask[i];
            uint32_t j = before + (uint32_t)__builtin_popcountll(below);
            rc = offer_row(w, b, j, ts, dur, &has_tuples);
        }
        before += (uint32_t)__builtin_popcountll(b->mask[i]);
    }
    return rc;
}

/* ---- some rows, whatever the time range says ------------------------------------------------------------------ */

static bool is_in_window(const struct timeline_plan *p, const struct times *ts,
                         const struct times *dur, uint32_t row)
{
    int64_t start;

    return time_of(ts, row, &start) && start <= p->to && end_of(ts, dur, row) >= p->from;
}

int timeline_offer_few(struct worker *w, struct scan_batch *b, const struct times *ts,
                       const struct times *dur)
{
    bool has_tuples = false;
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++)
        if (is_in_window(w->job->plan, ts, dur, batch_row(b, j)))
            rc = offer_row(w, b, j, ts, dur, &has_tuples);
    return rc;
}

int timeline_add_tuples(struct worker *w, struct scan_batch *b, const struct times *ts,
                        const struct times *dur)
{
    const struct timeline_plan *p = w->job->plan;
    bool has_tuples = false;
    int rc = number_lanes(w, b);

    rc = rc < 0 ? rc : timeline_reserve(&w->own, p, w->groups.table.count);
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        if (timeline_density_row(&w->density, batch_place(b, row), w->group[j]) &&
            is_in_window(p, ts, dur, row))
            rc = offer_row(w, b, j, ts, dur, &has_tuples);
    }
    return rc;
}
