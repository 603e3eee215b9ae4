/* timeline_scan.c - from columns to cells, and the longest objects. */
#include "dftracerd/kernel.h"
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job {
    const struct timeline_plan *plan;
    struct timeline_found *found;
    uint32_t most;
};
struct worker {
    const struct job *job;
    struct group_map groups, tuples;
    struct timeline_found own; /* its tables are not used */
    bool plain;                /* of the chunk */
    bool by_row; /* of the batch: group has all rows, and 1 more than the group, 0 = not selected */
    uint32_t group[SCAN_BATCH], tuple[SCAN_BATCH];
};

/* ---- cells ------------------------------------------------------------------------------------------------- */

struct times {
    const int64_t *values; /* NULL: no row has one */
    const uint64_t *valid;
    int64_t unit;
};

static int read_times(struct scan_batch *b, const struct source *s, struct times *t)
{
    bool nano = false;
    int rc = batch_i64(b, s, &t->values, &t->valid, &nano);

    t->unit = nano ? 1 : 1000;
    if (rc == -EDOM)
        t->values = NULL;
    return rc == -EDOM ? 0 : rc;
}

static bool has_time(const struct times *t, uint32_t row)
{
    return t->values && batch_is_valid(t->valid, row);
}

/* In ns, beyond 64 bits the nearest that fits. */
static bool time_of(const struct times *t, uint32_t row, int64_t *ret)
{
    if (!has_time(t, row))
        return false;
    if (__builtin_mul_overflow(t->values[row], t->unit, ret))
        *ret = t->values[row] < 0 ? INT64_MIN : INT64_MAX;
    return true;
}

/* Of a row with ts; not the sum of two times that were made to fit. */
static int64_t end_of(const struct times *ts, const struct times *dur, uint32_t row)
{
    __int128 end = (__int128)ts->values[row] * ts->unit;

    if (dur->values && batch_is_valid(dur->valid, row) && dur->values[row] > 0)
        end += (__int128)dur->values[row] * dur->unit;
    return end < INT64_MIN ? INT64_MIN : end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

/* Of the j-th selected row. */
static uint32_t group_of(const struct worker *w, const struct scan_batch *b, uint32_t j)
{
    return w->by_row ? w->group[batch_row(b, j)] - 1 : w->group[j];
}

/* Where most rows are selected it is cheaper to number all. */
static int find_groups(struct worker *w, struct scan_batch *b)
{
    int rc = b->count < b->rows / 2 ? -EDOM : group_map_rows(&w->groups, b, w->group);

    w->by_row = rc != -EDOM;
    return w->by_row ? rc : group_map_batch(&w->groups, b, w->group);
}

static int add_any(struct worker *w, const struct scan_batch *b, const struct times *ts,
                   const struct times *dur)
{
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        int64_t start;
        if (!time_of(ts, batch_row(b, j), &start)) {
            w->own.untimed++;
            continue;
        }
        rc = timeline_add(&w->own, w->job->plan, group_of(w, b, j), start,
                          end_of(ts, dur, batch_row(b, j)));
        w->own.objects++;
    }
    return rc;
}

/* All of the chunk's, in ns, from 0 and below TIMELINE_NS_PLAIN? Null rows are 0. */
static bool is_plain(struct scan_chunk *c, const struct source *s)
{
    int64_t min, max, most = (int64_t)TIMELINE_NS_PLAIN;

    if (!scan_range(c, s, &min, &max))
        return scan_shape(c, s) == SHAPE_NULL;
    return min >= 0 && max < (scan_is_nano(c, s) ? most : most / 1000);
}

#define always_inline inline __attribute__((always_inline)) /* loops for what is constant there */

/* Each row a ts, all of them and of dur plain. */
static always_inline int add_plain(struct worker *w, uint32_t n, const uint16_t *select,
                                   bool by_row, const struct times *ts, const struct times *dur)
{
    struct timeline_cells *all = w->own.cells;
    const uint64_t *starts = (const uint64_t *)ts->values, *lengths = (const uint64_t *)dur->values;
    const uint64_t start_unit = (uint64_t)ts->unit, length_unit = (uint64_t)dur->unit;
    const uint32_t *groups = w->group;
    int rc = 0;

    for (uint32_t j = 0; j < n && rc == 0; j++) {
        uint32_t row = select ? select[j] : j;
        if (by_row && __builtin_expect(groups[j] == 0, 0))
            continue;
        uint64_t start = starts[row] * start_unit, ns = lengths ? lengths[row] * length_unit : 0;
        struct timeline_cells *cells = &all[groups[j] - by_row];
        uint64_t at = start - cells->begin, sum;
        if (at < cells->room && at + ns < cells->room &&
            !__builtin_add_overflow(cells->at->busy, ns, &sum)) {
            cells->at->busy = sum;
            cells->at->count++;
            continue;
        }
        rc = timeline_add(&w->own, w->job->plan, groups[j] - by_row, (int64_t)start,
                          (int64_t)(start + ns));
    }
    return rc;
}

