/* event.c - /event: one object with its columns and its line, and its neighbours in its thread. */
#include "dftracerd/aggregate.h"
#include "dftracerd/find.h"
#include "dftracerd/rows.h"
#include "dftracerd/timeline.h"
#include "dftracerd/view.h"

#include "http/endpoints/endpoints.h"
#include "http/exchange/steps.h"
#include "http/request/query_text.h"
#include "http/request/selection.h"

#include <stdio.h>
#include <string.h>

enum { CALLERS_MAX = 256 };

static const struct param_spec own_params[] = {
    PARAM("file", TEXT, "path of the trace file", .required = true, .example = "'rank_0.pfw.gz'",
          .example_with = "{'object':12}"),
    PARAM("object", UINT,
          "number of objects before the event in the file, as returned by /timeline",
          .example = "12", .not_with = "id"),
    PARAM("id", INT, "instead of object: first event in the file with this id", .example = "12"),
    {0},
};

/* Columns of the row that is read: the thread and the times, by which its neighbours are found,
 * then the other columns of the table. */
enum { COLUMN_HOST, COLUMN_PID, COLUMN_TID, COLUMN_TS, COLUMN_TE, FIRST_COLUMNS };
static const char *const first_columns[FIRST_COLUMNS] = {"host", "pid", "tid", "ts", "te"};

/* Kinds of neighbours; each is read as a timeline with one column. */
enum { CALLERS, PREVIOUS, NEXT, NEAR_KINDS };
struct near_event {
    struct timeline_event e;
    const char *file;
};
struct state {
    struct query *query, *near_queries[NEAR_KINDS];
    const char **columns;
    size_t column_count;
    struct rows *rows;
    const struct value *values;
    struct view *view;
    struct buf line, text;
    struct timeline *near_timelines[NEAR_KINDS];
    uint64_t generation, callers_total;
    struct value event;                  /* the line without its line end */
    struct near_event *near[NEAR_KINDS]; /* NULL: none */
    uint32_t near_count[NEAR_KINDS];
};

/* ---- members --------------------------------------------------------------------------------- */

static void write_columns(struct jw *j, const void *object)
{
    const struct state *s = object;
    jw_begin(j, '{');
    for (size_t i = 0; i < s->column_count; i++)
        jw_put_value(j, s->columns[i], &s->values[i]);
    jw_end(j, '}');
}

