/* timeline.c - the door of /timeline: window, lanes, colors, cells. */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A group, in the order of lanes and colors. */
struct placed {
    uint32_t lane, color, group;
};
struct timeline {
    struct timeline_plan plan;
    struct timeline_found found;
    struct timeline_facts facts;
    struct timeline_lane *lanes;
    struct timeline_color *colors;
    struct timeline_event *events;
    struct placed *placed; /* sorted */
    uint32_t *lane_of;     /* by group */
    uint32_t *color_of;
    uint32_t *first_of;         /* by lane: its first in `placed`; one more at the end */
    struct timeline_cell *best; /* of the lane at hand, by column */
    size_t charged;
    struct arena arena;
};

/* ---- what is asked -------------------------------------------------------------------------------------------- */

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
        rc = rc < 0 ? rc : query_check_column(q, p->keys[i], "group_by", err);
    }
    p->width = (unsigned)o->group_by_count + 1;
    rc = rc < 0 ? rc : query_source(q, text_of(o->color), &p->keys[p->width - 1]);
    return rc < 0 ? rc : query_check_column(q, p->keys[p->width - 1], "color", err);
}

static int64_t clamp(__int128 ns)
{
    return ns < INT64_MIN ? INT64_MIN : ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* From the first begin to the last end of what is selected. False: nothing is. */
static int find_window(struct query *q, struct timeline_facts *f, bool *ret, struct err *err)
{
    struct stats_options options = {.report = STATS_TIME_RANGE};
    struct stats *s = NULL;
    int rc = stats_run(q, &options, err, &s);

    if (rc < 0)
        return rc;
    *ret = s->min_ts.type == VALUE_TIME && s->max_te.type == VALUE_TIME;
    if (*ret) {
        f->from_ns = clamp(s->min_ts.wide);
        f->to_ns = clamp(s->max_te.wide);
    }
    f->objects = s->events;
    stats_free(s);
    return 0;
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
    t->plan.columns = f->columns;
}

/* ---- lanes and colors -------------------------------------------------------------------------------------------- */

static int compare_keys(const struct value *a, const struct value *b, unsigned n)
{
    int cmp = 0;

    for (unsigned i = 0; i < n && cmp == 0; i++)
        cmp = value_cmp(&a[i], &b[i]);
    return cmp;
}

struct named {
    struct value *keys;
    unsigned width;
    uint32_t number;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return compare_keys(x->keys, y->keys, x->width);
}

static void *take(struct timeline *t, size_t count, size_t each, int *rc)
{
    size_t bytes = (count + 1) * each;

    *rc = budget_charge(t->plan.budget, bytes);
    if (*rc < 0)
        return NULL;
    t->charged += bytes;
    void *made = arena_alloc(&t->arena, bytes);
    if (made)
        memset(made, 0, bytes);
    *rc = made ? 0 : -ENOMEM;
    return made;
}

/* The groups' keys from `first` on, numbered in order: the number of each group, and the keys by number. */
static int number_keys(struct timeline *t, unsigned first, unsigned width, uint32_t *of,
                       struct named **ret, uint32_t *ret_count)
{
    struct group_table table;
    uint32_t groups = t->found.groups.count;
    uint32_t *order = NULL;
    struct named *named = NULL;
    int rc = 0;

    group_table_init(&table, width, 0, t->plan.budget);
    for (uint32_t i = 0; i < groups && rc == 0; i++) {
        int64_t n = group_table_add(&table, group_table_keys(&t->found.groups, i) + first);
        of[i] = (uint32_t)n;
        rc = n < 0 ? (int)n : 0;
    }
    named = rc < 0 ? NULL : take(t, table.count, sizeof(*named), &rc);
    order = rc < 0 ? NULL : take(t, table.count, sizeof(*order), &rc);
    for (uint32_t i = 0; i < table.count && rc == 0; i++) {
        named[i] = (struct named){.width = width, .number = i};
        named[i].keys = take(t, width, sizeof(struct value), &rc);
        for (unsigned k = 0; k < width && rc == 0; k++)
            query_key_value(t->plan.query, group_table_keys(&table, i)[k], &named[i].keys[k]);
    }
    if (rc == 0) {
        qsort(named, table.count, sizeof(*named), compare_named);
        for (uint32_t i = 0; i < table.count; i++)
            order[named[i].number] = i;
        for (uint32_t i = 0; i < groups; i++)
            of[i] = order[of[i]];
        *ret = named;
        *ret_count = table.count;
    }
    group_table_done(&table);
    return rc;
}

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->color < y->color ? -1 : x->color > y->color;
}

