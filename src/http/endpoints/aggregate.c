/* aggregate.c - /aggregate: rows per time bucket and key, or by any columns. */
#include "dftracerd/aggregate.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdio.h>
#include <string.h>

static const enum format formats[] = {FORMAT_NDJSON,      FORMAT_JSON,     FORMAT_CSV,
                                      FORMAT_TEXT,        FORMAT_PERFETTO, FORMAT_ARROW,
                                      FORMAT_ARROW_STREAM};

static const struct param_spec own_params[] = {
    {"time_interval", PARAM_TEXT, false, "5000", NULL,
     "length of a bucket, in milliseconds or with a unit; 0 = a single bucket"},
    {"max_points", PARAM_UINT, false, NULL, NULL,
     "instead of time_interval: use the shortest round interval that gives at most this many "
     "buckets in time_range, or in the time span of the selection",
     false, "500"},
    {"time_format", PARAM_CHOICE, false, "us", "us|ms|iso",
     "us: buckets are in the column time_bucket; ms, iso: in the column time instead, in "
     "milliseconds or as 2026-01-31T12:00:00.000Z"},
    {"relative", PARAM_BOOL, false, NULL, NULL,
     "return times relative to the first event; default: only with format=perfetto, if Perfetto "
     "would round them"},
    {"bucket", PARAM_CHOICE, false, "start", "start|split",
     "start: an event belongs to the bucket in which it starts; split: durations and sizes are "
     "divided among the buckets that the event covers"},
    {"group_keys", PARAM_LIST, false, NULL, NULL, "additional key columns, for example epoch,step",
     false, "['host','rank']"},
    {"metric_fields", PARAM_LIST, false, NULL, NULL,
     "additional arguments to aggregate: sum, minimum, maximum, mean, standard deviation", false,
     "['ret']"},
    {"optional", PARAM_LIST, false, NULL, NULL,
     "names in group_keys and metric_fields that no event needs to have: their columns are then "
     "null instead of an error",
     false, "['rank','ret']"},
    {"compute_percentiles", PARAM_BOOL, false, "false", NULL,
     "compute percentiles of durations and sizes"},
    {"percentiles", PARAM_LIST, false, NULL, NULL,
     "percentiles to compute, 0 to 1; implies compute_percentiles=true; default 0.25,0.5,0.75,0.9",
     false, "['0.5','0.99']"},
    {"relative_accuracy", PARAM_TEXT, false, "0.01", NULL,
     "maximum relative error of the percentiles; below 0.004 they are computed from all values"},
    {"exact", PARAM_BOOL, false, "false", NULL, "compute percentiles from all values"},
    {"shape", PARAM_BOOL, false, "false", NULL, "include skewness and kurtosis"},
    {"boundary_events", PARAM_LIST, false, NULL, NULL,
     "event:field:output: add a column `output` with the value of `field` in the event named "
     "`event` that contains the middle of the row in time, in a parent process or its own "
     "process",
     false, "['epoch.block:epoch:epoch_number']"},
    {"track_process_parents", PARAM_BOOL, false, "true", NULL,
     "include the columns parent_pid and root_pid"},
    {"event_format", PARAM_CHOICE, false, "counter", "counter|async|regular|dftracer",
     "type of the trace events in format=perfetto; dftracer: counters with all columns (Perfetto "
     "draws the numbers only)"},
    {"group_by", PARAM_LIST, false, NULL, NULL,
     "columns to group by: any columns, time_bucket, dirname(column), basename(column)", false,
     "['name','time_bucket']"},
    {"agg", PARAM_LIST, false, NULL, NULL,
     "values to compute for each group: count, sum:dur, p99.9:size, busy, ...; name=sum:dur "
     "names the column",
     false, "['count','total=sum:dur','p99:size']"},
    {"sort", PARAM_LIST, false, NULL, NULL,
     "with group_by or agg: columns to sort by; -column sorts in descending order", false,
     "['-count','name']", "{'group_by':['name']}"},
    {"having", PARAM_TEXT, false, NULL, NULL,
     "with group_by or agg: filter on the columns of "
     "the result",
     false, "'count > 1'", "{'group_by':['name']}"},
    {"top", PARAM_UINT, false, NULL, NULL,
     "with group_by or agg: number of rows to return, those with the largest `by`; all others "
     "become one row (other)",
     false, "5", "{'group_by':['name'],'by':'count'}"},
    {"by", PARAM_TEXT, false, NULL, NULL, "column that `top` ranks by", false, "'count'",
     "{'group_by':['name'],'top':5}"},
    {"summary", PARAM_BOOL, false, "false", NULL, "append a line {\"summary\":{...}} (ndjson)"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params,  selection_params, clip_params,
                                                  page_params, answer_params,    NULL};

struct state {
    struct query *query;
    struct aggregate *aggregate;
    struct format_aggregate *writer;
};

static const char *const *items_of(const struct request *rq, const char *name, size_t *ret_count)
{
    const struct param *p = request_param(rq, name);
    *ret_count = p->set ? p->count : 0;
    return (const char *const *)p->items;
}

static int bad(struct request *rq, const char *param, const char *why)
{
    return err_set_param(&rq->err, ERR_PARAM, param, "`%s` %s", param, why);
}

static int read_numbers(struct request *rq, struct aggregate_options *o)
{
    double accuracy;
    struct text interval = request_param(rq, "time_interval")->text,
                relative = request_param(rq, "relative_accuracy")->text;
    if (num_parse_duration(interval, 1000000, &o->interval_ns) < 0 || o->interval_ns < 0)
        return bad(rq, "time_interval", "must be a duration such as 5000 or 5s");
    if (num_parse_double(relative, &accuracy) < 0 || !(accuracy > 0 && accuracy < 1))
        return bad(rq, "relative_accuracy", "must be a number between 0 and 1");
    o->exact = request_flag(rq, "exact") || accuracy < 0.004; /* a bin tells within 0.4 % */
    return 0;
}

/* How long the buckets are, where max_points is to choose, and how they are told. */
static int read_times(struct request *rq, const struct selection *chosen,
                      struct aggregate_options *o)
{
    const struct param *points = request_param(rq, "max_points");
    const char *format = request_text(rq, "time_format");
    bool perfetto = rq->format == FORMAT_PERFETTO,
         arrow = rq->format == FORMAT_ARROW || rq->format == FORMAT_ARROW_STREAM;
    o->time_format = strcmp(format, "ms") == 0    ? AGGREGATE_TIME_MS
                     : strcmp(format, "iso") == 0 ? AGGREGATE_TIME_ISO
                                                  : AGGREGATE_TIME_US;
    if (o->time_format != AGGREGATE_TIME_US && (perfetto || arrow))
        return bad(rq, "time_format",
                   "requires format json, csv or text: this format has its own time units");
    if (!points->given)
        return 0;
    if (points->number == 0)
        return bad(rq, "max_points", "must be at least 1");
    if (request_param(rq, "time_interval")->given)
        return bad(rq, "max_points", "cannot be combined with `time_interval`");
    o->max_points = points->number;
    /* Otherwise there are buckets beyond the range. */
    if (chosen->has_time_range && !chosen->overlap && !o->split &&
        chosen->time_from_ns != INT64_MIN && chosen->time_to_ns != INT64_MAX) {
        o->points_from_ns = chosen->time_from_ns;
        o->points_to_ns = chosen->time_to_ns;
    }
    return 0;
}

/* Percentiles are computed where they are asked for in either way, unless that is said not to be.
 */
static void read_percentiles(const struct request *rq, struct aggregate_options *o)
{
    const struct param *compute = request_param(rq, "compute_percentiles"),
                       *list = request_param(rq, "percentiles");
    static const char *const usual[] = {"0.25", "0.5", "0.75", "0.9"};
    if (!(compute->given ? compute->number : list->given))
        return;
    o->percentiles = items_of(rq, "percentiles", &o->percentile_count);
    if (!list->given) {
        o->percentiles = usual;
        o->percentile_count = 4;
    }
}

/* Parameters of one form only, in the other. */
static int check_form(struct request *rq, bool general)
{
    static const char *const pipeline[] = {"group_keys",          "metric_fields", "optional",
                                           "compute_percentiles", "percentiles",   "shape",
                                           "boundary_events",     "event_format",  NULL};
    static const char *const wide[] = {"sort", "having", "top", "by", NULL};
    for (const char *const *name = general ? pipeline : wide; *name; name++)
        if (request_param(rq, *name)->given)
            return bad(rq, *name,
                       general ? "cannot be combined with `group_by` or `agg`"
                               : "requires `group_by` or `agg`");
    if (request_param(rq, "top")->given != request_param(rq, "by")->given)
        return request_param(rq, "top")->given ? bad(rq, "top", "requires `by`")
                                               : bad(rq, "by", "requires `top`");
    if (general && rq->format == FORMAT_PERFETTO)
        return bad(rq, "format", "cannot be perfetto with `group_by` or `agg`");
    return 0;
}

static int read_general(struct request *rq, struct aggregate_options *o)
{
    static const char *const usual[] = {"count", "sum:dur"};
    o->group_by = items_of(rq, "group_by", &o->group_by_count);
    o->aggregates = items_of(rq, "agg", &o->aggregate_count);
    o->sort = items_of(rq, "sort", &o->sort_count);
    if (request_param(rq, "agg")->given && o->aggregate_count == 0)
        return bad(rq, "agg", "must not be empty");
    if (o->group_by_count && o->aggregate_count == 0) {
        o->aggregates = usual;
        o->aggregate_count = 2;
    }
    o->having = request_text(rq, "having");
    o->top_by = request_text(rq, "by");
    o->top = request_param(rq, "top")->given ? request_uint(rq, "top") : 0;
    if (request_param(rq, "top")->given && o->top == 0)
        return bad(rq, "top", "must be at least 1");
    return check_form(rq, o->aggregate_count > 0);
}

static int read_options(struct request *rq, struct aggregate_options *o)
{
    const struct param *limit = request_param(rq, "limit");
    const char *bucket = request_text(rq, "bucket"), *events = request_text(rq, "event_format");
    o->relative = request_flag(rq, "relative");
    o->split = strcmp(bucket, "split") == 0;
    o->shape = request_flag(rq, "shape");
    o->group_keys = items_of(rq, "group_keys", &o->group_key_count);
    o->metric_fields = items_of(rq, "metric_fields", &o->metric_field_count);
    o->optional = items_of(rq, "optional", &o->optional_count);
    o->boundaries = items_of(rq, "boundary_events", &o->boundary_count);
    o->parents = request_flag(rq, "track_process_parents");
    o->limit = limit->set ? limit->number : UINT64_MAX;
    o->offset = request_uint(rq, "offset");
    read_percentiles(rq, o);
    if (request_param(rq, "percentiles")->given && request_param(rq, "percentiles")->count == 0)
        return bad(rq, "percentiles", "must not be empty");
    int rc = read_numbers(rq, o);
    rc = rc < 0 ? rc : read_general(rq, o);
    if (rc == 0 && o->interval_ns == 0 && o->split)
        return bad(rq, "time_interval", "must not be 0 with bucket=split");
    if (rc == 0 && o->interval_ns == 0 && rq->format == FORMAT_PERFETTO &&
        (strcmp(events, "counter") == 0 || strcmp(events, "dftracer") == 0))
        return bad(rq, "time_interval", "must not be 0 with event_format=counter or dftracer");
    return rc;
}

static enum aggregate_events read_events(const struct request *rq)
{
    static const char *const names[] = {[AGGREGATE_COUNTER] = "counter",
                                        [AGGREGATE_ASYNC] = "async",
                                        [AGGREGATE_REGULAR] = "regular",
                                        [AGGREGATE_DFTRACER] = "dftracer"};
    unsigned i = 0;
    while (strcmp(names[i], request_text(rq, "event_format")) != 0)
        i++;
    return (enum aggregate_events)i;
}

static int open_writer(struct request *rq, struct state *s)
{
    struct format_aggregate_options o = {.format = rq->format,
                                         .pretty = rq->pretty,
                                         .summary = request_flag(rq, "summary"),
                                         .events = read_events(rq),
                                         .times = request_param(rq, "relative")->given
                                                      ? PERFETTO_ABSOLUTE /* of the aggregate */
                                                      : PERFETTO_FITTING,
                                         .started_ns = rq->started_ns,
                                         .budget = &rq->budget};
    int rc = format_aggregate_new(s->aggregate, s->query, &o, &rq->err, &s->writer);
    rq->least_bytes = rc < 0 ? 0 : format_aggregate_least(s->writer);
    return rc;
}

static int open_aggregate(struct request *rq)
{
    struct aggregate_options options = {0};
    struct selection chosen;
    struct state *s = rq->state;
    int rc = read_options(rq, &options);
    rc = rc < 0 ? rc : selection_read(rq, &chosen);
    rc = rc < 0 ? rc : read_times(rq, &chosen, &options);
    rc = rc < 0 ? rc : selection_open(rq, &chosen, &s->query);
    rc = rc < 0 ? rc : aggregate_open(s->query, &options, &rq->err, &s->aggregate);
    return rc < 0 ? rc : open_writer(rq, s);
}

static int next_aggregate(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return format_aggregate_next(s->writer, &rq->err, out);
}

static void close_aggregate(struct request *rq)
{
    struct state *s = rq->state;
    format_aggregate_free(s->writer);
    aggregate_close(s->aggregate);
    query_close(s->query);
}

const struct endpoint endpoint_aggregate = {
    .path = "/aggregate",
    .summary = "statistics per time bucket, or for groups of any columns",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &format_aggregate_type,
    .params = params,
    .formats = formats,
    .format_count = 7,
    .state_size = sizeof(struct state),
    .open = open_aggregate,
    .next = next_aggregate,
    .close = close_aggregate,
};
