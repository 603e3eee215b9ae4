/* aggregate.c - /aggregate: rows per time bucket and key, or by any columns. */
#include "dftracerd/aggregate.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

struct options {
    struct aggregate_options rows;
    double accuracy;
    bool percentiles, summary;
    enum aggregate_events events;
};
#define OPTIONS struct options
static const struct param_spec own_params[] = {
    PARAM("time_interval", INTERVAL,
          "length of a bucket, in milliseconds or with a unit; 0 = a single bucket",
          .fallback = "5000", BIND(rows.interval_ns)),
    PARAM("max_points", UINT,
          "instead of time_interval: use the shortest round interval that gives at most this many "
          "buckets in time_range, or in the time span of the selection",
          .example = "500", .min = 1, .not_with = "time_interval", BIND(rows.max_points)),
    PARAM("time_format", CHOICE,
          "us: buckets are in the column time_bucket; ms, iso: in the column time instead, in "
          "milliseconds or as 2026-01-31T12:00:00.000Z",
          .fallback = "us", .choices = "us|ms|iso", BIND(rows.time_format)),
    PARAM("relative", BOOL,
          "return times relative to the first event; default: only with format=perfetto, if "
          "Perfetto would round them",
          BIND(rows.relative)),
    PARAM("bucket", CHOICE,
          "start: an event belongs to the bucket in which it starts; split: durations and sizes "
          "are divided among the buckets that the event covers",
          .fallback = "start", .choices = "start|split", BIND(rows.split)),
    PARAM("group_keys", LIST, "additional key columns, for example epoch,step",
          .example = "['host','rank']", .not_with = "group_by|agg",
          BIND_LIST(rows.group_keys, rows.group_key_count)),
    PARAM("metric_fields", LIST,
          "additional arguments to aggregate: sum, minimum, maximum, mean, standard deviation",
          .example = "['ret']", .not_with = "group_by|agg",
          BIND_LIST(rows.metric_fields, rows.metric_field_count)),
    PARAM("optional", LIST,
          "names in group_keys and metric_fields that no event needs to have: their columns are "
          "then null instead of an error",
          .example = "['rank','ret']", .not_with = "group_by|agg",
          BIND_LIST(rows.optional, rows.optional_count)),
    PARAM("compute_percentiles", BOOL, "compute percentiles of durations and sizes",
          .fallback = "false", .not_with = "group_by|agg", BIND(percentiles)),
    PARAM("percentiles", LIST,
          "percentiles to compute, 0 to 1; implies compute_percentiles=true; default "
          "0.25,0.5,0.75,0.9",
          .example = "['0.5','0.99']", .not_with = "group_by|agg", .filled = true,
          BIND_LIST(rows.percentiles, rows.percentile_count)),
    PARAM(
        "relative_accuracy", NUMBER,
        "maximum relative error of the percentiles; below 0.004 they are computed from all values",
        .fallback = "0.01", BIND(accuracy)),
    PARAM("exact", BOOL, "compute percentiles from all values", .fallback = "false",
          BIND(rows.exact)),
    PARAM("shape", BOOL, "include skewness and kurtosis", .fallback = "false",
          .not_with = "group_by|agg", BIND(rows.shape)),
    PARAM("boundary_events", LIST,
          "event:field:output: add a column `output` with the value of `field` in the event named "
          "`event` that contains the middle of the row in time, in a parent process or its own "
          "process",
          .example = "['epoch.block:epoch:epoch_number']", .not_with = "group_by|agg",
          BIND_LIST(rows.boundaries, rows.boundary_count)),
    PARAM("track_process_parents", BOOL, "include the columns parent_pid and root_pid",
          .fallback = "true", BIND(rows.parents)),
    PARAM("gzip_level", UINT,
          "return a gzip file of this level, 0 to 9, whatever Accept-Encoding says", .example = "6",
          .max = 9),
    PARAM("event_format", CHOICE,
          "type of the trace events in format=perfetto; dftracer: counters with all columns "
          "(Perfetto draws the numbers only)",
          .fallback = "counter", .choices = "counter|async|regular|dftracer",
          .not_with = "group_by|agg", BIND(events)),
    PARAM("group_by", LIST,
          "columns to group by: any columns, time_bucket, dirname(column), basename(column)",
          .example = "['name','time_bucket']", BIND_LIST(rows.group_by, rows.group_by_count)),
    PARAM("agg", LIST,
          "values to compute for each group: count, sum:dur, p99.9:size, busy, ...; name=sum:dur "
          "names the column",
          .example = "['count','total=sum:dur','p99:size']", .filled = true,
          BIND_LIST(rows.aggregates, rows.aggregate_count)),
    PARAM("sort", LIST,
          "with group_by or agg: columns to sort by; -column sorts in descending order",
          .example = "['-count','name']", .example_with = "{'group_by':['name']}",
          .needs = "group_by|agg", BIND_LIST(rows.sort, rows.sort_count)),
    PARAM("having", TEXT, "with group_by or agg: filter on the columns of the result",
          .example = "'count > 1'", .example_with = "{'group_by':['name']}",
          .needs = "group_by|agg", BIND(rows.having)),
    PARAM("top", UINT,
          "with group_by or agg: number of rows to return, those with the largest `by`; all others "
          "become one row (other)",
          .example = "5", .example_with = "{'group_by':['name'],'by':'count'}", .min = 1,
          .needs = "by", BIND(rows.top)),
    PARAM("by", TEXT, "column that `top` ranks by", .example = "'count'",
          .example_with = "{'group_by':['name'],'top':5}", .needs = "top", BIND(rows.top_by)),
    PARAM("summary", BOOL, "append a line {\"summary\":{...}} (ndjson)", .fallback = "false",
          BIND(summary)),
    {0},
};
#undef OPTIONS

