/* timeline.c - /timeline: the window, single objects, and the calls of dftracerd/timeline.h.
 *
 * Path: scan.c runs groups_scan() with accumulators of its own. Each selected object is added to
 * the cells of its (lane, color), one array of columns each (cells.c), and the longest objects are
 * kept (offer.c, picks.c). Where columns allow it, the cells of a chunk come from its densities
 * instead (density.c). If there are too many colors, some are joined and the scan is repeated
 * (colors.c). lanes.c orders lanes and colors and finds the color of each cell. Slices come from a
 * scan of their own (slices.h).
 */
#include "engine/derived/times.h"
#include "answer/timeline/density.h"
#include "answer/timeline/lanes.h"
#include "answer/timeline/picks.h"
#include "answer/timeline/slices.h"
#include "dftracerd/stats.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- plan ------------------------------------------------------------------------------------ */

static int plan_sources(struct timeline *t, struct query *q, const struct timeline_options *o,
                        struct err *err)
{
    struct timeline_plan *p = &t->plan;
    int rc = query_source(q, TEXT("ts"), &p->ts);

    rc = rc < 0 ? rc : query_source(q, TEXT("dur"), &p->dur);
    rc = rc < 0 ? rc : query_source(q, TEXT("name"), &p->names[0]);
    rc = rc < 0 ? rc : query_source(q, TEXT("cat"), &p->names[1]);
    for (size_t i = 0; i < o->group_by_count && rc == 0; i++) {
        rc = query_source(q, text_of(o->group_by[i]), &p->keys[i]);
        rc = rc < 0 ? rc : query_check_argument(q, p->keys[i], "group_by", err);
    }
    rc = rc < 0 ? rc : query_source(q, text_of(o->color), &p->keys[p->width - 1]);
    return rc < 0 ? rc : query_check_argument(q, p->keys[p->width - 1], "color", err);
}

/* Finds the first begin and the last end of the selection. *ret is false if no object has a ts. */
static int find_own_window(struct query *q, struct timeline_facts *f, bool *ret, struct err *err)
{
    struct stats_options options = {.report = STATS_TIME_RANGE};
    struct stats *s = NULL;
    int rc = stats_run(q, &options, err, &s);

    if (rc < 0)
        return rc;
    *ret = s->min_ts.type == VALUE_TIME && s->max_te.type == VALUE_TIME;
    if (*ret) {
        f->from_ns = clamp_ns(s->min_ts.wide);
        f->to_ns = clamp_ns(s->max_te.wide);
    }
    f->objects = s->events;
    stats_free(s);
    return 0;
}

struct sent_window {
    int64_t from_ns, to_ns;
    uint64_t objects;
    bool any;
};

/* Rank 0 may know the window from summaries, so it sends the window to the other ranks. */
static int find_window(struct query *q, struct timeline_facts *f, bool *ret, struct err *err)
{
    struct sent_window w;
    struct text message;

    if (query_rank_receive(q, &message) && message.len == sizeof w) {
        memcpy(&w, message.ptr, sizeof w);
        f->from_ns = w.from_ns;
        f->to_ns = w.to_ns;
        f->objects = w.objects;
        *ret = w.any;
        return 0;
    }
    int rc = find_own_window(q, f, ret, err);
    memset(&w, 0, sizeof w);
    if (rc == 0) {
        w.from_ns = f->from_ns;
        w.to_ns = f->to_ns;
        w.objects = f->objects;
        w.any = *ret;
        query_rank_send(q, (struct text){(const char *)&w, sizeof w});
    }
    return rc;
}

static void plan_columns(struct timeline *t, uint32_t width)
{
    struct timeline_facts *f = &t->facts;
    uint64_t span = (uint64_t)f->to_ns - (uint64_t)f->from_ns;

    f->column_ns = span / width + (width > 1 || span < UINT64_MAX);
    f->columns = (uint32_t)(span / f->column_ns) + 1;
    t->plan.from = f->from_ns;
    t->plan.to = f->to_ns;
    t->plan.step = f->column_ns;
    t->plan.columns_per_ns = 1 / (double)f->column_ns;
    if ((f->column_ns & (f->column_ns - 1)) == 0)
        t->plan.step_bits = (unsigned)__builtin_ctzll(f->column_ns);
    t->plan.columns = f->columns;
    while ((f->columns - 1) >> t->plan.block >= 64)
        t->plan.block++;
}

/* ---- single objects -------------------------------------------------------------------------- */

static int compare_picks(const void *a, const void *b)
{
    return pick_before(a, b) ? -1 : pick_before(b, a);
}

