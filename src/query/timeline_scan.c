/* timeline_scan.c - from columns to cells, and the longest objects. */
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
    uint32_t group[SCAN_BATCH], tuple[SCAN_BATCH];
};

/* ---- the longest objects ----------------------------------------------------------------------------------- */

bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b)
{
    if (a->dur != b->dur)
        return a->dur > b->dur;
    if (a->ts != b->ts)
        return a->ts < b->ts;
    if (a->file != b->file)
        return a->file < b->file;
    return a->chunk != b->chunk ? a->chunk < b->chunk : a->row < b->row;
}

static void swap(struct timeline_pick *a, struct timeline_pick *b)
{
    struct timeline_pick t = *a;

    *a = *b;
    *b = t;
}

/* Hoare's quickselect: what comes before the one at `most` - 1 stands before it. */
void picks_cut(struct timeline_picks *p)
{
    uint32_t lo = 0, hi = p->count;

    if (p->count <= p->most)
        return;
    while (p->most > 0 && hi - lo > 1) {
        uint32_t end = lo;
        swap(&p->picks[lo + (hi - lo) / 2], &p->picks[hi - 1]);
        for (uint32_t i = lo; i + 1 < hi; i++)
            if (pick_before(&p->picks[i], &p->picks[hi - 1]))
                swap(&p->picks[i], &p->picks[end++]);
        swap(&p->picks[end], &p->picks[hi - 1]);
        if (end == p->most - 1)
            break;
        if (end < p->most - 1)
            lo = end + 1;
        else
            hi = end;
    }
    p->count = p->most;
    p->full = true;
    if (p->most)
        p->least = p->picks[p->most - 1];
}

static int picks_init(struct timeline_found *f, const struct timeline_plan *plan, uint32_t most)
{
    size_t bytes = ((size_t)most * 2 + 1) * sizeof(*f->picks.picks);
    int rc = budget_charge(plan->budget, bytes);

    if (rc < 0)
        return rc;
    f->charged += bytes;
    f->picks.most = most;
    f->picks.full = most == 0;
    f->picks.picks = malloc(bytes);
    return f->picks.picks ? 0 : -ENOMEM;
}

static bool is_wanted(const struct timeline_picks *p, const struct timeline_pick *pick)
{
    return !p->full || (p->most && pick_before(pick, &p->least));
}

static void picks_add(struct timeline_picks *p, const struct timeline_pick *pick)
{
    p->picks[p->count++] = *pick;
    if (p->count == p->most * 2)
        picks_cut(p);
}

/* ---- cells ------------------------------------------------------------------------------------------------- */

static size_t parts_bytes(const struct timeline_plan *plan)
{
    return (plan->columns + 1ul) * sizeof(struct timeline_part);
}

/* Where the group's cells are, NULL until it has some; NULL itself with *rc: no memory. */
static struct timeline_part **parts_place(struct timeline_found *f,
                                          const struct timeline_plan *plan, uint32_t group, int *rc)
{
    if (group < f->parts_cap)
        return &f->parts[group];
    size_t cap = f->parts_cap * 2 > group ? f->parts_cap * 2 : group + 64u;
    size_t more = (cap - f->parts_cap) * sizeof(*f->parts);
    *rc = budget_charge(plan->budget, more);
    if (*rc < 0)
        return NULL;
    f->charged += more;
    struct timeline_part **grown = realloc(f->parts, cap * sizeof(*grown));
    if (!grown) {
        *rc = -ENOMEM;
        return NULL;
    }
    memset(grown + f->parts_cap, 0, more);
    f->parts = grown;
    f->parts_cap = cap;
    return &f->parts[group];
}

/* Those of a group; NULL with *rc: no memory. */
static struct timeline_part *parts_of(struct timeline_found *f, const struct timeline_plan *plan,
                                      uint32_t group, int *rc)
{
    struct timeline_part **place = parts_place(f, plan, group, rc);

    if (!place || *place)
        return place ? *place : NULL;
    *rc = budget_charge(plan->budget, parts_bytes(plan));
    if (*rc < 0)
        return NULL;
    f->charged += parts_bytes(plan);
    *place = calloc(plan->columns + 1ul, sizeof(**place));
    *rc = *place ? 0 : -ENOMEM;
    return *place;
}

void timeline_found_done(struct timeline_found *f, const struct timeline_plan *plan)
{
    for (size_t i = 0; i < f->parts_cap; i++)
        free(f->parts[i]);
    free(f->parts);
    free(f->picks.picks);
    budget_release(plan->budget, f->charged);
    memset(f, 0, sizeof(*f));
}

