/* timeline.c - /timeline: an overview of a window of time, by lanes and columns. */
#include "dftracerd/timeline.h"

#include "http/endpoints/endpoints.h"
#include "http/request/color_values.h"
#include "http/request/selection.h"

#include <stdlib.h>

#define OPTIONS struct timeline_options
static const struct param_spec own_params[] = {
    PARAM("width", UINT, "number of columns that the window is divided into, at most 8192",
          .fallback = "1000", BIND(width)),
    PARAM("group_by", LIST, "columns that define the lanes, comma-separated; default host,pid,tid",
          .example = "['host','pid','tid']", BIND_LIST(group_by, group_by_count)),
    PARAM("color", TEXT, "column that determines the color of an object", .fallback = "cat",
          BIND(color)),
    PARAM("colors", UINT,
          "maximum number of values of the column `color` that get their own color, at most 4096; "
          "if there are more, numbers are binned by powers of two; of other values, only the most "
          "frequent get one",
          .fallback = "256", BIND(colors)),
    PARAM("color_values", JSON,
          "JSON array of the values of the column `color` that get their own color; all others "
          "share one; at most 4096 strings, numbers or booleans",
          .example = "'[\\'read\\',\\'write\\']'"),
    PARAM("events", UINT, "number of longest objects listed individually (max 50000)",
          .fallback = "1000", BIND(events)),
    PARAM("slices", BOOL,
          "whether lanes have `slices`: by depth, the longest object of each column",
          .fallback = "false", BIND(slices)),
    SELECTION_PARAMS("", "true", "overlap", "data"),
    {0},
};
#undef OPTIONS

/* A cell, and the number of equal columns that begin with it. */
struct run {
    struct timeline_cell cell;
    uint32_t columns;
};
struct cells {
    struct run *runs;
    size_t count;
    bool joined; /* a run may have several columns */
};
struct slices { /* slices of one depth of a lane: those before `end` */
    struct timeline_slice *at;
    size_t count, end;
};
struct lane { /* the current lane */
    struct timeline *timeline;
    struct timeline_lane sums;
    size_t number, key_count, slice_count;
    struct cells cells, rest;
    bool has_slices, has_rest;
    struct slices *slices;
};
struct event {
    struct timeline_event event;
    const char *file;
};

struct state {
    struct timeline *timeline;
    struct timeline_facts facts;
    bool has_window, slices, events_complete;
    __int128 column_ns, slices_min_ns;
    const char *const *group_by;
    size_t group_by_count;
    const char *color;
    const struct timeline_color *colors;
    size_t first, lane_count; /* the lanes to be written */
    const struct timeline_name *names;
    const char **files;
    const struct snapshot *snapshot;
    struct timeline_cell *cells; /* cells of the current lane */
    struct lane *lane;
    struct event *event;
    struct document document;
};

/* ---- lanes ----------------------------------------------------------------------------------- */

#define OBJECT struct cells
static const struct member cells_members[] = {
    MEMBER_COLUMN("slot", runs, count, cell.column),
    MEMBER_COLUMN("count", runs, count, cell.count,
                  .help = "objects that begin in the slot; in the first slot also those that began "
                          "before"),
    MEMBER_COLUMN("busy", runs, count, cell.busy_ns, .unit = UNIT_US),
    MEMBER_COLUMN("color", runs, count, cell.color,
                  .help = "the colour with the most `busy`, then the largest `count`"),
    MEMBER_COLUMN("slots", runs, count, columns, .when = WHEN(joined), .optional = true,
                  .help = "number of consecutive slots with equal values that the entry describes, "
                          "beginning with `slot`; if absent, 1"),
};
static const struct object_type cells_type = {
    "TimelineCells", MEMBERS(cells_members),
    .help = "columns of numbers, one for each slot that is not empty, or for a run of slots with "
            "equal values"};
#undef OBJECT