static int make_events(struct timeline *t)
{
    const struct vec *picks = timeline_list(t->found.groups, TIMELINE_PICKS);

    t->events = timeline_alloc(t, picks->count, sizeof(*t->events));
    if (!t->events)
        return t->arena.error;
    if (picks->count > 0)
        qsort(picks->at, picks->count, sizeof(struct timeline_pick), compare_picks);
    for (size_t i = 0; i < picks->count; i++) {
        const struct timeline_pick *pick = (const struct timeline_pick *)picks->at + i;
        const struct timeline_chunk *chunk = &t->found.chunks.at[pick->position];
        const uint64_t *names = timeline_keys(&t->found, TIMELINE_NAMES, pick->tuple);
        struct timeline_event *e = &t->events[i];
        e->lane = t->lane_of[pick->lane];
        e->color = t->color_of[pick->lane];
        e->ts_ns = pick->ts;
        e->has_dur = pick->dur >= 0;
        e->dur_ns = e->has_dur ? pick->dur : 0;
        query_key_value(t->plan.query, names[0], &e->name);
        query_key_value(t->plan.query, names[1], &e->cat);
        e->file = chunk->file;
        e->object = chunk->rows_before + pick->row;
    }
    t->facts.events = (uint32_t)picks->count;
    return 0;
}

/* ---- public calls ---------------------------------------------------------------------------- */

static int check_options(const struct timeline_options *o, struct err *err)
{
    if (o->group_by_count > TIMELINE_KEYS_MAX)
        return err_set_param(err, ERR_PARAM, "group_by",
                             "`group_by`: at most %d columns are allowed", TIMELINE_KEYS_MAX);
    if (o->width < 1 || o->width > TIMELINE_WIDTH_MAX)
        return err_set_param(err, ERR_PARAM, "width", "`width` must be from 1 to %d",
                             TIMELINE_WIDTH_MAX);
    if (o->colors > TIMELINE_COLORS_MAX)
        return err_set_param(err, ERR_PARAM, "colors", "`colors` must be from 1 to %d",
                             TIMELINE_COLORS_MAX);
    if (o->events > TIMELINE_EVENTS_MAX)
        return err_set_param(err, ERR_PARAM, "events", "`events` must be at most %d",
                             TIMELINE_EVENTS_MAX);
    return 0;
}

/* A scan with too many colors stops early. */
static int scan_colors(struct timeline *t, const struct timeline_options *o, struct err *err)
{
    t->plan.events = o->events;
    t->plan.colors_max = o->color_values ? 0 : o->colors;
    int rc = o->color_values ? timeline_choose_colors(t, o->color_values, o->color_value_count) : 0;

    rc = rc < 0 ? rc : timeline_scan(&t->plan, &t->found, err);
    if (rc == 0 || !t->found.crowded)
        return rc;
    timeline_found_done(&t->found);
    err_done(err);
    t->plan.colors_max = 0;
    rc = timeline_fold_colors(t, o->colors, err);
    return rc < 0 ? rc : timeline_scan(&t->plan, &t->found, err);
}

static int run_scans(struct timeline *t, const struct timeline_options *o, struct err *err)
{
    struct timeline_facts *f = &t->facts;
    bool any = o->has_window;

    f->from_ns = o->from_ns;
    f->to_ns = o->to_ns;
    int rc = any ? 0 : find_window(t->plan.query, f, &any, err);
    if (rc < 0)
        return rc;
    if (!any) { /* only objects without ts */
        f->from_ns = f->to_ns = 0;
        t->found.untimed = f->objects;
        f->objects = 0;
        f->slices_complete = true;
        return 0;
    }
    plan_columns(t, o->width);
    t->plan.slices = o->slices;
    t->plan.overlaps = !o->has_window || o->overlap;
    t->plan.density =
        t->plan.overlaps ? query_tuple_set(t->plan.query, t->plan.keys, t->plan.width) : -ENOENT;
    rc = scan_colors(t, o, err);
    rc = rc < 0 ? rc : timeline_make_lanes(t);
    rc = rc < 0 ? rc : make_events(t);
    rc = rc < 0 || !o->slices ? rc : timeline_make_slices(t);
    f->objects = t->found.objects;
    return rc;
}

int timeline_open(struct query *q, const struct timeline_options *o, struct err *err,
                  struct timeline **ret)
{
    struct timeline *t = calloc(1, sizeof(*t));
    int rc = t ? check_options(o, err) : -ENOMEM;

    if (t) {
        t->plan.query = q;
        t->plan.budget = t->arena.budget = query_budget(q);
        t->plan.width = (unsigned)o->group_by_count + 1;
        group_table_init(&t->kept, 1, 0, t->plan.budget);
    }
    rc = rc < 0 ? rc : plan_sources(t, q, o, err);
    rc = rc < 0 ? rc : run_scans(t, o, err);
    if (rc < 0) {
        timeline_close(t);
        return err_set_code(err, rc);
    }
    t->facts.untimed = t->found.untimed;
    query_counters(q, &t->facts.counters);
    t->facts.complete = query_complete(q);
    *ret = t;
    return 0;
}

const struct timeline_facts *timeline_facts(const struct timeline *t)
{
    return &t->facts;
}

const struct timeline_lane *timeline_lanes(const struct timeline *t)
{
    return t->lanes;
}

const struct timeline_color *timeline_colors(const struct timeline *t)
{
    return t->colors;
}

const struct timeline_event *timeline_events(const struct timeline *t)
{
    return t->events;
}

void timeline_close(struct timeline *t)
{
    if (!t)
        return;
    timeline_found_done(&t->found);
    group_table_done(&t->kept);
    vec_done(&t->items);
    vec_done(&t->drawn);
    arena_done(&t->arena);
    free(t);
}