#define OBJECT struct near_event
static const struct member near_members[] = {
    MEMBER("ts", e.ts_ns),
    MEMBER("dur", e.dur_ns, .when = WHEN(e.has_dur)),
    MEMBER("name", e.name, .type = VALUE_TEXT),
    MEMBER("cat", e.cat, .type = VALUE_TEXT),
    MEMBER("file", file),
    MEMBER("object", e.object, .help = "number in the file"),
};
static const struct object_type near_type = {"NearEvent", MEMBERS(near_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member members[] = {
    MEMBER("generation", generation, .help = "generation of the index"),
    MEMBER_WRITTEN("columns", write_columns, "{'$ref':'#/components/schemas/Columns'}",
                   .help = "its columns as queries see them, with hashes resolved"),
    MEMBER("event", event, .schema = "{'type':'object'}",
           .help = "the object as it is in the file"),
    MEMBER_OBJECTS(
        "callers", near[CALLERS], near_count[CALLERS], &near_type,
        .help = "events of its thread that contain it and are longer, the longest first; at most "
                "256"),
    MEMBER_AT("previous", near[PREVIOUS], &near_type, .nullable = true,
              .help =
                  "the event of its thread that begins next before it; if several begin at that "
                  "time, the longest"),
    MEMBER_AT("next", near[NEXT], &near_type, .nullable = true, .help = "likewise, next after it"),
    MEMBER("callers_total", callers_total, .help = "number of all such events"),
};
static const struct object_type event_type = {"Event", MEMBERS(members)};
#undef OBJECT

/* ---- the object ------------------------------------------------------------------------------ */

static int open_object(struct request *rq, struct state *s)
{
    const struct param *object = request_param(rq, "object"), *id = request_param(rq, "id");
    char query[48] = "";
    uint32_t file;
    if (!object->set && !id->set)
        return params_refuse(rq, "object", "or `id` is required");
    if (id->set)
        snprintf(query, sizeof query, "id == %lld", (long long)id->number);
    int rc =
        selection_open_file(rq, "file", request_text(rq, "file"), text_of(query), &s->query, &file);
    if (rc == 0 && object->set)
        rc = query_begin_at(s->query, file, object->number);
    if (rc == ERR_NOT_FOUND)
        return err_set_param(&rq->err, rc, object->set ? "object" : "file",
                             "the file has no such object");
    return rc;
}

static bool is_first_column(const char *name)
{
    for (size_t i = 0; i < FIRST_COLUMNS; i++)
        if (strcmp(first_columns[i], name) == 0)
            return true;
    return false;
}

static int choose_columns(struct request *rq, struct state *s)
{
    s->columns =
        arena_alloc(&rq->arena, (FIRST_COLUMNS + query_column_count()) * sizeof *s->columns);
    if (!s->columns)
        return -ENOMEM;
    for (size_t i = 0; i < FIRST_COLUMNS; i++)
        s->columns[s->column_count++] = first_columns[i];
    for (size_t i = 0; i < query_column_count(); i++) {
        const struct query_column *c = query_column(i);
        if (c->event && !is_first_column(c->name))
            s->columns[s->column_count++] = c->name;
    }
    return 0;
}

static int read_object(struct request *rq, struct state *s)
{
    struct rows_options rows = {.columns = s->columns, .column_count = s->column_count, .limit = 1};
    struct view_options view = {.no_metadata = true, .limit = 1};
    size_t count = 0;
    int rc = rows_open(s->query, &rows, &rq->err, &s->rows);
    rc = rc < 0 ? rc : rows_next(s->rows, &rq->err, &s->values, &count);
    if (rc == ERR_END || (rc == 0 && count == 0))
        return err_set_param(&rq->err, ERR_NOT_FOUND, "id", "no object in the file has this id");
    rc = rc < 0 ? rc : view_open(s->query, &view, &rq->err, &s->view);
    while (rc == 0)
        rc = view_next(s->view, 1, &s->line, &rq->err);
    return rc == ERR_END ? s->line.error : rc;
}

/* ---- its thread ------------------------------------------------------------------------------ */

static void write_thread(struct state *s)
{
    buf_clear(&s->text);
    for (unsigned i = COLUMN_HOST; i <= COLUMN_TID; i++) {
        query_text_equals(&s->text, s->columns[i], &s->values[i]);
        buf_puts(&s->text, " and ");
    }
}

static void write_time(struct state *s, const char *test, __int128 ns)
{
    struct value v = {.type = VALUE_TIME, .wide = ns};
    struct jw j;
    buf_puts(&s->text, test);
    jw_init(&j, &s->text, false);
    jw_value(&j, &v);
}

static int open_query(struct request *rq, struct state *s, struct query **ret)
{
    struct selection chosen;
    selection_init(&chosen);
    chosen.phases = PHASE_EVENTS;
    chosen.query = (struct text){s->text.data, s->text.len};
    return s->text.error ? s->text.error : selection_open(rq, &chosen, ret);
}

static int open_near(struct request *rq, struct state *s, unsigned which, uint32_t events)
{
    struct timeline_options o = {.color = "cat", .width = 1, .events = events};
    int rc = open_query(rq, s, &s->near_queries[which]);
    return rc < 0 ? rc
                  : timeline_open(s->near_queries[which], &o, &rq->err, &s->near_timelines[which]);
}

/* Callers begin before and end after the object; one with the same begin and end is none. */
static int open_callers(struct request *rq, struct state *s)
{
    __int128 ts = s->values[COLUMN_TS].wide, te = s->values[COLUMN_TE].wide;
    write_thread(s);
    write_time(s, "ts <= ", ts);
    write_time(s, " and te >= ", te);
    write_time(s, " and (ts < ", ts);
    write_time(s, " or te > ", te);
    buf_puts(&s->text, ")");
    return open_near(rq, s, CALLERS, CALLERS_MAX);
}

/* The longest of the objects that begin at the nearest other time. */
static int open_neighbour(struct request *rq, struct state *s, unsigned which)
{
    static const char *const before[] = {"@ts=max:ts"}, *const after[] = {"@ts=min:ts"};
    struct aggregate_options o = {
        .aggregates = which == NEXT ? after : before, .aggregate_count = 1, .limit = UINT64_MAX};
    struct query *q = NULL;
    struct aggregate *a = NULL;
    const struct value *row;
    struct value found = {.type = VALUE_NULL};
    size_t count = 0;
    write_thread(s);
    write_time(s, which == NEXT ? "ts > " : "ts < ", s->values[COLUMN_TS].wide);
    int rc = open_query(rq, s, &q);
    rc = rc < 0 ? rc : aggregate_open(q, &o, &rq->err, &a);
    rc = rc < 0 ? rc : aggregate_next(a, 1, &rq->err, &row, &count);
    if (rc == 0 && count)
        found = row[0];
    aggregate_close(a);
    query_close(q);
    if ((rc < 0 && rc != ERR_END) || found.type != VALUE_TIME)
        return rc == ERR_END ? 0 : rc;
    write_thread(s);
    write_time(s, "ts == ", found.wide);
    return open_near(rq, s, which, 1);
}

static int read_near(struct request *rq, struct state *s, unsigned which)
{
    const struct timeline *t = s->near_timelines[which];
    uint32_t n = t ? timeline_facts(t)->events : 0;
    if (n)
        s->near[which] = arena_alloc(&rq->arena, n * sizeof *s->near[which]);
    for (uint32_t i = 0; s->near[which] && i < n; i++) {
        const struct timeline_event *e = &timeline_events(t)[i];
        s->near[which][i] = (struct near_event){*e, snapshot_file(rq->snapshot, e->file)->name};
    }
    s->near_count[which] = n;
    return rq->arena.error;
}

static int open_thread(struct request *rq, struct state *s)
{
    int rc = open_callers(rq, s);
    rc = rc < 0 ? rc : open_neighbour(rq, s, PREVIOUS);
    rc = rc < 0 ? rc : open_neighbour(rq, s, NEXT);
    for (unsigned i = 0; rc == 0 && i < NEAR_KINDS; i++)
        rc = read_near(rq, s, i);
    if (rc == 0)
        s->callers_total = timeline_facts(s->near_timelines[CALLERS])->objects;
    return rc;
}

static int open_event(struct request *rq)
{
    struct state *s = rq->state;
    int rc = open_object(rq, s);
    rc = rc < 0 ? rc : choose_columns(rq, s);
    rc = rc < 0 ? rc : read_object(rq, s);
    if (rc < 0)
        return rc;
    while (s->line.len && s->line.data[s->line.len - 1] == '\n')
        s->line.len--;
    s->event = (struct value){.type = VALUE_JSON, .text = {s->line.data, s->line.len}};
    s->generation = snapshot_generation(rq->snapshot);
    return s->values[COLUMN_TS].type == VALUE_TIME ? open_thread(rq, s) : 0;
}

static void close_event(struct request *rq)
{
    struct state *s = rq->state;
    for (unsigned i = 0; i < NEAR_KINDS; i++) {
        timeline_close(s->near_timelines[i]);
        query_close(s->near_queries[i]);
    }
    view_close(s->view);
    rows_close(s->rows);
    query_close(s->query);
    buf_done(&s->line);
    buf_done(&s->text);
}

const struct endpoint endpoint_event = {
    .path = "/event",
    .summary = "one event: its columns, its line, its callers and its neighbors in the thread",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &event_type,
    PARAMS(own_params, answer_params),
    FORMATS(FORMAT_JSON),
    .state_size = sizeof(struct state),
    .open = open_event,
    .next = steps_write_state,
    .close = close_event,
};