#define OBJECT struct slices
static const struct member slices_members[] = {
    MEMBER_COLUMN("slot", at, count, column, .help = "the first slot in which it is the longest"),
    MEMBER_COLUMN("start", at, count, start_ns, .unit = UNIT_US,
                  .help = "after `from`; negative if it began before"),
    MEMBER_COLUMN("dur", at, count, dur_ns, .unit = UNIT_US, .help = "0 if it has none"),
    MEMBER_COLUMN("color", at, count, color, .help = "number in `colors`"),
    MEMBER_COLUMN("name", at, count, name, .help = "number in `slice_names`"),
    MEMBER_COLUMN("file", at, count, file, .help = "number in `slice_files`"),
    MEMBER_COLUMN("object", at, count, object, .help = "number in the file"),
    MEMBER_COLUMN(
        "others", at, count, others,
        .help = "number of shorter objects of that depth that begin in the slots of the slice "
                "and are not listed"),
};
static const struct object_type slices_type = {"TimelineSlices", MEMBERS(slices_members),
                                               .help = "columns of numbers, one for each slice"};
#undef OBJECT

static bool repeats(const struct timeline_cell *a, const struct timeline_cell *b, uint32_t distance)
{
    return b->column == a->column + distance && b->count == a->count && b->busy_ns == a->busy_ns &&
           b->color == a->color;
}

static void join_cells(const struct timeline_cell *cells, size_t n, struct cells *to)
{
    to->count = 0;
    for (size_t i = 0; i < n; to->count++) {
        struct run *run = &to->runs[to->count];
        *run = (struct run){.cell = cells[i], .columns = 1};
        while (++i < n && repeats(&run->cell, &cells[i], run->columns))
            run->columns++;
    }
    to->joined = to->count < n;
}

static const void *lane_at(const void *object, size_t i)
{
    const struct state *s = object;
    struct lane *l = s->lane;
    l->number = s->first + i;
    l->sums = timeline_lanes(s->timeline)[l->number];
    join_cells(s->cells, timeline_cells(s->timeline, l->number, s->cells), &l->cells);
    if (l->has_rest)
        join_cells(s->cells, timeline_rest(s->timeline, l->number, s->cells), &l->rest);
    l->slice_count = timeline_slice_count(s->timeline, l->number);
    l->slices->end = 0;
    return l;
}

/* Returns the slices of a depth as an object, when its first one is written. */
static const void *slices_at(const void *object, size_t i)
{
    const struct lane *l = object;
    struct slices *s = l->slices;
    if (i < s->end)
        return NULL;
    for (s->count = 0; s->end < l->slice_count; s->end++, s->count++) {
        timeline_slice(l->timeline, l->number, s->end, &s->at[s->count]);
        if (s->at[s->count].depth != s->at[0].depth)
            break;
    }
    return s;
}

#define OBJECT struct lane
static const struct member lane_members[] = {
    MEMBER_VALUES("keys", sums.keys, key_count, .help = "values of the columns of `group_by`"),
    MEMBER("count", sums.count),
    MEMBER("before", sums.before, .help = "those of `count` that began before the window"),
    MEMBER("busy", sums.busy_ns, .unit = UNIT_US),
    MEMBER_IN("cells", cells, &cells_type),
    MEMBER_IN("rest", rest, &cells_type, .when = WHEN(has_rest), .optional = true,
              .help = "if not `slices_complete`: cells of the objects that are shorter than "
                      "`slices_min_dur`"),
    MEMBER_ITEMS("slices", slice_count, &slices_type, slices_at, .when = WHEN(has_slices),
                 .optional = true, .help = "with `slices=true`: those of each depth"),
};
static const struct object_type lane_type = {NULL, MEMBERS(lane_members)};
#undef OBJECT

/* ---- the other lists ------------------------------------------------------------------------- */

static struct value others(const void *object)
{
    const struct timeline_color *c = object;
    return (struct value){.type = c->others ? VALUE_UINT : VALUE_NULL, .u = c->others};
}

#define OBJECT struct timeline_color
static const struct member color_members[] = {
    MEMBER("value", value),
    MEMBER("below", below, .type = VALUE_DOUBLE, .when = WHEN(is_bin), .optional = true,
           .help = "the colour has the values from `value` to below this"),
    MEMBER_COMPUTED("others", VALUE_UINT, others, .when = WHEN(is_others), .optional = true,
                    .help = "number of values that share the colour; null: not counted"),
    MEMBER("count", count),
    MEMBER("busy", busy_ns, .unit = UNIT_US),
};
static const struct object_type color_type = {NULL, MEMBERS(color_members)};
#undef OBJECT

