/* slices.c - collects objects of the window for depth.c: all of them, or of more
 * than TIMELINE_SLICES_MOST those of at least an eighth of a column's length, of twice or four
 * times that ... if these are more than TIMELINE_SLICES_LONG. Which ones depends on neither chunks
 * nor threads. */
#include "answer/timeline/slices.h"
#include "answer/timeline/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 64 }; /* of durations from unit << class on */

struct slice_job {
    const struct timeline_plan *plan;
    struct timeline_found *found;
    bool all;
    uint64_t unit;                /* ns: the least length at first */
    atomic_uint least;            /* class: shorter ones are not collected; not if `all` */
    atomic_ulong counts[CLASSES]; /* of objects that were met */
};
struct slice_worker {
    struct slice_job *job;
    struct group_map groups, tuples;
    VEC(struct call_item) items;
    unsigned least;       /* items that are shorter were dropped */
    VEC(uint64_t) wanted; /* rows of the chunk that are long enough and near the window */
    uint64_t *near;       /* behind it: those near the window */
    uint32_t row[SCAN_BATCH], place[SCAN_BATCH], group[SCAN_BATCH], tuple[SCAN_BATCH];
    int64_t ts[SCAN_BATCH], te[SCAN_BATCH];
};

static uint64_t length_of(int64_t ts, int64_t te)
{
    return (uint64_t)te - (uint64_t)ts;
}

/* ---- the shortest that is collected ---------------------------------------------------------- */

static uint64_t least_of(const struct slice_job *job, unsigned class)
{
    return class < (unsigned)__builtin_clzll(job->unit) ? job->unit << class : UINT64_MAX;
}

static unsigned class_of(const struct slice_job *job, uint64_t length)
{
    return 63 - (unsigned)__builtin_clzll(length / job->unit);
}

/* Leaves items of the class and above. */
static void drop_short(struct call_item *items, size_t *count, uint64_t least)
{
    size_t kept = 0;

    for (size_t i = 0; i < *count; i++)
        if (length_of(items[i].ts, items[i].te) >= least)
            items[kept++] = items[i];
    *count = kept;
}

/* The lowest class of which, with all above, no more than TIMELINE_SLICES_LONG were met so far: it
 * only grows. */
static void raise_least(struct slice_job *job)
{
    unsigned least = CLASSES, old = atomic_load(&job->least);
    uint64_t sum = 0;

    while (least > 0 && (sum += atomic_load(&job->counts[least - 1])) <= TIMELINE_SLICES_LONG)
        least--;
    while (least > old && !atomic_compare_exchange_weak(&job->least, &old, least))
        ;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_in_window(const struct timeline_plan *p, int64_t ts, int64_t te)
{
    return ts <= p->to && te >= p->from;
}

/* The selected rows to be collected: their numbers among the selected ones, places and times. */
static uint32_t choose_rows(struct slice_worker *w, struct scan_batch *b,
                            const struct batch_times *t)
{
    const struct slice_job *job = w->job;
    uint64_t least = job->all ? 0 : least_of(job, atomic_load(&job->least));
    uint32_t n = 0;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!time_of(t, row, &w->ts[n]))
            continue;
        w->te[n] = end_of(t, row);
        w->row[n] = j;
        w->place[n] = batch_place(b, row);
        n += length_of(w->ts[n], w->te[n]) >= least && is_in_window(job->plan, w->ts[n], w->te[n]);
    }
    return n;
}

/* Of the n chosen rows: groups and tuples, in their order. */
static int name_rows(struct slice_worker *w, struct scan_batch *b, uint32_t n)
{
    if (!w->job->all) {
        struct scan_batch few = batch_of_places(b->chunk, w->place, n);
        int rc = group_map_few(&w->groups, &few, w->group);
        return rc < 0 ? rc : group_map_few(&w->tuples, &few, w->tuple);
    }
    int rc = group_map_batch(&w->groups, b, w->group);
    rc = rc < 0 ? rc : group_map_batch(&w->tuples, b, w->tuple);
    for (uint32_t k = 0; k < n; k++) {
        w->group[k] = w->group[w->row[k]];
        w->tuple[k] = w->tuple[w->row[k]];
    }
    return rc;
}

