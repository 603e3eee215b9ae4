/* stats_old.c - statistics of one file with the keys of the old command's --json. */
#include "format/report/stats.h"

#include <string.h>

/* Its names of reports. */
static const char *const query_types[] = {
    [STATS_SUMMARY] = "summary",       [STATS_CATEGORIES] = "categories",
    [STATS_NAMES] = "names",           [STATS_PID_TIDS] = "pid_tids",
    [STATS_TIME_RANGE] = "time_range", [STATS_DURATION] = "duration_stats",
    [STATS_TOP_NAMES] = "top_n_names", [STATS_TOP_CATEGORIES] = "top_n_categories"};

static void put_result(struct jw *j, struct text name, uint64_t count)
{
    jw_begin(j, '{');
    jw_put_text(j, "name", name);
    jw_put_uint(j, "count", count);
    jw_end(j, '}');
}

static void put_results(struct jw *j, const struct stats *s)
{
    struct buf name = {0};
    bool threads = s->has_pid_tids && s->report != STATS_SUMMARY;
    const struct stats_count *rows = s->has_names ? s->names
                                     : threads    ? s->pid_tids
                                                  : s->categories;
    size_t count = s->has_names ? s->name_count : threads ? s->pid_tid_count : s->category_count;

    if (count == 0)
        return;
    jw_key(j, "results");
    jw_begin(j, '[');
    for (size_t i = 0; i < count && !stats_is_over(s, j->out, i); i++) {
        buf_clear(&name);
        value_plain(&name, s->has_names ? &rows[i].name : threads ? &rows[i].pid : &rows[i].cat);
        if (threads) {
            buf_putc(&name, ':');
            value_plain(&name, &rows[i].tid);
        }
        put_result(j, (struct text){name.data, name.len}, rows[i].count);
    }
    jw_end(j, ']');
    j->out->error = j->out->error ? j->out->error : name.error;
    buf_done(&name);
}

static void put_time_range(struct jw *j, const struct stats *s)
{
    if (s->min_ts.type == VALUE_NULL || s->max_te.type == VALUE_NULL)
        return;
    jw_key(j, "time_range");
    jw_begin(j, '{');
    jw_put_value(j, "min_timestamp_us", &s->min_ts);
    jw_put_value(j, "max_timestamp_us", &s->max_te);
    jw_put_double(j, "time_span_seconds", value_double(&s->span, 0) / 1e6);
    jw_end(j, '}');
}

static void put_duration(struct jw *j, const struct stats *s)
{
    const struct measured *d = &s->duration;

    if (!s->has_duration || d->count == 0)
        return;
    jw_key(j, "duration");
    jw_begin(j, '{');
    jw_put_uint(j, "count", d->count);
    jw_put_value(j, "mean_us", &d->mean);
    jw_put_value(j, "stddev_us", &d->std);
    jw_put_value(j, "min_us", &d->min);
    jw_put_value(j, "max_us", &d->max);
    jw_end(j, '}');
}

/* ---- the report detailed --------------------------------------------------------------------- */

static void put_measured(struct jw *j, const char *key, const struct measured *m)
{
    static const char *const names[] = {"p50", "p90", "p99"};

    jw_key(j, key);
    jw_begin(j, '{');
    jw_put_uint(j, "count", m->count);
    jw_put_value(j, "mean", &m->mean);
    jw_put_value(j, "sum", &m->sum);
    jw_key(j, "percentiles");
    jw_begin(j, '{');
    for (unsigned i = 0; i < STATS_QUANTILES && m->count; i++)
        for (unsigned k = 0; k < 3; k++)
            if (strcmp(stats_quantile_names[i], names[k]) == 0)
                jw_put_value(j, names[k], &m->quantiles[i]);
    jw_end(j, '}');
    jw_end(j, '}');
}

/* "a|b" */
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

static void put_io(struct jw *j, const struct stats *s, struct buf *key)
{
    jw_key(j, "grouped_io");
    jw_begin(j, '{');
    for (size_t i = 0; i < s->group_count && !stats_is_over(s, j->out, i); i++) {
        const struct stats_group *g = &s->groups[i];
        if (g->size.count == 0)
            continue;
        jw_key(j, group_key(s, g, key));
        jw_begin(j, '{');
        for (unsigned q = 0; q < STATS_QUANTITIES; q++)
            if (stats_quantity(g, q)->count)
                put_measured(j, stats_quantity_names[q], stats_quantity(g, q));
        jw_end(j, '}');
    }
    jw_end(j, '}');
}

static void put_detailed(struct jw *j, const struct stats *s, const char *path)
{
    struct buf key = {0};

    jw_put_str(j, "file_path", path);
    jw_key(j, "detailed");
    jw_begin(j, '{');
    jw_put_uint(j, "events_scanned", s->events);
    jw_put_uint(j, "chunks_scanned", s->counters.chunks_scanned);
    jw_put_uint(j, "chunks_skipped", s->counters.chunks_skipped);
    put_measured(j, "duration", &s->duration);
    jw_key(j, "grouped_duration");
    jw_begin(j, '{');
    for (size_t i = 0; i < s->group_count && !stats_is_over(s, j->out, i); i++)
        put_measured(j, group_key(s, &s->groups[i], &key), &s->groups[i].duration);
    jw_end(j, '}');
    put_io(j, s, &key);
    jw_end(j, '}');
    j->out->error = j->out->error ? j->out->error : key.error;
    buf_done(&key);
}

void format_stats_file(const struct stats *s, const char *path, struct jw *j)
{
    jw_begin(j, '{');
    if (s->report == STATS_DETAILED) {
        put_detailed(j, s, path);
    } else {
        jw_put_str(j, "query_type", query_types[s->report]);
        jw_put_uint(j, "total_events", s->events);
        if (s->report != STATS_TIME_RANGE && s->report != STATS_DURATION)
            put_results(j, s);
        if (s->report == STATS_SUMMARY || s->report == STATS_TIME_RANGE)
            put_time_range(j, s);
        if (s->report == STATS_SUMMARY || s->report == STATS_DURATION)
            put_duration(j, s);
    }
    jw_end(j, '}');
}

void format_stats_failed(const char *path, const char *error, struct jw *j)
{
    jw_begin(j, '{');
    jw_put_str(j, "file_path", path);
    jw_put_bool(j, "success", false);
    jw_put_str(j, "error", error);
    jw_end(j, '}');
}
