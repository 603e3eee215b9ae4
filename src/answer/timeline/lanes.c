/* lanes.c - from groups to lanes: their order, totals, and cells. */
#include "answer/timeline/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- lanes and colors ------------------------------------------------------------------------ */

struct key_order {
    struct value *keys;
    unsigned width;
    uint32_t number;
    uint64_t last; /* key */
};

static int compare_key_orders(const void *a, const void *b, void *arg)
{
    const struct key_order *x = a, *y = b;
    int cmp = (x->last == QUERY_KEY_OTHERS) - (y->last == QUERY_KEY_OTHERS);
    (void)arg;

    for (unsigned i = 0; i < x->width && cmp == 0; i++)
        cmp = value_cmp(&x->keys[i], &y->keys[i]);
    return cmp;
}

void *timeline_alloc(struct timeline *t, size_t count, size_t each)
{
    return arena_alloc(&t->arena, (count + 1) * each);
}

/* Sorts; may be stopped by the budget. */
static int sort_charged(struct timeline *t, void *items, size_t n, size_t each,
                        sort_compare *compare)
{
    struct budget *budget = t->plan.budget;
    int rc = budget_charge(budget, n * each); /* for the copy that sort_items makes */

    if (rc < 0)
        return rc;
    rc = sort_items(items, n, each, compare, NULL, budget);
    budget_release(budget, n * each);
    return rc;
}

/* Numbers the keys from `first` on of groups that have parts, in order: the number for each group,
 * and the keys by number. (Objects without ts are in no lane.) */
static int number_keys(struct timeline *t, unsigned first, unsigned width, uint32_t *of,
                       struct key_order **ret, uint32_t *ret_count)
{
    struct group_table table;
    const struct timeline_placed *placed = t->placed;
    uint32_t *order = NULL;
    struct key_order *key_order = NULL;
    int rc = 0;

    group_table_init(&table, width, 0, t->plan.budget);
    for (uint32_t i = 0; i < t->placed_count && rc == 0; i++) {
        const uint64_t *keys = timeline_keys(&t->found, TIMELINE_CELLS, placed[i].group);
        int64_t n = group_table_add(&table, keys + first);
        of[placed[i].group] = (uint32_t)n;
        rc = n < 0 ? (int)n : 0;
    }
    key_order = timeline_alloc(t, table.count, sizeof(*key_order));
    order = timeline_alloc(t, table.count, sizeof(*order));
    rc = rc < 0 ? rc : t->arena.error;
    for (uint32_t i = 0; i < table.count && rc == 0; i++) {
        key_order[i] = (struct key_order){.width = width, .number = i};
        key_order[i].last = width ? group_table_keys(&table, i)[width - 1] : QUERY_KEY_NULL;
        key_order[i].keys = timeline_alloc(t, width, sizeof(struct value));
        rc = t->arena.error;
        for (unsigned k = 0; k < width && rc == 0; k++)
            query_key_value(t->plan.query, group_table_keys(&table, i)[k], &key_order[i].keys[k]);
    }
    rc = rc < 0 ? rc
                : sort_charged(t, key_order, table.count, sizeof(*key_order), compare_key_orders);
    if (rc == 0) {
        for (uint32_t i = 0; i < table.count; i++)
            order[key_order[i].number] = i;
        for (uint32_t i = 0; i < t->placed_count; i++)
            of[placed[i].group] = order[of[placed[i].group]];
        *ret = key_order;
        *ret_count = table.count;
    }
    group_table_done(&table);
    return rc;
}

