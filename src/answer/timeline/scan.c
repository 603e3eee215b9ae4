/* scan.c - the scans of /timeline: from rows to cells, and the result of all scans together. */
#include "answer/timeline/slices.h"
#include "answer/timeline/work.h"

#include <errno.h>
#include <stdlib.h>

/* ---- cells ----------------------------------------------------------------------------------- */

static int add_any(struct group_worker *w, const struct scan_batch *b, const struct batch_times *t)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        struct timeline_cells *cells = timeline_cells_at(w->found, w->group[j]);
        int64_t start;
        if (!row_start_ns(t, batch_row(b, j), &start)) {
            cells->untimed++;
            continue;
        }
        rc = timeline_add(p, cells, start, row_end_ns(t, batch_row(b, j)));
        ++*group_count(&w->found->set[TIMELINE_CELLS], w->group[j]);
    }
    return rc;
}

/* True if all times of the chunk, in ns, are from 0 to below TIMELINE_NS_PLAIN. Null rows are 0. */
static bool is_plain(struct scan_chunk *c, const struct source *s)
{
    int64_t min, max, most = (int64_t)TIMELINE_NS_PLAIN;

    if (!scan_range(c, s, &min, &max))
        return scan_shape(c, s) == SHAPE_NULL;
    return min >= 0 && max < (scan_is_nano(c, s) ? most : most / 1000);
}

#define always_inline \
    inline __attribute__((always_inline)) /* specialises loops for constant arguments */

/* All rows have a plain ts, and a plain dur. */
static always_inline int add_plain(struct group_worker *w, uint32_t n, const uint16_t *select,
                                   const struct batch_times *t)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    const struct groups_of_set *s = &w->found->set[TIMELINE_CELLS];
    const uint64_t *starts = (const uint64_t *)t->ts, *lengths = (const uint64_t *)t->dur;
    const uint64_t start_unit = t->ts_nano ? 1 : 1000, length_unit = t->dur_nano ? 1 : 1000;
    const uint32_t *groups = w->group;
    char *records = s->records;
    const size_t stride = s->stride, slot = s->accs[0].at;
    int rc = 0;

    for (uint32_t j = 0; j < n && rc == 0; j++) {
        uint32_t row = select ? select[j] : j;
        uint64_t start = starts[row] * start_unit, ns = lengths[row] * length_unit;
        char *record = records + groups[j] * stride;
        struct timeline_cells *cells = (struct timeline_cells *)(record + slot);
        uint64_t at = start - cells->begin, sum;
        ++*(uint64_t *)record;
        if (at < cells->room && at + ns < cells->room &&
            !__builtin_add_overflow(cells->at->busy, ns, &sum)) {
            cells->at->busy = sum;
            cells->at->count++;
            continue;
        }
        rc = timeline_add(p, cells, (int64_t)start, (int64_t)(start + ns));
    }
    return rc;
}

static int cells_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    const struct timeline_worker *own = w->own;
    const struct batch_times t = batch_times(b, p->ts, p->dur);
    (void)set;

    if (!own->plain || (t.ts_valid && !batch_all_valid(b, t.ts_valid)))
        return add_any(w, b, &t);
    return b->select ? add_plain(w, b->count, b->select, &t) : add_plain(w, b->count, NULL, &t);
}

/* ---- colors ---------------------------------------------------------------------------------- */

/* Adds the colors of groups from *from on that have parts. */
static int add_colors(struct timeline_found *f, const struct groups *found,
                      struct group_table *colors, uint32_t *from)
{
    const struct group_table *groups = &found->set[TIMELINE_CELLS].map.table;
    int64_t n = 0;

    for (; f->plan->colors_max && *from < groups->count && n >= 0; ++*from) {
        const uint64_t *key = group_table_keys(groups, *from) + f->plan->width - 1;
        if (*key != QUERY_KEY_NULL && timeline_cells_at(found, *from)->parts)
            n = group_table_add(colors, key);
    }
    if (n == ERR_ROW_LIMIT)
        atomic_store(&f->crowded, true);
    return n < 0 ? (int)n : 0;
}

/* The earlier too many colors are noticed, the less is computed in vain. */
static int add_own_colors(struct group_worker *w)
{
    struct timeline_worker *own = w->own;

    return add_colors(timeline_found_of(w), w->found, &own->colors, &own->colors_of);
}

/* Sums up over all workers: objects, and whether there are too many colors. */
static int count_objects(struct timeline_found *f)
{
    struct group_table colors;
    uint32_t from = 0;

    for (uint32_t i = 0; i < timeline_groups(f, TIMELINE_CELLS); i++) {
        f->objects += *group_count(&f->groups->set[TIMELINE_CELLS], i);
        f->untimed += timeline_cells_at(f->groups, i)->untimed;
    }
    group_table_init(&colors, 1, f->plan->colors_max, f->plan->budget);
    int rc = add_colors(f, f->groups, &colors, &from);
    group_table_done(&colors);
    return rc;
}

/* ---- workers --------------------------------------------------------------------------------- */

static int worker_begin(struct group_worker *w)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    struct timeline_worker *own = w->own = calloc(1, sizeof(*own));

    if (own)
        group_table_init(&own->colors, 1, p->colors_max, p->budget);
    return own ? 0 : -ENOMEM;
}

static int worker_end(struct group_worker *w, bool failed)
{
    struct timeline_worker *own = w->own;
    (void)failed;

    group_table_done(&own->colors);
    timeline_density_done(&own->density);
    free(own);
    return 0;
}