struct state {
    struct aggregate *aggregate;
    struct format_aggregate *writer;
};

/* A list of percentiles is computed even without compute_percentiles, unless that is given as
 * false. */
static void read_percentiles(const struct request *rq, struct options *o)
{
    static const char *const default_percentiles[] = {"0.25", "0.5", "0.75", "0.9"};
    bool given = request_param(rq, "compute_percentiles")->given;
    if (o->percentiles && o->rows.percentile_count == 0) {
        o->rows.percentiles = default_percentiles;
        o->rows.percentile_count = 4;
    } else if (given && !o->percentiles) {
        o->rows.percentile_count = 0;
    }
}

/* Checks constraints that depend on the values of other parameters. */
static int check_options(struct request *rq, const struct options *o)
{
    bool perfetto = rq->format == FORMAT_PERFETTO,
         arrow = rq->format == FORMAT_ARROW || rq->format == FORMAT_ARROW_STREAM;
    if (!(o->accuracy > 0 && o->accuracy < 1))
        return params_refuse(rq, "relative_accuracy", "must be a number between 0 and 1");
    if (o->rows.time_format != AGGREGATE_TIME_US && (perfetto || arrow))
        return params_refuse(
            rq, "time_format",
            "requires format json, csv or text: this format has its own time units");
    if (o->rows.interval_ns == 0 && o->rows.split)
        return params_refuse(rq, "time_interval", "must not be 0 with bucket=split");
    if (o->rows.interval_ns == 0 && perfetto &&
        (o->events == AGGREGATE_COUNTER || o->events == AGGREGATE_DFTRACER))
        return params_refuse(rq, "time_interval",
                             "must not be 0 with event_format=counter or dftracer");
    if ((o->rows.group_by_count || o->rows.aggregate_count) && perfetto)
        return params_refuse(rq, "format", "cannot be perfetto with `group_by` or `agg`");
    return 0;
}

static int read_options(struct request *rq, struct options *o)
{
    static const char *const default_aggregates[] = {"count", "sum:dur"};
    int rc = check_options(rq, o);
    if (o->rows.group_by_count && o->rows.aggregate_count == 0) {
        o->rows.aggregates = default_aggregates;
        o->rows.aggregate_count = 2;
    }
    o->rows.exact = o->rows.exact || o->accuracy < 0.004; /* a sketch is within 0.4 % */
    o->rows.limit = request_limit(rq);
    o->rows.offset = request_uint(rq, "offset");
    /* max_points counts the buckets of time_range if all buckets are in it, else those of the
     * selection. */
    const struct selection *chosen = &rq->chosen;
    if (o->rows.max_points && chosen->has_time_range && !chosen->overlap && !o->rows.split &&
        chosen->time_from_ns != INT64_MIN && chosen->time_to_ns != INT64_MAX) {
        o->rows.points_from_ns = chosen->time_from_ns;
        o->rows.points_to_ns = chosen->time_to_ns;
    }
    read_percentiles(rq, o);
    return rc;
}

static int open_writer(struct request *rq, struct state *s)
{
    const struct options *given = rq->options;
    struct format_aggregate_options o = {.format = rq->format,
                                         .pretty = rq->pretty,
                                         .summary = given->summary,
                                         .events = given->events,
                                         .times = request_param(rq, "relative")->given
                                                      ? PERFETTO_ABSOLUTE /* of the aggregate */
                                                      : PERFETTO_FITTING,
                                         .started_ns = rq->started_ns,
                                         .budget = &rq->budget};
    int rc = format_aggregate_new(s->aggregate, rq->query, &o, &rq->err, &s->writer);
    rq->min_bytes = rc < 0 ? 0 : format_aggregate_min_bytes(s->writer);
    return rc;
}

static int open_aggregate(struct request *rq)
{
    struct options *o = rq->options;
    struct state *s = rq->state;
    int rc = read_options(rq, o);
    rc = rc < 0 ? rc : aggregate_open(rq->query, &o->rows, &rq->err, &s->aggregate);
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
}

const struct endpoint endpoint_aggregate = {
    .path = "/aggregate",
    .summary = "statistics per time bucket, or for groups of any columns",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &format_aggregate_type,
    PARAMS(own_params, selection_params, clip_params, page_params, answer_params),
    FORMATS(FORMAT_NDJSON, FORMAT_JSON, FORMAT_CSV, FORMAT_TEXT, FORMAT_PERFETTO, FORMAT_ARROW,
            FORMAT_ARROW_STREAM),
    .options_size = sizeof(struct options),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_aggregate,
    .next = next_aggregate,
    .close = close_aggregate,
};