#define OBJECT struct timeline_name
static const struct member name_members[] = {MEMBER("name", name), MEMBER("cat", cat)};
static const struct object_type name_type = {
    NULL, MEMBERS(name_members), .values = true,
    .schema = "{'type':'array','minItems':2,'maxItems':2,'items':{'type':['string','null']},"
              "'description':'name, cat'}"};
#undef OBJECT

/* Returns the event if its lane is written. */
static const void *event_at(const void *object, size_t i)
{
    const struct state *s = object;
    const struct timeline_event *e = &timeline_events(s->timeline)[i];
    if (e->lane < s->first || e->lane - s->first >= s->lane_count)
        return NULL;
    *s->event = (struct event){*e, snapshot_file(s->snapshot, e->file)->name};
    return s->event;
}

#define OBJECT struct event
static const struct member event_members[] = {
    MEMBER("lane", event.lane, .help = "number in all lanes, from 0"),
    MEMBER("color", event.color, .help = "number in `colors`"),
    MEMBER("ts", event.ts_ns, .unit = UNIT_US),
    MEMBER("dur", event.dur_ns, .when = WHEN(event.has_dur), .unit = UNIT_US),
    MEMBER("name", event.name, .type = VALUE_TEXT),
    MEMBER("cat", event.cat, .type = VALUE_TEXT),
    MEMBER("file", file),
    MEMBER("object", event.object, .help = "number in the file"),
};
static const struct object_type event_type = {NULL, MEMBERS(event_members)};
#undef OBJECT

/* ---- the document ---------------------------------------------------------------------------- */

#define OBJECT struct state
static const struct member members[] = {
    MEMBERS_QUERY(facts.counters, facts.complete),
    MEMBER_NS("from", facts.from_ns, .when = WHEN(has_window), .unit = UNIT_US,
              .help = "the window, both ends included; null if nothing is selected"),
    MEMBER_NS("to", facts.to_ns, .when = WHEN(has_window), .unit = UNIT_US,
              .help = "the window, both ends included; null if nothing is selected"),
    MEMBER("column", column_ns, .when = WHEN(has_window), .unit = UNIT_US,
           .help = "length of a slot; slot i begins at `from` + i * `column`"),
    MEMBER("columns", facts.columns, .help = "number of slots"),
    MEMBER("count", facts.objects, .help = "objects in the window"),
    MEMBER("busy", facts.busy_ns, .unit = UNIT_US,
           .help = "sum of the time that these objects take in the window"),
    MEMBER("untimed", facts.untimed, .help = "selected objects without `ts`; they are in no lane"),
    MEMBER_VALUES("group_by", group_by, group_by_count),
    MEMBER("color", color, .help = "column that gives the colour"),
    MEMBER_OBJECTS("colors", colors, facts.colors, &color_type, .help = "the values of `color`"),
    MEMBER("slices_complete", facts.slices_complete, .when = WHEN(slices), .optional = true,
           .help = "`true`: each object of the window is in `slices`, or one of the `others`; "
                   "`false`: those of at least `slices_min_dur` are"),
    MEMBER("slices_min_dur", slices_min_ns, .when = WHEN(slices), .optional = true, .unit = UNIT_US,
           .help = "0 if `slices_complete`"),
    MEMBER("lanes_total", facts.lanes, .help = "number of lanes"),
    MEMBER("lanes_offset", first, .help = "number of lanes before the first one of `lanes`"),
    MEMBER_ITEMS("lanes", lane_count, &lane_type, lane_at, .help = "in the order of their `keys`"),
    MEMBER_OBJECTS("slice_names", names, facts.names, &name_type, .when = WHEN(slices),
                   .optional = true, .help = "`[name, cat]`"),
    MEMBER_VALUES("slice_files", files, facts.slice_files, .when = WHEN(slices), .optional = true,
                  .help = "paths"),
    MEMBER("events_complete", events_complete, .help = "whether `events` has all objects"),
    MEMBER_ITEMS("events", facts.events, &event_type, event_at,
                 .help = "the longest objects, not cut at the window"),
};
static const struct object_type timeline_type = {"Timeline", MEMBERS(members)};
#undef OBJECT

