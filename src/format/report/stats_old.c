/* stats_old.c - statistics of one file with the keys of the old dftracer_stats --json. */
#include "format/report/stats.h"
#include "format/writer/text_number.h"

#include <string.h>

/* Names of the reports in the output of dftracer_stats. */
static const char *const query_types[] = {
    [STATS_SUMMARY] = "summary",       [STATS_CATEGORIES] = "categories",
    [STATS_NAMES] = "names",           [STATS_PID_TIDS] = "pid_tids",
    [STATS_TIME_RANGE] = "time_range", [STATS_DURATION] = "duration_stats",
    [STATS_TOP_NAMES] = "top_n_names", [STATS_TOP_CATEGORIES] = "top_n_categories",
    [STATS_DETAILED] = NULL,
};

/* A file as it is written: its statistics, or an error. */
struct file {
    const char *path, *error; /* NULL: the member is omitted */
    enum stats_report report;
    uint64_t events;
    const struct stats *stats;
    const struct measured *duration; /* NULL: the member is omitted */
    bool failed, success, is_report, has_results, has_times, is_detailed, threads;
};

/* ---- reports --------------------------------------------------------------------------------- */

/* Returns the list of the report, if it has one. */
static const struct stats_count *result_list(const struct stats *s, bool threads, size_t *ret_count)
{
    *ret_count = s->has_names ? s->name_count : threads ? s->pid_tid_count : s->category_count;
    return s->has_names ? s->names : threads ? s->pid_tids : s->categories;
}

static void write_results(struct jw *j, const void *object)
{
    const struct file *f = object;
    const struct stats *s = f->stats;
    struct buf name = {0};
    size_t count;
    const struct stats_count *rows = result_list(s, f->threads, &count);

    jw_begin(j, '[');
    for (size_t i = 0; i < count && !list_must_stop(s->budget, i, j->out); i++) {
        buf_clear(&name);
        value_plain(&name, s->has_names ? &rows[i].name : f->threads ? &rows[i].pid : &rows[i].cat);
        if (f->threads) {
            buf_putc(&name, ':');
            value_plain(&name, &rows[i].tid);
        }
        jw_begin(j, '{');
        jw_put_text(j, "name", (struct text){name.data, name.len});
        jw_put_uint(j, "count", rows[i].count);
        jw_end(j, '}');
    }
    jw_end(j, ']');
    put_done(j->out, &name);
}

static struct value span_seconds(const void *object)
{
    const struct stats *s = object;

    return (struct value){.type = VALUE_DOUBLE, .d = value_double(&s->span, 0) / 1e6};
}

#define NUMBER(name, field, ...) MEMBER(name, field, .type = VALUE_DOUBLE, ##__VA_ARGS__)
#define OBJECT struct stats
static const struct member times_members[] = {
    NUMBER("min_timestamp_us", min_ts),
    NUMBER("max_timestamp_us", max_te),
    MEMBER_COMPUTED("time_span_seconds", VALUE_DOUBLE, span_seconds),
};
static const struct object_type times_type = {NULL, MEMBERS(times_members)};
#undef OBJECT

#define OBJECT struct measured
static const struct member duration_members[] = {
    MEMBER("count", count), NUMBER("mean_us", mean), NUMBER("stddev_us", std),
    NUMBER("min_us", min),  NUMBER("max_us", max),
};
static const struct object_type duration_type = {NULL, MEMBERS(duration_members)};

/* ---- the detailed report --------------------------------------------------------------------- */

static const struct member percentile_members[] = {
    NUMBER("p50", quantiles[2], .optional = true),
    NUMBER("p90", quantiles[4], .optional = true),
    NUMBER("p99", quantiles[6], .optional = true),
};
static const struct object_type percentiles_type = {NULL, MEMBERS(percentile_members)};

static const struct member measured_members[] = {
    MEMBER("count", count),
    NUMBER("mean", mean),
    NUMBER("sum", sum),
    MEMBER_SELF("percentiles", &percentiles_type),
};
static const struct object_type measured_type = {NULL, MEMBERS(measured_members)};
#undef OBJECT

/* Returns the key of a group: its values joined by "|", before a tid by ":". */
static const char *group_key(const struct stats *s, const struct stats_group *g, struct buf *key)
{
    buf_clear(key);
    for (size_t k = 0; k < s->group_by_count; k++) {
        if (k)
            buf_putc(key, strcmp(s->group_by[k], "tid") == 0 ? ':' : '|');
        if (g->keys[k].type != VALUE_NULL)
            value_plain(key, &g->keys[k]);
    }
    buf_putc(key, '\0');
    return key->error ? "" : key->data;
}

