/* depth.c - from collected objects to slices: sorts and nests those of a lane, then keeps the
 * longest of each depth and column. Lanes are distributed over all threads. */
#include "answer/timeline/lanes.h"
#include "answer/timeline/slices.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The arrays are as long as t->items. */
struct depth_job {
    struct timeline *t;
    uint32_t *depth; /* of each item */
    uint32_t *order; /* first the stack of open items, then all items by depth and start */
    uint32_t *ends;  /* by depth: the end of its items in `order` */
    atomic_uint next;
    atomic_int error;
};
/* The runs of one depth of a lane. */
struct depth_runs {
    const struct timeline_plan *plan;
    const struct call_item *items;
    struct timeline_run *runs; /* by column; neighbouring columns of an item are one run */
    uint32_t count;
    uint32_t *others; /* by column: items that begin there and are drawn nowhere */
};

static uint64_t item_length(const struct call_item *i)
{
    return (uint64_t)i->te - (uint64_t)i->ts;
}

static uint32_t column_of(const struct timeline_plan *p, int64_t at)
{
    int64_t inside = at < p->from ? p->from : at > p->to ? p->to : at;

    return timeline_column(p, (uint64_t)inside - (uint64_t)p->from);
}

/* Returns the column of the item's last ns. */
static uint32_t last_column(const struct timeline_plan *p, const struct call_item *i)
{
    return column_of(p, i->te > i->ts ? i->te - 1 : i->ts);
}

/* ---- nesting --------------------------------------------------------------------------------- */

/* Nests sorted items. Items without duration contain nothing. Returns the number of depths. */
static uint32_t nest_items(const struct call_item *items, uint32_t n, uint32_t *open,
                           uint32_t *depth)
{
    uint32_t height = 0, levels = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct call_item *item = &items[i];
        while (height > 0 &&
               (items[open[height - 1]].te < item->te || items[open[height - 1]].te <= item->ts))
            height--;
        depth[i] = height;
        levels = height + 1 > levels ? height + 1 : levels;
        if (item->te > item->ts)
            open[height++] = i;
    }
    return levels;
}

