/* timeline.c - /timeline: what a window of time looks like, lane by lane and column by
 * column. */
#include "dftracerd/timeline.h"

#include "http/endpoints/endpoints.h"
#include "http/request/color_values.h"
#include "http/request/selection.h"

#include <stdlib.h>

static const enum format formats[] = {FORMAT_JSON};

static const struct param_spec own_params[] = {
    {"width", PARAM_UINT, false, "1000", NULL,
     "number of columns that the window is divided into, at most 8192"},
    {"group_by", PARAM_LIST, false, NULL, NULL,
     "columns that define the lanes, comma-separated; default host,pid,tid", false,
     "['host','pid','tid']"},
    {"color", PARAM_TEXT, false, "cat", NULL, "column that determines the color of an object"},
    {"colors", PARAM_UINT, false, "256", NULL,
     "maximum number of values of the column `color` that get their own color, at most 4096; if "
     "there are more, numbers are binned by powers of two; of other values, only the most "
     "frequent get one"},
    {"color_values", PARAM_JSON, false, NULL, NULL,
     "JSON array of the values of the column `color` that get their own color; all others share "
     "one; at most 4096 strings, numbers or booleans",
     false, "'[\\'read\\',\\'write\\']'"},
    {"events", PARAM_UINT, false, "1000", NULL,
     "number of longest objects listed individually (max 50000)"},
    {"slices", PARAM_BOOL, false, "false", NULL,
     "whether lanes have `slices`: by depth, the longest object of each column"},
    SELECTION_PARAMS("", "true", "overlap", "data"),
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, page_params, answer_params, NULL};

/* A cell, and the number of columns from there on that are equal. */
struct run {
    struct timeline_cell cell;
    uint32_t columns;
};

struct state {
    struct query *query;
    struct timeline *timeline;
    const char *const *group_by;
    size_t group_by_count;
    struct timeline_cell *cells; /* of a lane */
    struct run *runs;
    struct timeline_slice *drawn; /* of a lane and depth */
    struct jw j;
    size_t lane, first, end; /* lanes to be told: from first to end */
    enum part { HEAD, LANES, NAMES, FILES, REST } part;
    bool slices, in_lane;
    size_t item; /* the next slice of the lane, name or file */
};

enum { ITEMS_A_STEP = 4096 };

static void read_lanes(const struct request *rq, struct state *s)
{
    static const char *const thread[] = {"host", "pid", "tid"};
    const struct param *p = request_param(rq, "group_by");

    s->group_by = p->set ? (const char *const *)p->items : thread;
    s->group_by_count = p->set ? p->count : 3;
}

static void read_options(const struct request *rq, const struct selection *chosen,
                         struct timeline_options *o)
{
    const struct state *s = rq->state;
    uint64_t width = request_uint(rq, "width"), events = request_uint(rq, "events");
    uint64_t colors = request_uint(rq, "colors");

    *o =
        (struct timeline_options){.group_by = s->group_by,
                                  .group_by_count = s->group_by_count,
                                  .color = request_text(rq, "color"),
                                  .colors = colors - 1 < UINT32_MAX ? (uint32_t)colors : UINT32_MAX,
                                  .has_window = chosen->has_time_range,
                                  .overlap = chosen->overlap,
                                  .from_ns = chosen->time_from_ns,
                                  .to_ns = chosen->time_to_ns,
                                  .width = width > UINT32_MAX ? UINT32_MAX : (uint32_t)width,
                                  .slices = s->slices,
                                  .events = events > UINT32_MAX ? UINT32_MAX : (uint32_t)events};
}

static int choose_lanes(struct request *rq, struct state *s)
{
    const struct timeline_facts *f = timeline_facts(s->timeline);
    const struct param *limit = request_param(rq, "limit");
    uint64_t offset = request_uint(rq, "offset");

    s->first = s->lane = offset < f->lanes ? (size_t)offset : f->lanes;
    s->end = limit->set && limit->number < f->lanes - s->lane ? s->lane + (size_t)limit->number
                                                              : f->lanes;
    s->cells = arena_alloc(&rq->arena, (f->columns + 1) * sizeof(*s->cells));
    s->runs = arena_alloc(&rq->arena, (f->columns + 1) * sizeof(*s->runs));
    s->drawn = arena_alloc(&rq->arena, (f->slices_most + 1) * sizeof(*s->drawn));
    return rq->arena.error;
}