/* ---- the request ----------------------------------------------------------------------------- */

static void read_options(struct request *rq, struct timeline_options *o)
{
    static const char *const thread[] = {"host", "pid", "tid"};
    const struct selection *chosen = &rq->chosen;
    if (!request_param(rq, "group_by")->set) {
        o->group_by = thread;
        o->group_by_count = 3;
    }
    if (o->colors == 0) /* 0 would mean all of them */
        o->colors = UINT32_MAX;
    o->has_window = chosen->has_time_range;
    o->overlap = chosen->overlap;
    o->from_ns = chosen->time_from_ns;
    o->to_ns = chosen->time_to_ns;
}

static int make_lane(struct request *rq, struct state *s)
{
    const struct timeline_facts *f = &s->facts;
    struct lane *l = s->lane = arena_alloc(&rq->arena, sizeof(*l));
    struct slices *slices = arena_alloc(&rq->arena, sizeof(*slices));
    s->cells = arena_alloc(&rq->arena, (f->columns + 1) * sizeof(*s->cells));
    s->event = arena_alloc(&rq->arena, sizeof(*s->event));
    s->files = arena_alloc(&rq->arena, (f->slice_files + 1) * sizeof(*s->files));
    if (rq->arena.error)
        return rq->arena.error;
    *l = (struct lane){.timeline = s->timeline,
                       .key_count = s->group_by_count,
                       .has_slices = s->slices,
                       .has_rest = s->slices && !f->slices_complete,
                       .slices = slices};
    l->cells.runs = arena_alloc(&rq->arena, (f->columns + 1) * sizeof(*l->cells.runs));
    l->rest.runs = arena_alloc(&rq->arena, (f->columns + 1) * sizeof(*l->rest.runs));
    slices->at = arena_alloc(&rq->arena, (f->max_slices + 1) * sizeof(*slices->at));
    return rq->arena.error;
}

static int fill_state(struct request *rq, struct state *s)
{
    const struct timeline_facts *f = timeline_facts(s->timeline);
    uint64_t limit = request_limit(rq), offset = request_uint(rq, "offset");
    s->facts = *f;
    s->has_window = f->columns > 0;
    s->events_complete = f->events == f->objects;
    s->column_ns = f->column_ns;
    s->slices_min_ns = f->slices_min_ns;
    s->colors = timeline_colors(s->timeline);
    s->names = timeline_names(s->timeline);
    s->snapshot = rq->snapshot;
    s->first = offset < f->lanes ? (size_t)offset : f->lanes;
    s->lane_count = f->lanes - s->first;
    if (limit < s->lane_count)
        s->lane_count = (size_t)limit;
    int rc = make_lane(rq, s);
    for (size_t i = 0; rc == 0 && i < f->slice_files; i++)
        s->files[i] = snapshot_file(rq->snapshot, timeline_files(s->timeline)[i])->name;
    return rc;
}

static int open_timeline(struct request *rq)
{
    struct state *s = rq->state;
    struct timeline_options *o = rq->options;
    read_options(rq, o);
    s->group_by = o->group_by;
    s->group_by_count = o->group_by_count;
    s->color = o->color;
    s->slices = o->slices;
    int rc = color_values_read(rq, o);
    rc = rc < 0 ? rc : timeline_open(rq->query, o, &rq->err, &s->timeline);
    rc = rc < 0 ? rc : fill_state(rq, s);
    if (rc == 0)
        document_begin(&s->document, &timeline_type, s, rq->pretty);
    return rc;
}

static int next_timeline(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return document_next(&s->document, out);
}

static void close_timeline(struct request *rq)
{
    struct state *s = rq->state;
    timeline_close(s->timeline);
}

const struct endpoint endpoint_timeline = {
    .path = "/timeline",
    .summary = "data to draw a time window: lanes divided into columns, and the longest events",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &timeline_type,
    PARAMS(own_params, page_params, answer_params),
    FORMATS(FORMAT_JSON),
    .options_size = sizeof(struct timeline_options),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_timeline,
    .next = next_timeline,
    .close = close_timeline,
};