/* Sorts by depth, items of equal depth in their current order. */
static void order_by_depth(const uint32_t *depth, uint32_t n, uint32_t levels, uint32_t *order,
                           uint32_t *ends)
{
    memset(ends, 0, levels * sizeof(*ends));
    for (uint32_t i = 0; i < n; i++)
        ends[depth[i]]++;
    for (uint32_t d = 0, sum = 0; d < levels; d++) {
        uint32_t count = ends[d];
        ends[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        order[ends[depth[i]]++] = i;
}

/* ---- the longest of each column -------------------------------------------------------------- */

static void count_undrawn(struct depth_runs *r, uint32_t item)
{
    r->others[column_of(r->plan, r->items[item].ts)]++;
}

/* Items come by start, so a later item takes columns only at the end of what earlier ones have.
 * So the columns in which an item is the longest stay adjacent. */
static void add_item(struct depth_runs *r, uint32_t item, uint32_t depth)
{
    const struct call_item *i = &r->items[item];
    uint32_t a = column_of(r->plan, i->ts), b = last_column(r->plan, i);

    while (r->count > 0 && r->runs[r->count - 1].end >= a) {
        struct timeline_run *last = &r->runs[r->count - 1];
        if (item_length(i) <= item_length(&r->items[last->item])) {
            a = last->end + 1;
            break;
        }
        if (last->column < a) {
            last->end = a - 1;
            break;
        }
        count_undrawn(r, last->item);
        r->count--;
    }
    if (a <= b)
        r->runs[r->count++] =
            (struct timeline_run){.item = item, .depth = depth, .column = a, .end = b};
    else
        count_undrawn(r, item);
}

static void assign_undrawn(struct depth_runs *r)
{
    for (uint32_t k = 0; k < r->count; k++)
        for (uint32_t c = r->runs[k].column; c <= r->runs[k].end; c++) {
            r->runs[k].others += r->others[c];
            r->others[c] = 0;
        }
}

/* Adds the item as a run of its own: with few items in all, each is drawn. */
static void add_each(struct depth_runs *r, uint32_t item, uint32_t depth)
{
    const struct call_item *i = &r->items[item];

    r->runs[r->count++] = (struct timeline_run){.item = item,
                                                .depth = depth,
                                                .column = column_of(r->plan, i->ts),
                                                .end = last_column(r->plan, i)};
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static int select_lane(struct depth_job *job, uint32_t lane, uint32_t *others)
{
    struct timeline *t = job->t;
    const struct timeline_slices *s = &t->found.slices;
    size_t first = t->lane_first[lane];
    uint32_t n = (uint32_t)(t->lane_first[lane + 1] - first), drawn = 0;
    uint32_t *depth = job->depth + first, *order = job->order + first, *ends = job->ends + first;
    struct call_item *items = t->items.at + first;
    int rc = call_sort(items, n, t->plan.budget);

    if (rc < 0)
        return rc;
    uint32_t levels = nest_items(items, n, order, depth);
    order_by_depth(depth, n, levels, order, ends);
    for (uint32_t d = 0, i = 0; d < levels; d++) {
        struct depth_runs r = {&t->plan, items, t->drawn.at + first + drawn, 0, others};
        for (; i < ends[d]; i++) {
            if (s->each)
                add_each(&r, order[i], d);
            else
                add_item(&r, order[i], d);
        }
        assign_undrawn(&r);
        drawn += r.count;
    }
    t->lane_count[lane] = drawn;
    return budget_check(t->plan.budget);
}

static void select_lanes(void *arg, unsigned worker)
{
    struct depth_job *job = arg;
    struct timeline *t = job->t;
    size_t bytes = t->plan.columns * sizeof(uint32_t);
    int rc = budget_charge(t->plan.budget, bytes);
    (void)worker;

    if (rc == 0) {
        uint32_t *others = calloc(1, bytes);
        rc = others ? 0 : -ENOMEM;
        for (uint32_t lane; rc == 0 && (lane = atomic_fetch_add(&job->next, 1)) < t->facts.lanes;)
            rc = select_lane(job, lane, others);
        free(others);
        budget_release(t->plan.budget, bytes);
    }
    if (rc < 0)
        atomic_compare_exchange_strong(&job->error, &(int){0}, rc);
}

/* Numbers the names and files of slices in the order in which they occur. */
static int number_names(struct timeline *t)
{
    const struct snapshot *snapshot = query_snapshot(t->plan.query);
    uint32_t tuples = timeline_groups(&t->found, TIMELINE_NAMES);

    t->name_of = timeline_alloc(t, tuples, sizeof(*t->name_of));
    t->names = timeline_alloc(t, tuples, sizeof(*t->names));
    t->number_of = timeline_alloc(t, snapshot_file_count(snapshot), sizeof(*t->number_of));
    t->files = timeline_alloc(t, snapshot_file_count(snapshot), sizeof(*t->files));
    for (uint32_t lane = 0; t->arena.error == 0 && lane < t->facts.lanes; lane++)
        for (uint32_t i = 0; i < t->lane_count[lane]; i++) {
            const struct call_item *item =
                &t->items.at[t->lane_first[lane] + t->drawn.at[t->lane_first[lane] + i].item];
            uint32_t file = t->found.chunks.at[slice_position(item)].file;
            if (t->name_of[item->tuple] == 0) {
                const uint64_t *keys = timeline_keys(&t->found, TIMELINE_NAMES, item->tuple);
                struct timeline_name *name = &t->names[t->facts.names];
                query_key_value(t->plan.query, keys[0], &name->name);
                query_key_value(t->plan.query, keys[1], &name->cat);
                t->name_of[item->tuple] = ++t->facts.names;
            }
            if (t->number_of[file] == 0) {
                t->files[t->facts.slice_files] = file;
                t->number_of[file] = ++t->facts.slice_files;
            }
        }
    return t->arena.error;
}

static uint32_t max_slices_of_depth(const struct timeline *t)
{
    uint32_t max = 0;

    for (uint32_t lane = 0; lane < t->facts.lanes; lane++) {
        const struct timeline_run *drawn = &t->drawn.at[t->lane_first[lane]];
        for (uint32_t i = 0, same = 0; i < t->lane_count[lane]; i++) {
            same = i > 0 && drawn[i].depth == drawn[i - 1].depth ? same + 1 : 1;
            max = same > max ? same : max;
        }
    }
    return max;
}

int timeline_make_slices(struct timeline *t)
{
    size_t count = t->items.count;
    VEC(uint32_t) memory = {.budget = t->plan.budget};
    struct pool *pool = query_environment(t->plan.query)->pool;
    unsigned threads = pool ? pool_threads(pool) : 1;
    int rc = vec_reserve(&memory, 3 * count);

    t->drawn.budget = t->plan.budget;
    rc = rc < 0 ? rc : vec_reserve(&t->drawn, count);
    if (rc < 0) {
        vec_done(&memory);
        return rc;
    }
    struct depth_job job = {
        .t = t, .depth = memory.at, .order = memory.at + count, .ends = memory.at + 2 * count};
    if (threads > t->facts.lanes)
        threads = t->facts.lanes;
    pool_run(pool, threads, select_lanes, &job);
    rc = atomic_load(&job.error);
    vec_done(&memory);
    t->facts.slices_complete = t->found.slices.all;
    t->facts.slices_min_ns = t->found.slices.min_ns;
    t->facts.max_slices = rc < 0 ? 0 : max_slices_of_depth(t);
    return rc < 0 ? rc : number_names(t);
}

/* ---- public calls ---------------------------------------------------------------------------- */

size_t timeline_slice_count(const struct timeline *t, size_t lane)
{
    return t->drawn.at ? t->lane_count[lane] : 0;
}

void timeline_slice(const struct timeline *t, size_t lane, size_t i, struct timeline_slice *ret)
{
    const struct timeline_run *d = &t->drawn.at[t->lane_first[lane] + i];
    const struct call_item *item = &t->items.at[t->lane_first[lane] + d->item];
    const struct timeline_chunk *chunk = &t->found.chunks.at[slice_position(item)];

    *ret = (struct timeline_slice){.depth = d->depth,
                                   .column = d->column,
                                   .others = d->others,
                                   .color = t->color_of[item->lane],
                                   .name = t->name_of[item->tuple] - 1,
                                   .file = t->number_of[chunk->file] - 1,
                                   .object = chunk->rows_before + slice_row(item),
                                   .start_ns = (__int128)item->ts - t->facts.from_ns,
                                   .dur_ns = item_length(item)};
}

const struct timeline_name *timeline_names(const struct timeline *t)
{
    return t->names;
}

const uint32_t *timeline_files(const struct timeline *t)
{
    return t->files;
}
