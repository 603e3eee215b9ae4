/* find.c - /find: the next match of a search by time, and the number of matches. */
#include "dftracerd/find.h"
#include "dftracerd/rows.h"

#include "http/endpoints/endpoints.h"
#include "http/exchange/steps.h"
#include "http/request/selection.h"

#include <string.h>

#define OPTIONS struct find_options
static const struct param_spec own_params[] = {
    PARAM("direction", CHOICE,
          "next: the first object after the position; previous: the last one before it",
          .fallback = "next", .choices = "next|previous", BIND(backward)),
    PARAM("at", TIME,
          "position as a time (microseconds); objects that start at this time are included",
          .example = "'1781800000000000'", .not_with = "at_file|at_object"),
    PARAM("at_file", TEXT,
          "position as an object in this trace file; the object itself is excluded",
          .example = "'rank_0.pfw.gz'", .example_with = "{'at_object':12}", .needs = "at_object"),
    PARAM("at_object", UINT, "with at_file: number of objects before it in the file",
          .example = "12", .example_with = "{'at_file':'rank_0.pfw.gz'}", .needs = "at_file",
          BIND(object)),
    {0},
};
#undef OPTIONS

static const char *const columns[] = {"host", "rank", "pid", "tid",  "ts",    "dur",
                                      "name", "cat",  "ph",  "file", "object"};
enum {
    COLUMNS_READ = 9,
    COLUMN_TS = 4
}; /* the number of columns that are read, and the position of ts */

struct state {
    struct query *one;
    struct rows *rows;
    const struct value *values;
    struct find_result found;
    bool is_found;
    const char *file; /* file of the object that was found */
};

/* Reads the row of one object of one file. */
static int open_object(struct request *rq, struct state *s, const char *file, uint64_t object,
                       uint32_t *ret_file)
{
    const struct rows_options o = {.columns = columns, .column_count = COLUMNS_READ, .limit = 1};
    size_t count;
    int rc = selection_open_file(rq, "at_file", file, (struct text){0}, &s->one, ret_file);
    rc = rc < 0 ? rc : query_begin_at(s->one, *ret_file, object);
    rc = rc < 0 ? rc : rows_open(s->one, &o, &rq->err, &s->rows);
    rc = rc < 0 ? rc : rows_next(s->rows, &rq->err, &s->values, &count);
    if (rc == ERR_NOT_FOUND || rc == ERR_END || (rc == 0 && count == 0))
        return err_set_param(&rq->err, ERR_NOT_FOUND, "at_object", "the file has no such object");
    return rc;
}

static void close_object(struct state *s)
{
    rows_close(s->rows);
    query_close(s->one);
    s->rows = NULL;
    s->one = NULL;
}

/* Reads the time of the object at which the search begins. */
static int read_position(struct request *rq, struct state *s, struct find_options *o)
{
    int rc = open_object(rq, s, request_text(rq, "at_file"), o->object, &o->file);
    if (rc == 0 && s->values[COLUMN_TS].type != VALUE_TIME)
        rc = err_set_param(&rq->err, ERR_PARAM, "at_object", "the object has no time");
    o->has_at = o->has_place = true;
    o->at_ns = rc < 0 ? 0 : s->values[COLUMN_TS].wide;
    close_object(s);
    return rc;
}

static int open_find(struct request *rq)
{
    struct state *s = rq->state;
    struct find_options *o = rq->options;
    uint32_t file;
    o->has_at = request_param(rq, "at")->set;
    o->at_ns = request_param(rq, "at")->ns;
    int rc = request_text(rq, "at_file") ? read_position(rq, s, o) : 0;
    rc = rc < 0 ? rc : query_find(rq->query, o, &s->found, &rq->err);
    s->is_found = rc == 0 && s->found.position;
    if (s->is_found) {
        s->file = snapshot_file(rq->snapshot, s->found.file)->name;
        rc = open_object(rq, s, s->file, s->found.object, &file);
    }
    if (rc == 0)
        rq->incomplete = !s->found.complete; /* of the selection, not of a file with an object */
    return rc;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_event(struct jw *j, const void *object)
{
    const struct state *s = object;
    jw_begin(j, '{');
    for (unsigned i = 0; i < COLUMNS_READ; i++)
        jw_put_value(j, columns[i], &s->values[i]);
    jw_put_str(j, columns[COLUMNS_READ], s->file);
    jw_put_uint(j, columns[COLUMNS_READ + 1], s->found.object);
    jw_end(j, '}');
}

#define OBJECT struct state
static const struct member members[] = {
    MEMBERS_QUERY(found.counters, found.complete),
    MEMBER("count", found.objects, .help = "selected objects with a time"),
    MEMBER("untimed", found.untimed, .help = "selected objects without a time"),
    MEMBER("position", found.position, .when = WHEN(is_found),
           .help = "number of the object among them in the order of time, from 1"),
    MEMBER_WRITTEN("event", write_event, "{'type':['object','null']}", .when = WHEN(is_found),
                   .help = "the object; null: there is none"),
};
static const struct object_type find_type = {"Find", MEMBERS(members)};
#undef OBJECT

static void close_find(struct request *rq)
{
    close_object(rq->state);
}

const struct endpoint endpoint_find = {
    .path = "/find",
    .summary = "next match of a search in time order, and the number of matches",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &find_type,
    PARAMS(own_params, selection_params, answer_params),
    FORMATS(FORMAT_JSON),
    .options_size = sizeof(struct find_options),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_find,
    .next = steps_write_state,
    .close = close_find,
};