/* The last column may end behind the window, but nothing covers it. */
static void add_totals(struct timeline *t, const struct placed *p)
{
    const struct timeline_part *parts = t->found.cells[p->group].parts;
    struct timeline_lane *lane = &t->lanes[p->lane];
    struct timeline_color *color = &t->colors[p->color];
    uint64_t count = 0;
    int64_t cover = 0, covered = 0; /* columns */
    __int128 busy = 0;

    for (uint32_t c = 0; c < t->plan.columns; c++) {
        count += parts[c].count;
        cover += parts[c].cover;
        covered += cover;
        busy += parts[c].busy;
    }
    busy += (__int128)covered * t->plan.step;
    lane->count += count;
    color->count += count;
    lane->busy_ns += busy;
    color->busy_ns += busy;
    t->facts.busy_ns += busy;
    lane->before += parts[t->plan.columns].count;
}

static int make_lanes(struct timeline *t)
{
    uint32_t groups = t->found.groups.count, lanes = 0, colors = 0;
    struct named *lane = NULL, *color = NULL;
    int rc;

    t->lane_of = take(t, groups, sizeof(*t->lane_of), &rc);
    t->color_of = rc < 0 ? NULL : take(t, groups, sizeof(*t->color_of), &rc);
    t->placed = rc < 0 ? NULL : take(t, groups, sizeof(*t->placed), &rc);
    rc = rc < 0 ? rc : number_keys(t, 0, t->plan.width - 1, t->lane_of, &lane, &lanes);
    rc = rc < 0 ? rc : number_keys(t, t->plan.width - 1, 1, t->color_of, &color, &colors);
    t->lanes = rc < 0 ? NULL : take(t, lanes, sizeof(*t->lanes), &rc);
    t->colors = rc < 0 ? NULL : take(t, colors, sizeof(*t->colors), &rc);
    t->first_of = rc < 0 ? NULL : take(t, lanes + 1, sizeof(*t->first_of), &rc);
    t->best = rc < 0 ? NULL : take(t, t->plan.columns, sizeof(*t->best), &rc);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < lanes; i++)
        t->lanes[i].keys = lane[i].keys;
    for (uint32_t i = 0; i < colors; i++)
        t->colors[i].value = color[i].keys[0];
    for (uint32_t i = 0; i < groups; i++)
        t->placed[i] = (struct placed){t->lane_of[i], t->color_of[i], i};
    qsort(t->placed, groups, sizeof(*t->placed), compare_placed);
    for (uint32_t i = 0; i < groups; i++) {
        t->first_of[t->placed[i].lane + 1] = i + 1;
        add_totals(t, &t->placed[i]);
    }
    t->facts.lanes = lanes;
    t->facts.colors = colors;
    return 0;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* The color with most time wins; of those the one with most objects, of those the first. */
static void take_cell(struct timeline_cell *best, struct timeline_cell *sum, uint32_t color,
                      uint64_t count, __int128 busy)
{
    if (!sum->count && !sum->busy_ns)
        best->count = 0, best->busy_ns = -1;
    if (busy > best->busy_ns || (busy == best->busy_ns && count > best->count)) {
        *best = (struct timeline_cell){.count = count, .busy_ns = busy};
        sum->color = color;
    }
    sum->count += count;
    sum->busy_ns += busy;
}

size_t timeline_cells(struct timeline *t, size_t lane, struct timeline_cell *ret)
{
    size_t n = 0;

    memset(ret, 0, t->plan.columns * sizeof(*ret));
    for (uint32_t i = t->first_of[lane]; i < t->first_of[lane + 1]; i++) {
        const struct timeline_part *parts = t->found.cells[t->placed[i].group].parts;
        int64_t cover = 0;
        for (uint32_t c = 0; c < t->plan.columns; c++) {
            cover += parts[c].cover;
            if (parts[c].count || parts[c].busy || cover)
                take_cell(&t->best[c], &ret[c], t->placed[i].color, parts[c].count,
                          (__int128)cover * t->plan.step + parts[c].busy);
        }
    }
    for (uint32_t c = 0; c < t->plan.columns; c++) {
        if (!ret[c].count && !ret[c].busy_ns)
            continue;
        ret[n] = ret[c];
        ret[n++].column = c;
    }
    return n;
}