static int chunk_plan(struct group_worker *w, struct scan_chunk *c)
{
    struct timeline_found *f = timeline_found_of(w);
    struct timeline_worker *own = w->own;
    int rc = timeline_density_plan(&own->density, f->plan, timeline_last_pick(w), c);

    if (rc == 0 && c->wanted)
        f->chunks.at[c->position].longest = timeline_density_max_dur(&own->density.chunk);
    return rc;
}

static int chunk_begin(struct group_worker *w, struct scan_chunk *c)
{
    const struct timeline_plan *p = timeline_found_of(w)->plan;
    struct timeline_worker *own = w->own;

    own->plain = !c->wanted && is_plain(c, p->ts) && is_plain(c, p->dur);
    return 0;
}

static int add_batch(struct group_worker *w, struct scan_batch *b)
{
    if (b->chunk->wanted)
        return timeline_add_tuples(w, b);
    int rc = groups_add(w, b, TIMELINE_CELLS);
    rc = rc < 0 ? rc : add_own_colors(w);
    return rc < 0 ? rc : timeline_offer_rows(w, b);
}

static int chunk_end(struct group_worker *w, struct scan_chunk *c)
{
    struct timeline_found *f = timeline_found_of(w);
    struct timeline_worker *own = w->own;

    if (!c->wanted)
        return 0;
    f->chunks.at[c->position].rest = own->density.chunk.rest_dur;
    int rc = timeline_density_end(&own->density, f->plan, w->found, c);
    return rc < 0 ? rc : add_own_colors(w);
}

/* ---- picks among rows that densities do not list --------------------------------------------- */

/* Skips the chunk unless one of its rows may be as long as the last pick. */
static bool skip_unlisted(void *arg, size_t position)
{
    const struct timeline_found *f = arg;
    int64_t rest = f->chunks.at[position].rest;
    const struct timeline_pick *least =
        picks_last(timeline_list(f->groups, TIMELINE_PICKS), f->plan->events);

    return rest == TIMELINE_REST_NONE || (least && rest < least->dur);
}

static int plan_unlisted(struct group_worker *w, struct scan_chunk *c)
{
    struct timeline_worker *own = w->own;

    return timeline_density_plan_unlisted(&own->density, timeline_found_of(w)->plan,
                                          timeline_last_pick(w), c);
}

static int offer_unlisted_batch(struct group_worker *w, struct scan_batch *b)
{
    return b->chunk->wanted ? timeline_offer_few(w, b) : timeline_offer_rows(w, b);
}

static int offer_unlisted(struct timeline_found *f, struct err *err)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .skip = skip_unlisted,
                                             .chunk_plan = plan_unlisted,
                                             .batch = offer_unlisted_batch,
                                             .put = timeline_put,
                                             .take = timeline_take};
    bool any = false;

    if (f->plan->events == 0 || timeline_list(f->groups, TIMELINE_PICKS)->count >= f->objects)
        return 0;
    for (size_t i = 0; i < f->chunks.count && !any; i++)
        any = !skip_unlisted(f, i);
    return any ? timeline_scan_more(f, &hooks, err) : 0;
}

/* ---- all scans ------------------------------------------------------------------------------- */

static int prepare_scan(struct timeline_found *f)
{
    static const struct acc_spec cells = {.kind = &timeline_acc_cells};
    const struct timeline_plan *p = f->plan;
    const struct scan_place *places;
    size_t n = scan_places(p->query, &places);
    uint64_t before = 0;
    uint32_t chunk = 0;

    f->lists[TIMELINE_PICKS] =
        (struct acc_spec){.kind = &timeline_acc_picks, .max_items = p->events};
    f->lists[TIMELINE_ITEMS] = (struct acc_spec){.kind = &timeline_acc_items};
    f->sets[TIMELINE_CELLS] = (struct group_set){
        .keys = p->keys, .width = p->width, .accs = &cells, .acc_count = 1, .add = cells_add};
    f->sets[TIMELINE_NAMES] = (struct group_set){
        .keys = p->names, .width = 2, .accs = f->lists, .acc_count = TIMELINE_LISTS};
    f->grouping = (struct grouping){.query = p->query,
                                    .budget = p->budget,
                                    .set_count = TIMELINE_SETS,
                                    .sets = f->sets,
                                    .arg = f,
                                    .apart = true,
                                    .spreads = true,
                                    .more = p->slices || p->events};
    f->chunks.budget = p->budget;
    int rc = vec_extend(&f->chunks, n);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct index_file *file = snapshot_file(query_snapshot(p->query), places[i].file);
        if (i > 0 && places[i].file != places[i - 1].file)
            before = chunk = 0;
        for (; chunk < places[i].chunk; chunk++)
            before += file->chunks[chunk].rows;
        f->chunks.at[i] =
            (struct timeline_chunk){before, INT64_MAX, TIMELINE_REST_NONE, places[i].file};
    }
    return rc;
}

int timeline_scan(const struct timeline_plan *plan, struct timeline_found *ret, struct err *err)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .chunk_plan = chunk_plan,
                                             .chunk_begin = chunk_begin,
                                             .batch = add_batch,
                                             .chunk_end = chunk_end,
                                             .put = timeline_put,
                                             .take = timeline_take};

    ret->plan = plan;
    int rc = prepare_scan(ret);
    rc = rc < 0 ? rc : timeline_scan_more(ret, &hooks, err);
    rc = rc < 0 ? rc : count_objects(ret);
    rc = rc < 0 || !plan->slices ? rc : timeline_collect_slices(ret, err);
    rc = rc < 0 ? rc : offer_unlisted(ret, err);
    if (rc == 0)
        picks_cut(timeline_list(ret->groups, TIMELINE_PICKS), plan->events);
    return rc;
}