/* Where 64 bits of ns are not enough, whole columns of it count as covered. */
static void carry_busy(uint64_t step, struct timeline_part *parts, uint32_t column, uint64_t ns)
{
    unsigned __int128 sum = (unsigned __int128)parts[column].busy + ns;

    parts[column].cover += (int32_t)(sum / step);
    parts[column + 1].cover -= (int32_t)(sum / step);
    parts[column].busy = (uint64_t)(sum % step);
}

static inline void add_busy(uint64_t step, struct timeline_part *parts, uint32_t column,
                            uint64_t ns)
{
    uint64_t sum;

    if (__builtin_expect(__builtin_add_overflow(parts[column].busy, ns, &sum), 0))
        carry_busy(step, parts, column, ns);
    else
        parts[column].busy = sum;
}

/* The window, for a loop to keep in registers. */
struct grid {
    int64_t from, to;
    uint64_t step;
    double columns_per_ns;
    uint32_t columns;
};

/* offset / step: the product with the inverse is off by one at most. */
static inline uint32_t column_at(const struct grid *g, uint64_t offset)
{
    uint32_t c = (uint32_t)(int64_t)((double)offset * g->columns_per_ns);

    if (c >= g->columns) /* the product with step might not fit */
        c = g->columns - 1;
    uint64_t begin = c * g->step, less = begin > offset;
    begin -= less ? g->step : 0;
    return (uint32_t)(c - less + (offset - begin >= g->step));
}

#define always_inline inline __attribute__((always_inline)) /* a call costs as much as these do */

static always_inline void add_part(const struct grid *g, struct timeline_part *parts, int64_t ts,
                                   int64_t te)
{
    int64_t first = ts < g->from ? g->from : ts > g->to ? g->to : ts;
    int64_t last = te < first ? first : te > g->to ? g->to : te;
    uint64_t from = (uint64_t)first - (uint64_t)g->from, ns = (uint64_t)last - (uint64_t)first;
    uint32_t a = column_at(g, from);
    uint64_t room = g->step - (from - a * g->step);

    parts[a].count++;
    if (__builtin_expect(ts < g->from, 0)) /* a store less of all others */
        parts[g->columns].count++;
    if (ns < room) {
        add_busy(g->step, parts, a, ns);
        return;
    }
    uint32_t b = column_at(g, from + ns);
    add_busy(g->step, parts, a, room);
    add_busy(g->step, parts, b, from + ns - b * g->step);
    parts[a + 1].cover++;
    parts[b].cover--;
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

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

static int offer(struct worker *w, struct scan_batch *b, uint32_t j, struct timeline_pick *pick,
                 bool *has_tuples)
{
    pick->file = b->chunk->place.file;
    pick->chunk = b->chunk->place.chunk;
    pick->row = batch_place(b, batch_row(b, j));
    if (!is_wanted(&w->own.picks, pick))
        return 0;
    int rc = *has_tuples ? 0 : group_map_batch(&w->tuples, b, w->tuple);
    if (rc < 0)
        return rc;
    *has_tuples = true;
    pick->group = w->group[j];
    pick->tuple = w->tuple[j];
    picks_add(&w->own.picks, pick);
    return 0;
}

/* The group's cells, made if there are none. */
static always_inline int add_row(struct worker *w, const struct grid *g, uint32_t group, int64_t ts,
                                 int64_t te)
{
    int rc = 0;
    struct timeline_part *parts = group < w->own.parts_cap ? w->own.parts[group] : NULL;

    if (__builtin_expect(!parts, 0))
        parts = parts_of(&w->own, w->job->plan, group, &rc);
    if (parts)
        add_part(g, parts, ts, te);
    return rc;
}

/* Of each selected row a ts, and all of it in ns and a sum of two such in 64 bits? Null rows of dur are 0. */
static bool is_plain(const struct scan_batch *b, const struct times *ts, const struct times *dur)
{
    uint64_t starts = 0, lengths = 0;

    if (!ts->values || (ts->valid && !batch_all_valid(b, ts->valid)))
        return false;
    for (uint32_t j = 0; j < b->count; j++)
        starts |= (uint64_t)ts->values[batch_row(b, j)];
    for (uint32_t j = 0; dur->values && j < b->count; j++)
        lengths |= (uint64_t)dur->values[batch_row(b, j)];
    return !(starts >> (ts->unit == 1 ? 62 : 52)) && !(lengths >> (dur->unit == 1 ? 62 : 52));
}

static int add_plain(struct worker *w, const struct grid *grid, const struct scan_batch *b,
                     const struct times *ts, const struct times *dur)
{
    const struct grid g = *grid;
    const int64_t *starts = ts->values, *lengths = dur->values;
    const int64_t start_unit = ts->unit, length_unit = dur->unit;
    int rc = 0;

    for (uint32_t j = 0, n = b->count; j < n && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        int64_t start = starts[row] * start_unit;
        rc = add_row(w, &g, w->group[j], start, start + (lengths ? lengths[row] * length_unit : 0));
    }
    w->own.objects += b->count;
    return rc;
}

static int add_any(struct worker *w, const struct grid *g, const struct scan_batch *b,
                   const struct times *ts, const struct times *dur)
{
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        int64_t start;
        if (!time_of(ts, batch_row(b, j), &start)) {
            w->own.untimed++;
            continue;
        }
        rc = add_row(w, g, w->group[j], start, end_of(ts, dur, batch_row(b, j)));
        w->own.objects++;
    }
    return rc;
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

static int offer_rows(struct worker *w, struct scan_batch *b, const struct times *ts,
                      const struct times *dur)
{
    const struct timeline_picks *p = &w->own.picks;
    const int64_t *lengths = dur->values;
    int64_t least = least_wanted(p, dur);
    bool has_tuples = false;
    int rc = 0;

    for (uint32_t j = 0, n = p->most ? b->count : 0; j < n && rc == 0; j++) {
        if (lengths && lengths[batch_row(b, j)] < least)
            continue;
        rc = offer_row(w, b, j, ts, dur, &has_tuples);
        least = least_wanted(p, dur);
    }
    return rc;
}

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    const struct timeline_plan *p = w->job->plan;
    const struct grid g = {p->from, p->to, p->step, 1 / (double)p->step, p->columns};
    struct times ts, dur;
    int rc = read_times(b, p->ts, &ts);

    rc = rc < 0 ? rc : read_times(b, p->dur, &dur);
    rc = rc < 0 ? rc : group_map_batch(&w->groups, b, w->group);
    if (rc == 0)
        rc = is_plain(b, &ts, &dur) ? add_plain(w, &g, b, &ts, &dur) : add_any(w, &g, b, &ts, &dur);
    return rc < 0 ? rc : offer_rows(w, b, &ts, &dur);
}