/* Writes a member for each group; `io`: for groups with sizes. */
static void put_groups(struct jw *j, const struct stats *s, bool io)
{
    struct buf key = {0};

    jw_begin(j, '{');
    for (size_t i = 0; i < s->group_count && !list_must_stop(s->budget, i, j->out); i++) {
        const struct stats_group *g = &s->groups[i];
        if (io && g->size.count == 0)
            continue;
        jw_key(j, group_key(s, g, &key));
        if (io) {
            static const char *const names[] = {"duration", "size", "bandwidth", "offset"};
            const struct measured *const all[] = {&g->duration, &g->size, &g->bandwidth,
                                                  &g->offset};
            jw_begin(j, '{');
            for (unsigned m = 0; m < 4; m++) {
                if (all[m]->count == 0)
                    continue;
                jw_key(j, names[m]);
                jw_object(j, &measured_type, all[m]);
            }
            jw_end(j, '}');
        } else
            jw_object(j, &measured_type, &g->duration);
    }
    jw_end(j, '}');
    put_done(j->out, &key);
}

static void write_durations(struct jw *j, const void *stats)
{
    put_groups(j, stats, false);
}

static void write_io(struct jw *j, const void *stats)
{
    put_groups(j, stats, true);
}

#define OBJECT struct stats
static const struct member detailed_members[] = {
    MEMBER("events_scanned", events),
    MEMBER("chunks_scanned", counters.chunks_scanned),
    MEMBER("chunks_skipped", counters.chunks_skipped),
    MEMBER_IN("duration", duration, &measured_type),
    MEMBER_WRITTEN("grouped_duration", write_durations, "{'type':'object'}"),
    MEMBER_WRITTEN("grouped_io", write_io, "{'type':'object'}"),
};
static const struct object_type detailed_type = {NULL, MEMBERS(detailed_members)};
#undef OBJECT

/* ---- a file ---------------------------------------------------------------------------------- */

#define OBJECT struct file
#define IF(field) .when = WHEN(field), .optional = true
#define RESULTS \
    "{'type':'array','items':{'type':'object','additionalProperties':false," \
    "'required':['name','count'],'properties':{'name':{'type':'string'}," \
    "'count':{'type':'integer','minimum':0}}}}"
static const struct member members[] = {
    MEMBER("file_path", path, .optional = true),
    MEMBER("success", success, IF(failed)),
    MEMBER("error", error, .optional = true),
    MEMBER("query_type", report, .choices = query_types, IF(is_report)),
    MEMBER("total_events", events, IF(is_report)),
    MEMBER_WRITTEN("results", write_results, RESULTS, IF(has_results)),
    MEMBER_AT("time_range", stats, &times_type, IF(has_times)),
    MEMBER_AT("duration", duration, &duration_type, .optional = true),
    MEMBER_AT("detailed", stats, &detailed_type, IF(is_detailed)),
};
static const struct object_type file_type = {
    "StatsFile", MEMBERS(members), .help = "a file as the old dftracer_stats describes it"};
#undef OBJECT

static const struct object_type *const answers[] = {&stats_type, &file_type, NULL};
const struct object_type stats_answer_type = {
    .name = "Stats",
    .schema = "{'anyOf':[{'$ref':'#/components/schemas/StatsTotals'},"
              "{'type':'array','items':{'$ref':'#/components/schemas/StatsFile'}}]}",
    .refers = answers,
};

static void describe_report(struct file *f, const struct stats *s)
{
    bool all = s->report == STATS_SUMMARY, times = s->report == STATS_TIME_RANGE,
         duration = s->report == STATS_DURATION;
    size_t count;

    f->is_report = true;
    f->report = s->report;
    f->events = s->events;
    f->threads = s->has_pid_tids && !all;
    result_list(s, f->threads, &count);
    f->has_results = !times && !duration && count > 0;
    f->has_times = (all || times) && s->min_ts.type != VALUE_NULL && s->max_te.type != VALUE_NULL;
    if ((all || duration) && s->has_duration && s->duration.count > 0)
        f->duration = &s->duration;
}

void format_stats_file(const struct stats *s, const char *path, const char *error, struct jw *j)
{
    struct file f = {.stats = s, .error = error, .failed = !s};

    f.is_detailed = s && s->report == STATS_DETAILED;
    if (!s || f.is_detailed)
        f.path = path;
    else
        describe_report(&f, s);
    jw_object(j, &file_type, &f);
}