/* ---- single objects ----------------------------------------------------------------------------------------------- */

static int compare_picks(const void *a, const void *b)
{
    return pick_before(a, b) ? -1 : pick_before(b, a);
}

uint64_t timeline_object(struct query *q, uint32_t file, uint32_t chunk, uint32_t row)
{
    const struct index_file *f = snapshot_file(query_snapshot(q), file);
    uint64_t before = 0;

    for (uint32_t i = 0; i < chunk; i++)
        before += f->chunks[i].rows;
    return before + row;
}

static int make_events(struct timeline *t)
{
    struct timeline_picks *p = &t->found.picks;
    int rc;

    t->events = take(t, p->count, sizeof(*t->events), &rc);
    if (rc < 0)
        return rc;
    qsort(p->picks, p->count, sizeof(*p->picks), compare_picks);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct timeline_pick *pick = &p->picks[i];
        const uint64_t *names = group_table_keys(&t->found.tuples, pick->tuple);
        struct timeline_event *e = &t->events[i];
        e->lane = t->lane_of[pick->group];
        e->color = t->color_of[pick->group];
        e->ts_ns = pick->ts;
        e->has_dur = pick->dur >= 0;
        e->dur_ns = e->has_dur ? pick->dur : 0;
        query_key_value(t->plan.query, names[0], &e->name);
        query_key_value(t->plan.query, names[1], &e->cat);
        e->file = pick->file;
        e->object = timeline_object(t->plan.query, pick->file, pick->chunk, pick->row);
    }
    t->facts.events = p->count;
    return 0;
}

/* ---- the door ------------------------------------------------------------------------------------------------------ */

static int check_options(const struct timeline_options *o, struct err *err)
{
    if (o->group_by_count > TIMELINE_KEYS_MAX)
        return err_set_param(err, ERR_PARAM, "group_by", "`group_by` takes at most %d columns",
                             TIMELINE_KEYS_MAX);
    if (o->width < 1 || o->width > TIMELINE_WIDTH_MAX)
        return err_set_param(err, ERR_PARAM, "width", "`width` is from 1 to %d",
                             TIMELINE_WIDTH_MAX);
    if (o->events > TIMELINE_EVENTS_MAX)
        return err_set_param(err, ERR_PARAM, "events", "`events` is at most %d",
                             TIMELINE_EVENTS_MAX);
    return 0;
}

static int run(struct timeline *t, const struct timeline_options *o, struct err *err)
{
    struct timeline_facts *f = &t->facts;
    bool any = o->has_window;

    f->from_ns = o->from_ns;
    f->to_ns = o->to_ns;
    int rc = any ? 0 : find_window(t->plan.query, f, &any, err);
    if (rc < 0)
        return rc;
    if (!any) { /* objects without ts */
        f->from_ns = f->to_ns = 0;
        t->found.untimed = f->objects;
        f->objects = 0;
        return 0;
    }
    plan_columns(t, o->width);
    rc = timeline_scan(&t->plan, o->events, &t->found, err);
    rc = rc < 0 ? rc : make_lanes(t);
    rc = rc < 0 ? rc : make_events(t);
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
        t->plan.budget = query_budget(q);
        group_table_init(&t->found.groups, (unsigned)o->group_by_count + 1, 0, t->plan.budget);
        group_table_init(&t->found.tuples, 2, 0, t->plan.budget);
    }
    rc = rc < 0 ? rc : plan_sources(t, q, o, err);
    rc = rc < 0 ? rc : run(t, o, err);
    if (rc < 0) {
        timeline_close(t);
        return err_set(err, rc, "%s", err_text(rc));
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
    group_table_done(&t->found.groups);
    group_table_done(&t->found.tuples);
    timeline_found_done(&t->found, &t->plan);
    budget_release(t->plan.budget, t->charged);
    arena_done(&t->arena);
    free(t);
}