static int add_rows(struct worker *w, const struct scan_batch *b, const struct times *ts,
                    const struct times *dur)
{
    int rc = timeline_reserve(&w->own, w->job->plan, w->groups.table.count);

    if (rc < 0)
        return rc;
    if (!w->plain || !ts->values || (ts->valid && !batch_all_valid(b, ts->valid)))
        return add_any(w, b, ts, dur);
    w->own.objects += b->count;
    if (w->by_row)
        return add_plain(w, b->rows, NULL, true, ts, dur);
    if (b->select)
        return add_plain(w, b->count, b->select, false, ts, dur);
    return add_plain(w, b->count, NULL, false, ts, dur);
}

/* ---- the longest objects ------------------------------------------------------------------------------------ */

static int offer(struct worker *w, struct scan_batch *b, uint32_t j, struct timeline_pick *pick,
                 bool *has_tuples)
{
    pick->file = b->chunk->place.file;
    pick->chunk = b->chunk->place.chunk;
    pick->row = batch_place(b, batch_row(b, j));
    if (!picks_want(&w->own.picks, pick))
        return 0;
    int rc = *has_tuples ? 0 : group_map_batch(&w->tuples, b, w->tuple);
    if (rc < 0)
        return rc;
    *has_tuples = true;
    pick->group = group_of(w, b, j);
    pick->tuple = w->tuple[j];
    picks_add(&w->own.picks, pick);
    return 0;
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

    if (!has_time(ts, row))
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
static int offer_rows(struct worker *w, struct scan_batch *b, const struct times *ts,
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

/* ---- workers ----------------------------------------------------------------------------------------------- */

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    const struct timeline_plan *p = w->job->plan;
    struct times ts, dur;
    int rc = read_times(b, p->ts, &ts);

    rc = rc < 0 ? rc : read_times(b, p->dur, &dur);
    rc = rc < 0 ? rc : find_groups(w, b);
    rc = rc < 0 ? rc : add_rows(w, b, &ts, &dur);
    return rc < 0 ? rc : offer_rows(w, b, &ts, &dur);
}

static int worker_begin(void *arg, unsigned number, void **ret_state)
{
    const struct job *job = arg;
    const struct timeline_plan *p = job->plan;
    struct worker *w = calloc(1, sizeof(*w));
    (void)number;

    if (!w)
        return -ENOMEM;
    int rc = picks_init(&w->own, p, job->most);
    if (rc < 0) {
        timeline_found_done(&w->own, p);
        free(w);
        return rc;
    }
    w->job = job;
    group_map_init(&w->groups, p->keys, p->width, 0, p->budget);
    group_map_init(&w->tuples, p->names, 2, 0, p->budget);
    *ret_state = w;
    return 0;
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct worker *w = state;
    const struct timeline_plan *p = w->job->plan;
    int rc = group_map_chunk(&w->groups, c);

    w->plain = is_plain(c, p->ts) && is_plain(c, p->dur);
    return rc < 0 ? rc : group_map_chunk(&w->tuples, c);
}

/* What the worker numbered, by the numbers of all. Groups of objects without ts alone have no parts. */
static int merge(const struct job *job, struct worker *w)
{
    struct timeline_found *f = job->found;
    int rc = 0;

    for (uint32_t i = 0; i < w->groups.table.count && i < w->own.cells_cap && rc == 0; i++) {
        if (!w->own.cells[i].parts)
            continue;
        int64_t group = group_table_add(&f->groups, group_table_keys(&w->groups.table, i));
        rc = group < 0 ? (int)group : timeline_take(f, job->plan, (uint32_t)group, &w->own, i);
    }
    picks_cut(&w->own.picks);
    for (uint32_t i = 0; i < w->own.picks.count && rc == 0; i++) {
        struct timeline_pick pick = w->own.picks.picks[i];
        const uint64_t *group_keys = group_table_keys(&w->groups.table, pick.group);
        const uint64_t *tuple_keys = group_table_keys(&w->tuples.table, pick.tuple);
        if (!picks_want(&f->picks, &pick))
            continue;
        int64_t group = group_table_add(&f->groups, group_keys);
        int64_t tuple = group_table_add(&f->tuples, tuple_keys);
        if (group < 0 || tuple < 0)
            return (int)(group < 0 ? group : tuple);
        pick.group = (uint32_t)group;
        pick.tuple = (uint32_t)tuple;
        picks_add(&f->picks, &pick);
    }
    f->objects += w->own.objects;
    f->untimed += w->own.untimed;
    return rc;
}

static int worker_end(void *arg, unsigned number, void *state, bool failed)
{
    const struct job *job = arg;
    struct worker *w = state;
    int rc = failed ? 0 : merge(job, w);
    (void)number;

    group_map_done(&w->groups);
    group_map_done(&w->tuples);
    timeline_found_done(&w->own, job->plan);
    free(w);
    return rc;
}

int timeline_scan(const struct timeline_plan *plan, uint32_t most, struct timeline_found *ret,
                  struct err *err)
{
    struct job job = {.plan = plan, .found = ret, .most = most};
    struct scan_sink sink = {.arg = &job,
                             .gathers = true,
                             .apart = true,
                             .worker_begin = worker_begin,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .worker_end = worker_end};
    int rc = picks_init(ret, plan, most);

    rc = rc < 0 ? rc : scan_run(plan->query, &sink, err);
    picks_cut(&ret->picks);
    return rc;
}