static int open_timeline(struct request *rq)
{
    struct state *s = rq->state;
    struct timeline_options o;
    struct selection chosen;

    read_lanes(rq, s);
    s->slices = request_flag(rq, "slices");
    int rc = selection_read(rq, &chosen);
    if (rc < 0)
        return rc;
    read_options(rq, &chosen, &o);
    rc = color_values_read(rq, &o);
    rc = rc < 0 ? rc : selection_open(rq, &chosen, &s->query);
    rc = rc < 0 ? rc : timeline_open(s->query, &o, &rq->err, &s->timeline);
    return rc < 0 ? rc : choose_lanes(rq, s);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_time(struct jw *j, const char *key, __int128 ns)
{
    jw_key(j, key);
    jw_time_ns(j, ns);
}

static void write_colors(const struct state *s, struct jw *j)
{
    const struct timeline_color *colors = timeline_colors(s->timeline);

    jw_key(j, "colors");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < timeline_facts(s->timeline)->colors; i++) {
        jw_begin(j, '{');
        jw_put_value(j, "value", &colors[i].value);
        if (colors[i].is_bin)
            jw_put_value(j, "below", &colors[i].below);
        if (colors[i].is_others) {
            jw_key(j, "others");
            if (colors[i].others)
                jw_uint(j, colors[i].others);
            else
                jw_null(j);
        }
        jw_put_uint(j, "count", colors[i].count);
        put_time(j, "busy", colors[i].busy_ns);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void write_window(const struct timeline_facts *f, struct jw *j)
{
    static const char *const names[] = {"from", "to", "column"};
    const __int128 times[] = {f->from_ns, f->to_ns, f->column_ns};

    for (unsigned i = 0; i < 3; i++) {
        jw_key(j, names[i]);
        if (f->columns)
            jw_time_ns(j, times[i]);
        else
            jw_null(j);
    }
    jw_put_uint(j, "columns", f->columns);
}

static void write_head(struct request *rq, const struct state *s, struct jw *j)
{
    const struct timeline_facts *f = timeline_facts(s->timeline);

    jw_put_uint(j, "generation", f->counters.generation);
    jw_put_bool(j, "complete", f->complete);
    jw_put_uint(j, "files", f->counters.files);
    jw_put_uint(j, "damaged_files", f->counters.damaged_files);
    write_window(f, j);
    jw_put_uint(j, "count", f->objects);
    put_time(j, "busy", f->busy_ns);
    jw_put_uint(j, "untimed", f->untimed);
    jw_key(j, "group_by");
    jw_begin(j, '[');
    for (size_t i = 0; i < s->group_by_count; i++)
        jw_str(j, s->group_by[i]);
    jw_end(j, ']');
    jw_put_str(j, "color", request_text(rq, "color"));
    write_colors(s, j);
    if (s->slices) {
        jw_put_bool(j, "slices_complete", f->slices_complete);
        put_time(j, "slices_min_dur", f->slices_least_ns);
    }
    jw_put_uint(j, "lanes_total", f->lanes);
    jw_put_uint(j, "lanes_offset", s->first);
}

static bool repeats(const struct timeline_cell *a, const struct timeline_cell *b, uint32_t distance)
{
    return b->column == a->column + distance && b->count == a->count && b->busy_ns == a->busy_ns &&
           b->color == a->color;
}

/* s->runs of the n cells; how many. */
static size_t join_cells(struct state *s, size_t n)
{
    size_t runs = 0;

    for (size_t i = 0; i < n; runs++) {
        struct run *run = &s->runs[runs];
        *run = (struct run){.cell = s->cells[i], .columns = 1};
        while (++i < n && repeats(&run->cell, &s->cells[i], run->columns))
            run->columns++;
    }
    return runs;
}

static void write_cells(const char *key, struct state *s, size_t n, struct jw *j)
{
    static const struct jw_column columns[] = {
        {"slot", offsetof(struct run, cell.column), JW_UINT32},
        {"count", offsetof(struct run, cell.count), JW_UINT64},
        {"busy", offsetof(struct run, cell.busy_ns), JW_NS},
        {"color", offsetof(struct run, cell.color), JW_UINT32},
        {"slots", offsetof(struct run, columns), JW_UINT32}, /* the last: without runs left out */
    };
    size_t runs = join_cells(s, n), count = sizeof(columns) / sizeof(*columns);

    jw_key(j, key);
    jw_columns(j, columns, runs < n ? count : count - 1, s->runs, sizeof(*s->runs), runs);
}

/* Of one depth. False: there are no more. */
static bool write_slices(struct state *s, struct jw *j)
{
    static const struct jw_column columns[] = {
        {"slot", offsetof(struct timeline_slice, column), JW_UINT32},
        {"start", offsetof(struct timeline_slice, start_ns), JW_NS},
        {"dur", offsetof(struct timeline_slice, dur_ns), JW_NS},
        {"color", offsetof(struct timeline_slice, color), JW_UINT32},
        {"name", offsetof(struct timeline_slice, name), JW_UINT32},
        {"file", offsetof(struct timeline_slice, file), JW_UINT32},
        {"object", offsetof(struct timeline_slice, object), JW_UINT64},
        {"others", offsetof(struct timeline_slice, others), JW_UINT32},
    };
    size_t all = timeline_slice_count(s->timeline, s->lane), n = 0;

    for (; s->item < all; s->item++, n++) {
        timeline_slice(s->timeline, s->lane, s->item, &s->drawn[n]);
        if (s->drawn[n].depth != s->drawn[0].depth)
            break;
    }
    if (n > 0)
        jw_columns(j, columns, sizeof(columns) / sizeof(*columns), s->drawn, sizeof(*s->drawn), n);
    return s->item < all;
}

static void begin_lane(struct state *s, struct jw *j)
{
    const struct timeline_lane *lane = &timeline_lanes(s->timeline)[s->lane];

    jw_begin(j, '{');
    jw_key(j, "keys");
    jw_begin(j, '[');
    for (size_t i = 0; i < s->group_by_count; i++)
        jw_value(j, &lane->keys[i]);
    jw_end(j, ']');
    jw_put_uint(j, "count", lane->count);
    jw_put_uint(j, "before", lane->before);
    put_time(j, "busy", lane->busy_ns);
    write_cells("cells", s, timeline_cells(s->timeline, s->lane, s->cells), j);
    if (s->slices && !timeline_facts(s->timeline)->slices_complete)
        write_cells("rest", s, timeline_rest(s->timeline, s->lane, s->cells), j);
    if (s->slices) {
        jw_key(j, "slices");
        jw_begin(j, '[');
    }
    s->in_lane = true;
    s->item = 0;
}

/* A part of it, if it has many slices. */
static void write_lane(struct state *s, struct jw *j)
{
    if (!s->in_lane)
        begin_lane(s, j);
    if (s->slices && write_slices(s, j))
        return;
    if (s->slices)
        jw_end(j, ']');
    jw_end(j, '}');
    s->in_lane = false;
    s->lane++;
}

static void write_name(const struct state *s, struct jw *j)
{
    const struct timeline_name *name = &timeline_names(s->timeline)[s->item];

    jw_begin(j, '[');
    jw_value(j, &name->name);
    jw_value(j, &name->cat);
    jw_end(j, ']');
}

/* Of names or files. False: there are more. */
static bool write_table(const struct request *rq, struct state *s, struct jw *j)
{
    const struct timeline_facts *f = timeline_facts(s->timeline);
    size_t n = s->part == NAMES ? f->names : f->slice_files, end = s->item + ITEMS_A_STEP;

    if (s->item == 0) {
        jw_key(j, s->part == NAMES ? "slice_names" : "slice_files");
        jw_begin(j, '[');
    }
    for (; s->item < n && s->item < end; s->item++) {
        if (s->part == NAMES)
            write_name(s, j);
        else
            jw_str(j, snapshot_file(rq->snapshot, timeline_files(s->timeline)[s->item])->name);
    }
    if (s->item < n)
        return false;
    jw_end(j, ']');
    return true;
}

static void write_event(const struct request *rq, const struct timeline_event *e, struct jw *j)
{
    jw_begin(j, '{');
    jw_put_uint(j, "lane", e->lane);
    jw_put_uint(j, "color", e->color);
    put_time(j, "ts", e->ts_ns);
    jw_key(j, "dur");
    if (e->has_dur)
        jw_time_ns(j, e->dur_ns);
    else
        jw_null(j);
    jw_put_value(j, "name", &e->name);
    jw_put_value(j, "cat", &e->cat);
    jw_put_str(j, "file", snapshot_file(rq->snapshot, e->file)->name);
    jw_put_uint(j, "object", e->object);
    jw_end(j, '}');
}

/* Those in the lanes that are told. */
static void write_events(const struct request *rq, const struct state *s, struct jw *j)
{
    const struct timeline_facts *f = timeline_facts(s->timeline);
    const struct timeline_event *events = timeline_events(s->timeline);

    jw_put_bool(j, "events_complete", f->events == f->objects);
    jw_key(j, "events");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < f->events; i++)
        if (events[i].lane >= s->first && events[i].lane < s->end)
            write_event(rq, &events[i], j);
    jw_end(j, ']');
}

static void begin_part(struct state *s, enum part part)
{
    s->part = part;
    s->item = 0;
}

static void write_lanes(struct state *s, struct jw *j)
{
    if (s->lane < s->end) {
        write_lane(s, j);
        return;
    }
    jw_end(j, ']');
    begin_part(s, s->slices ? NAMES : REST);
}

/* The head, then a lane a time or a part of one, then the rest. */
static int next_timeline(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;

    s->j.out = out;
    switch (s->part) {
    case HEAD:
        jw_init(&s->j, out, rq->pretty);
        jw_begin(&s->j, '{');
        write_head(rq, s, &s->j);
        jw_key(&s->j, "lanes");
        jw_begin(&s->j, '[');
        begin_part(s, LANES);
        return 0;
    case LANES:
        write_lanes(s, &s->j);
        return 0;
    case NAMES:
    case FILES:
        if (write_table(rq, s, &s->j))
            begin_part(s, s->part + 1);
        return 0;
    case REST:
        break;
    }
    write_events(rq, s, &s->j);
    jw_end(&s->j, '}');
    jw_finish(&s->j);
    return ERR_END;
}

static void close_timeline(struct request *rq)
{
    struct state *s = rq->state;

    timeline_close(s->timeline);
    query_close(s->query);
}

const struct endpoint endpoint_timeline = {
    .path = "/timeline",
    .summary = "data to draw a time window: lanes divided into columns, and the longest events",
    .methods = METHOD_GET | METHOD_POST,
    .params = params,
    .formats = formats,
    .format_count = 1,
    .state_size = sizeof(struct state),
    .open = open_timeline,
    .next = next_timeline,
    .close = close_timeline,
};