static int add_rows(struct slice_worker *w, const struct scan_batch *b, uint32_t n)
{
    struct slice_job *job = w->job;
    int rc = vec_reserve(&w->items, n);

    for (uint32_t k = 0; k < n && rc == 0; k++) {
        uint64_t place = (uint64_t)b->chunk->position << 32 | w->place[k];
        w->items.at[w->items.count++] = (struct call_item){.ts = w->ts[k],
                                                           .te = w->te[k],
                                                           .id = ~(int64_t)place,
                                                           .tuple = w->tuple[k],
                                                           .lane = w->group[k]};
        if (!job->all)
            atomic_fetch_add(&job->counts[class_of(job, length_of(w->ts[k], w->te[k]))], 1);
    }
    if (rc < 0 || job->all)
        return rc;
    raise_least(job);
    if (w->least < atomic_load(&job->least)) {
        w->least = atomic_load(&job->least);
        drop_short(w->items.at, &w->items.count, least_of(job, w->least));
    }
    return 0;
}

static int batch(void *state, struct scan_batch *b)
{
    struct slice_worker *w = state;
    const struct batch_times t = batch_times(b, w->job->plan->ts, w->job->plan->dur);
    uint32_t n = choose_rows(w, b, &t);
    int rc = n ? name_rows(w, b, n) : 0;

    return rc < 0 || n == 0 ? rc : add_rows(w, b, n);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Rows of at least so many ns, from the list of the longest. False: others may be as long. */
static bool want_listed(struct slice_worker *w, const struct density *d, int64_t least)
{
    if (d->rest_dur >= least)
        return false;
    for (uint32_t i = 0; i < d->longest_count; i++)
        if (d->longest_dur[i] >= least)
            w->wanted.at[d->longest[i] / 64] |= (uint64_t)1 << d->longest[i] % 64;
    return true;
}

/* Of rows of at least so many ns, w->wanted; the others need no look. -EDOM: it cannot be told. */
static int want_long(struct slice_worker *w, struct scan_chunk *c, uint64_t least)
{
    struct density d;
    int rc = chunk_density(c->view, &d);

    if (rc == 0 && want_listed(w, &d, (int64_t)least))
        return 0;
    if (rc < 0 && rc != -ENOENT)
        return rc;
    return timeline_select_long(c->view, least, w->wanted.at);
}

/* The values of ts with which an object of the chunk, even its longest, reaches into the window;
 * all where that is not known, none: lo > hi. */
static void starts_near(const struct timeline_plan *p, struct scan_chunk *c, int64_t *ret_lo,
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

/* Leaves the wanted rows that may reach into the window. */
static int keep_near(struct slice_worker *w, struct scan_chunk *c, int64_t lo, int64_t hi)
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

/* Of rows that are chosen by times alone, no other column is read of those that are too short or
 * far away. */
static int chunk_plan(void *state, struct scan_chunk *c)
{
    struct slice_worker *w = state;
    const struct timeline_plan *p = w->job->plan;
    uint64_t least = least_of(w->job, atomic_load(&w->job->least));
    size_t words = (c->rows + SCAN_BATCH - 1ul) / SCAN_BATCH * SCAN_WORDS;
    int64_t lo, hi;

    if (w->job->all || !p->overlaps || least > INT64_MAX)
        return 0;
    w->wanted.count = 0;
    int rc = vec_extend(&w->wanted, 2 * words);
    if (rc < 0)
        return rc;
    w->near = w->wanted.at + words;
    starts_near(p, c, &lo, &hi);
    rc = lo > hi ? 0 : want_long(w, c, least);
    rc = rc == 0 && lo <= hi ? keep_near(w, c, lo, hi) : rc;
    if (rc == 0)
        c->wanted = w->wanted.at;
    return rc == -EDOM ? 0 : rc;
}

static bool is_short(void *arg, size_t position)
{
    const struct slice_job *job = arg;
    int64_t longest = job->found->slices.chunks.at[position].longest;

    return !job->all && job->plan->overlaps && longest < INT64_MAX &&
           (uint64_t)longest < least_of(job, atomic_load(&job->least));
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct slice_worker *w = state;
    int rc = w->job->all ? group_map_chunk(&w->groups, c) : 0;

    return rc < 0 || !w->job->all ? rc : group_map_chunk(&w->tuples, c);
}

/* ---- workers --------------------------------------------------------------------------------- */

static int worker_begin(void *arg, unsigned number, void **ret_state)
{
    struct slice_job *job = arg;
    const struct timeline_plan *p = job->plan;
    struct slice_worker *w = calloc(1, sizeof(*w));
    (void)number;

    if (!w)
        return -ENOMEM;
    w->job = job;
    w->items.budget = w->wanted.budget = p->budget;
    group_map_init(&w->groups, p->keys, p->width, 0, p->budget);
    group_map_init(&w->tuples, p->names, 2, 0, p->budget);
    *ret_state = w;
    return 0;
}

/* Number of the worker's group *i in `all`. Groups of objects without ts alone are in no item, and
 * have no cells. */
static int renumber(struct group_table *all, const struct group_table *own, uint32_t *numbers,
                    uint32_t *i)
{
    if (numbers[*i] == GROUP_NONE) {
        int64_t n = group_table_add(all, group_table_keys(own, *i));
        if (n < 0)
            return (int)n;
        numbers[*i] = (uint32_t)n;
    }
    *i = numbers[*i];
    return 0;
}

static int merge(struct slice_job *job, struct slice_worker *w, uint32_t *groups, uint32_t *tuples)
{
    struct timeline_found *f = job->found;
    struct timeline_slices *s = &f->slices;
    int rc = vec_reserve(&s->items, w->items.count);

    for (size_t i = 0; i < w->items.count && rc == 0; i++) {
        struct call_item item = w->items.at[i];
        rc = renumber(&f->groups, &w->groups.table, groups, &item.lane);
        rc = rc < 0 ? rc : renumber(&f->tuples, &w->tuples.table, tuples, &item.tuple);
        s->items.at[s->items.count] = item;
        s->items.count += rc == 0;
    }
    return rc;
}

static int worker_end(void *arg, unsigned number, void *state, bool failed)
{
    struct slice_job *job = arg;
    struct slice_worker *w = state;
    struct budget *budget = job->plan->budget;
    size_t bytes = (w->groups.table.count + w->tuples.table.count + 1ul) * sizeof(uint32_t);
    int rc = failed ? 0 : budget_charge(budget, bytes);
    (void)number;

    if (!failed && rc == 0) {
        uint32_t *numbers = malloc(bytes);
        if (numbers)
            memset(numbers, 0xFF, bytes);
        rc = numbers ? merge(job, w, numbers, numbers + w->groups.table.count) : -ENOMEM;
        free(numbers);
        budget_release(budget, bytes);
    }
    group_map_done(&w->groups);
    group_map_done(&w->tuples);
    vec_done(&w->items);
    vec_done(&w->wanted);
    free(w);
    return rc;
}

/* Places may be fewer later. */
int timeline_prepare_slices(const struct timeline_plan *plan, struct timeline_found *f)
{
    struct timeline_slices *s = &f->slices;
    const struct scan_place *places;
    size_t n = scan_places(plan->query, &places);
    uint64_t before = 0;
    uint32_t chunk = 0;

    s->items.budget = s->chunks.budget = plan->budget;
    int rc = vec_extend(&s->chunks, n + 1);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct index_file *file = snapshot_file(query_snapshot(plan->query), places[i].file);
        if (i > 0 && places[i].file != places[i - 1].file)
            before = chunk = 0;
        for (; chunk < places[i].chunk; chunk++)
            before += file->chunks[chunk].rows;
        s->chunks.at[i] = (struct timeline_slice_chunk){before, INT64_MAX, places[i].file};
    }
    return rc;
}

static uint64_t least_length(const struct timeline_plan *plan, uint64_t objects)
{
    return objects > TIMELINE_SLICES_FINE || plan->step < 8 ? plan->step : plan->step / 8;
}

int timeline_collect_slices(const struct timeline_plan *plan, struct timeline_found *f,
                            struct err *err)
{
    struct timeline_slices *s = &f->slices;
    struct slice_job job = {.plan = plan,
                            .found = f,
                            .all = f->objects <= TIMELINE_SLICES_MOST,
                            .unit = least_length(plan, f->objects)};
    struct scan_sink sink = {.arg = &job,
                             .gathers = true,
                             .apart = true,
                             .worker_begin = worker_begin,
                             .skip = is_short,
                             .chunk_plan = chunk_plan,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .worker_end = worker_end};
    int rc = scan_run(plan->query, &sink, err);

    if (rc < 0)
        return rc;
    s->each = f->objects <= TIMELINE_SLICES_ALL;
    s->least_ns = job.all ? 0 : least_of(&job, atomic_load(&job.least));
    drop_short(s->items.at, &s->items.count, s->least_ns);
    return 0;
}