static int compare_placed(const void *a, const void *b, void *arg)
{
    const struct timeline_placed *x = a, *y = b;
    (void)arg;

    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->color < y->color ? -1 : x->color > y->color;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* The total of a lane in a column, and the color with most of it. */
struct column_sum {
    __int128 busy, best_busy;
    uint64_t count, best_count;
    uint32_t color;
};
struct total {
    uint64_t count;
    __int128 busy;
};

/* The color with the most time wins, of several the one with most objects, of these the first. */
static inline void add_part(struct column_sum *sum, uint32_t color, uint64_t count, __int128 busy)
{
    bool first = !sum->count && !sum->busy;

    if (first || busy > sum->best_busy || (busy == sum->best_busy && count > sum->best_count)) {
        sum->best_busy = busy;
        sum->best_count = count;
        sum->color = color;
    }
    sum->count += count;
    sum->busy += busy;
}

/* The last column may end after the window, but nothing covers it. */
static struct total add_group(const struct timeline *t, const struct timeline_placed *g,
                              struct column_sum *sums, bool rest)
{
    const struct timeline_plan *p = &t->plan;
    const struct timeline_cells *cells = timeline_cells_at(t->found.groups, g->group);
    const struct timeline_part *parts = cells->parts;
    struct total total = {0};
    int64_t cover = 0; /* in columns */

    for (uint32_t c = 0; c < p->columns; c++) {
        if (timeline_skips(p, cells, cover, &c))
            continue;
        cover += parts[c].cover;
        if (!parts[c].count && !parts[c].busy && !cover)
            continue;
        __int128 busy = rest ? (__int128)(int64_t)parts[c].busy : (__int128)parts[c].busy;
        if (cover)
            busy += (__int128)cover * p->step;
        add_part(&sums[c], g->color, parts[c].count, busy);
        total.count += parts[c].count;
        total.busy += busy;
    }
    return total;
}

/* ---- all lanes, by all threads --------------------------------------------------------------- */

struct fold {
    struct timeline *t;
    bool rest; /* cells of objects too short for slices only */
    atomic_uint next;
    atomic_int error;
    pthread_mutex_t lock; /* guards the colors of t and its facts.busy_ns */
};
struct folder {
    struct fold *fold;
    struct column_sum *sums;
    struct total *colors;
};

static struct timeline_part *first_parts(const struct timeline *t, uint32_t lane)
{
    return timeline_cells_at(t->found.groups, t->placed[t->first_of[lane]].group)->parts;
}

/* Returns false if they do not fit there. */
static bool keep_cells(const struct timeline *t, const struct column_sum *sums,
                       struct timeline_part *parts)
{
    for (uint32_t c = 0; c < t->plan.columns; c++)
        if (sums[c].busy > UINT64_MAX || sums[c].count > UINT32_MAX)
            return false;
    for (uint32_t c = 0; c < t->plan.columns; c++)
        parts[c] = (struct timeline_part){.busy = (uint64_t)sums[c].busy,
                                          .count = (uint32_t)sums[c].count,
                                          .cover = (int32_t)sums[c].color};
    return true;
}

static void subtract_items(const struct timeline *t, uint32_t lane, bool back)
{
    for (size_t i = t->lane_first[lane]; i < t->lane_first[lane + 1]; i++) {
        const struct call_item *item = &t->items.at[i];
        timeline_subtract(&t->plan, timeline_cells_at(t->found.groups, item->lane), item->ts,
                          item->te, back);
    }
}

/* Makes the cells of the objects that are too short for slices. */
static void fold_rest(struct folder *f, uint32_t number)
{
    struct timeline *t = f->fold->t;

    subtract_items(t, number, false);
    for (uint32_t i = t->first_of[number]; i < t->first_of[number + 1]; i++)
        add_group(t, &t->placed[i], f->sums, true);
    keep_cells(t, f->sums, t->rest + (size_t)number * t->plan.columns);
    subtract_items(t, number, true);
}

/* Stores the cells in the first group's parts, if they fit there. */
static void fold_lane(struct folder *f, uint32_t number)
{
    struct timeline *t = f->fold->t;
    struct timeline_lane *lane = &t->lanes[number];

    memset(f->sums, 0, t->plan.columns * sizeof(*f->sums));
    if (f->fold->rest) {
        fold_rest(f, number);
        return;
    }
    for (uint32_t i = t->first_of[number]; i < t->first_of[number + 1]; i++) {
        const struct timeline_placed *g = &t->placed[i];
        struct total total = add_group(t, g, f->sums, false);
        lane->count += total.count;
        lane->busy_ns += total.busy;
        lane->before += timeline_cells_at(t->found.groups, g->group)->parts[t->plan.columns].count;
        f->colors[g->color].count += total.count;
        f->colors[g->color].busy += total.busy;
    }
    t->folded[number] = keep_cells(t, f->sums, first_parts(t, number));
}

static void add_colors(struct fold *all, const struct total *colors)
{
    struct timeline *t = all->t;

    pthread_mutex_lock(&all->lock);
    for (uint32_t i = 0; i < t->facts.colors; i++) {
        t->colors[i].count += colors[i].count;
        t->colors[i].busy_ns += colors[i].busy;
        t->facts.busy_ns += colors[i].busy;
    }
    pthread_mutex_unlock(&all->lock);
}

static void fold_some(void *arg, unsigned worker)
{
    struct fold *all = arg;
    struct timeline *t = all->t;
    size_t sums = t->plan.columns * sizeof(struct column_sum);
    size_t colors = (t->facts.colors + 1ul) * sizeof(struct total);
    struct folder f = {.fold = all};
    int rc = budget_charge(t->plan.budget, sums + colors);
    (void)worker;

    if (rc == 0) {
        f.sums = malloc(sums);
        f.colors = calloc(1, colors);
        rc = f.sums && f.colors ? 0 : -ENOMEM;
        for (uint32_t lane; rc == 0 && (lane = atomic_fetch_add(&all->next, 1)) < t->facts.lanes;)
            fold_lane(&f, lane);
        if (rc == 0)
            add_colors(all, f.colors);
        free(f.sums);
        free(f.colors);
        budget_release(t->plan.budget, sums + colors);
    }
    if (rc < 0)
        atomic_compare_exchange_strong(&all->error, &(int){0}, rc);
}

static int fold_lanes(struct timeline *t, bool rest)
{
    struct fold all = {.t = t, .rest = rest};
    struct pool *pool = query_environment(t->plan.query)->pool;
    unsigned threads = pool ? pool_threads(pool) : 1;

    if (threads > t->facts.lanes)
        threads = t->facts.lanes;
    pthread_mutex_init(&all.lock, NULL);
    pool_run(pool, threads, fold_some, &all);
    pthread_mutex_destroy(&all.lock);
    return atomic_load(&all.error);
}

/* Moves the items of slices to t->items, those of each lane together. */
static int group_items(struct timeline *t)
{
    struct vec *list = timeline_list(t->found.groups, TIMELINE_ITEMS);
    const struct call_item *items = list->at;

    t->items.budget = t->plan.budget;
    t->lane_first = timeline_alloc(t, t->facts.lanes + 1ul, sizeof(*t->lane_first));
    t->lane_count = timeline_alloc(t, t->facts.lanes, sizeof(*t->lane_count));
    int rc = t->arena.error < 0 ? t->arena.error : vec_reserve(&t->items, list->count);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < list->count; i++)
        t->lane_first[t->lane_of[items[i].lane] + 1]++;
    for (uint32_t lane = 0; lane < t->facts.lanes; lane++)
        t->lane_first[lane + 1] += t->lane_first[lane];
    for (size_t i = 0; i < list->count; i++) { /* lane_count: the number so far */
        uint32_t lane = t->lane_of[items[i].lane];
        t->items.at[t->lane_first[lane] + t->lane_count[lane]++] = items[i];
    }
    t->items.count = list->count;
    vec_done_items(list, sizeof(*items));
    return 0;
}