/* ---- workers ----------------------------------------------------------------------------------------------- */

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
    int rc = group_map_chunk(&w->groups, c);

    return rc < 0 ? rc : group_map_chunk(&w->tuples, c);
}

/* The first worker's that has the group are taken as they are, those of the others are added to them. */
static int add_parts(const struct job *job, struct timeline_found *own, uint32_t i, uint32_t group)
{
    struct timeline_found *f = job->found;
    const struct timeline_part *from = own->parts[i];
    int rc = 0;
    struct timeline_part **place = parts_place(f, job->plan, group, &rc);

    if (place && !*place) {
        *place = own->parts[i];
        own->parts[i] = NULL;
        f->charged += parts_bytes(job->plan);
        own->charged -= parts_bytes(job->plan);
        return 0;
    }
    for (uint32_t c = 0; place && c <= job->plan->columns; c++) {
        struct timeline_part *to = *place;
        add_busy(job->plan->step, to, c, from[c].busy);
        to[c].count += from[c].count;
        to[c].cover += from[c].cover;
    }
    return rc;
}

/* What the worker numbered, by the numbers of all. Groups of objects without ts alone have no parts. */
static int merge(const struct job *job, struct worker *w)
{
    struct timeline_found *f = job->found;
    int rc = 0;

    for (uint32_t i = 0; i < w->groups.table.count && i < w->own.parts_cap && rc == 0; i++) {
        if (!w->own.parts[i])
            continue;
        int64_t group = group_table_add(&f->groups, group_table_keys(&w->groups.table, i));
        rc = group < 0 ? (int)group : add_parts(job, &w->own, i, (uint32_t)group);
    }
    picks_cut(&w->own.picks);
    for (uint32_t i = 0; i < w->own.picks.count && rc == 0; i++) {
        struct timeline_pick pick = w->own.picks.picks[i];
        const uint64_t *group_keys = group_table_keys(&w->groups.table, pick.group);
        const uint64_t *tuple_keys = group_table_keys(&w->tuples.table, pick.tuple);
        if (!is_wanted(&f->picks, &pick))
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
                             .worker_begin = worker_begin,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .worker_end = worker_end};
    int rc = picks_init(ret, plan, most);

    rc = rc < 0 ? rc : scan_run(plan->query, &sink, err);
    picks_cut(&ret->picks);
    return rc;
}