int timeline_make_lanes(struct timeline *t)
{
    uint32_t groups = timeline_groups(&t->found, TIMELINE_CELLS), lanes = 0, colors = 0;
    struct key_order *lane = NULL, *color = NULL;

    t->lane_of = timeline_alloc(t, groups, sizeof(*t->lane_of));
    t->color_of = timeline_alloc(t, groups, sizeof(*t->color_of));
    t->placed = timeline_alloc(t, groups, sizeof(*t->placed));
    int rc = t->arena.error;
    for (uint32_t i = 0; i < groups && rc == 0; i++) {
        if (timeline_cells_at(t->found.groups, i)->parts)
            t->placed[t->placed_count++].group = i;
    }
    rc = rc < 0 ? rc : number_keys(t, 0, t->plan.width - 1, t->lane_of, &lane, &lanes);
    rc = rc < 0 ? rc : number_keys(t, t->plan.width - 1, 1, t->color_of, &color, &colors);
    t->lanes = timeline_alloc(t, lanes, sizeof(*t->lanes));
    t->colors = timeline_alloc(t, colors, sizeof(*t->colors));
    t->first_of = timeline_alloc(t, lanes + 1, sizeof(*t->first_of));
    t->sums = timeline_alloc(t, t->plan.columns, sizeof(*t->sums));
    t->folded = timeline_alloc(t, lanes, sizeof(*t->folded));
    rc = rc < 0 ? rc : t->arena.error;
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < lanes; i++)
        t->lanes[i].keys = lane[i].keys;
    for (uint32_t i = 0; i < colors; i++)
        timeline_color_set(t, color[i].last, &color[i].keys[0], &t->colors[i]);
    for (uint32_t i = 0; i < t->placed_count; i++) {
        struct timeline_placed *p = &t->placed[i];
        p->lane = t->lane_of[p->group];
        p->color = t->color_of[p->group];
    }
    rc = sort_charged(t, t->placed, t->placed_count, sizeof(*t->placed), compare_placed);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < t->placed_count; i++)
        t->first_of[t->placed[i].lane + 1] = i + 1;
    t->facts.lanes = lanes;
    t->facts.colors = colors;
    rc = t->plan.slices ? group_items(t) : 0;
    if (rc == 0 && t->found.slices.min_ns > 0) {
        t->rest = timeline_alloc(t, (size_t)lanes * t->plan.columns, sizeof(*t->rest));
        rc = t->rest ? fold_lanes(t, true) : t->arena.error;
    }
    return rc < 0 ? rc : fold_lanes(t, false);
}

/* ---- public calls ---------------------------------------------------------------------------- */

static size_t read_cells(const struct timeline *t, const struct timeline_part *parts,
                         struct timeline_cell *ret)
{
    size_t n = 0;

    for (uint32_t c = 0; c < t->plan.columns; c++) {
        if (parts[c].count || parts[c].busy)
            ret[n++] =
                (struct timeline_cell){c, (uint32_t)parts[c].cover, parts[c].count, parts[c].busy};
    }
    return n;
}

size_t timeline_cells(struct timeline *t, size_t lane, struct timeline_cell *ret)
{
    size_t n = 0;

    if (t->folded[lane])
        return read_cells(t, first_parts(t, (uint32_t)lane), ret);
    memset(t->sums, 0, t->plan.columns * sizeof(*t->sums));
    for (uint32_t i = t->first_of[lane]; i < t->first_of[lane + 1]; i++)
        add_group(t, &t->placed[i], t->sums, false);
    for (uint32_t c = 0; c < t->plan.columns; c++) {
        if (t->sums[c].count || t->sums[c].busy)
            ret[n++] =
                (struct timeline_cell){c, t->sums[c].color, t->sums[c].count, t->sums[c].busy};
    }
    return n;
}

size_t timeline_rest(const struct timeline *t, size_t lane, struct timeline_cell *ret)
{
    return t->rest ? read_cells(t, t->rest + lane * t->plan.columns, ret) : 0;
}
