/* call_tree_json.c - what a call tree was made from, and its analysis. */
#include "format/report/call_tree.h"

static void put_time(struct jw *j, const char *key, __int128 ns)
{
    jw_key(j, key);
    jw_time_ns(j, ns);
}

/* A null where there is nothing to tell. */
static void put_double(struct jw *j, const char *key, double d, bool known)
{
    struct value v = {.type = known ? VALUE_DOUBLE : VALUE_NULL, .d = d};

    jw_put_value(j, key, &v);
}

void call_tree_summary(struct format_call_tree *f, struct jw *j)
{
    struct query_counters c;
    struct call_tree_totals t;

    query_counters(f->query, &c);
    call_tree_totals(f->tree, &t);
    jw_put_uint(j, "generation", c.generation);
    jw_put_bool(j, "complete", query_complete(f->query));
    jw_put_uint(j, "files", c.files);
    jw_put_uint(j, "damaged_files", c.damaged_files);
    jw_put_uint(j, "events", t.events);
    jw_put_uint(j, "in_tree", t.in_tree);
    jw_put_uint(j, "other_phases", t.other_phases);
    jw_put_uint(j, "untimed", t.untimed);
    jw_put_uint(j, "partial_overlaps", t.partial_overlaps);
    jw_put_uint(j, "threads", t.threads);
    jw_put_uint(j, "levels", t.levels);
    jw_key(j, "hosts_apart");
    jw_begin(j, '[');
    for (size_t i = 0; i < t.host_count; i++) {
        jw_begin(j, '{');
        jw_put_value(j, "host", &t.hosts_apart[i].name);
        put_time(j, "min_ts", t.hosts_apart[i].min_ts);
        put_time(j, "max_te", t.hosts_apart[i].max_te);
        put_time(j, "gap", t.hosts_apart[i].gap_ns);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void put_sum(struct jw *j, const struct call_tree_sum *s)
{
    jw_put_uint(j, "count", s->count);
    put_time(j, "total", s->total_ns);
    put_time(j, "self", s->self_ns);
    put_double(j, "mean", (double)s->total_ns / 1000 / (double)s->count, s->count > 0);
    jw_end(j, '}');
}

static void put_names(struct jw *j, const struct call_tree_sum *s)
{
    jw_put_value(j, "name", &s->name);
    jw_put_value(j, "cat", &s->cat);
}

static void put_tables(struct jw *j, const struct call_tree_analysis *a)
{
    jw_key(j, "most_called");
    jw_begin(j, '[');
    for (size_t i = 0; i < a->most_called_count; i++) {
        jw_begin(j, '{');
        put_names(j, &a->most_called[i]);
        put_sum(j, &a->most_called[i]);
    }
    jw_end(j, ']');
    jw_key(j, "categories");
    jw_begin(j, '[');
    for (size_t i = 0; i < a->category_count; i++) {
        jw_begin(j, '{');
        jw_put_value(j, "cat", &a->categories[i].cat);
        put_sum(j, &a->categories[i]);
    }
    jw_end(j, ']');
    jw_key(j, "depths");
    jw_begin(j, '[');
    for (size_t i = 0; i < a->depth_count; i++) {
        jw_begin(j, '{');
        jw_put_uint(j, "depth", a->depths[i].depth);
        put_sum(j, &a->depths[i]);
    }
    jw_end(j, ']');
    jw_key(j, "hottest_paths");
    jw_begin(j, '[');
    for (size_t i = 0; i < a->hottest_count; i++) {
        const struct call_tree_sum *s = &a->hottest[i];
        struct value path = {.type = s->path.ptr ? VALUE_TEXT : VALUE_NULL, .text = s->path};
        jw_begin(j, '{');
        jw_put_value(j, "path", &path);
        jw_put_uint(j, "depth", s->depth);
        put_names(j, s);
        put_sum(j, s);
    }
    jw_end(j, ']');
}

static void put_durations(struct jw *j, const struct call_tree_analysis *a)
{
    bool known = a->count > 0;

    jw_key(j, "duration");
    jw_begin(j, '{');
    jw_put_uint(j, "count", a->count);
    put_time(j, "total", a->total_ns);
    put_double(j, "mean", (double)a->total_ns / 1000 / (double)a->count, known);
    put_double(j, "median", a->median_us, known);
    put_double(j, "p95", a->p95_us, known);
    put_double(j, "p99", a->p99_us, known);
    struct value least = {.type = known ? VALUE_TIME : VALUE_NULL, .wide = a->min_ns},
                 most = {.type = least.type, .wide = a->max_ns};
    jw_put_value(j, "min", &least);
    jw_put_value(j, "max", &most);
    jw_end(j, '}');
}

static void put_critical(struct format_call_tree *f, struct jw *j, uint32_t thread)
{
    struct call_tree_thread t;
    struct call_tree_event e;

    call_tree_thread(f->tree, thread, &t);
    call_tree_critical(f->tree, thread, 0, &e);
    jw_begin(j, '{');
    jw_put_value(j, "host", &t.host);
    jw_put_value(j, "pid", &t.pid);
    jw_put_value(j, "tid", &t.tid);
    put_time(j, "from", e.ts_ns);
    put_time(j, "to", (__int128)e.ts_ns + e.dur_ns);
    jw_key(j, "events");
    jw_begin(j, '[');
    for (size_t i = 0; i < t.chain; i++) {
        call_tree_critical(f->tree, thread, i, &e);
        jw_begin(j, '{');
        jw_put_value(j, "name", &e.name);
        jw_put_value(j, "cat", &e.cat);
        put_time(j, "ts", e.ts_ns);
        put_time(j, "dur", e.dur_ns);
        jw_end(j, '}');
    }
    jw_end(j, ']');
    jw_end(j, '}');
}

static void put_analysis(struct format_call_tree *f, const struct call_tree_analysis *a)
{
    struct jw *j = &f->jw;
    struct call_tree_totals t;

    call_tree_totals(f->tree, &t);
    jw_key(j, "analysis");
    jw_begin(j, '{');
    put_durations(j, a);
    put_tables(j, a);
    jw_key(j, "critical_path");
    if (t.threads)
        put_critical(f, j, a->critical_thread);
    else
        jw_null(j);
    jw_key(j, "threads");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < t.threads; i++)
        put_critical(f, j, i);
    jw_end(j, ']');
    jw_end(j, '}');
}

void call_tree_json_head(struct format_call_tree *f, struct buf *out)
{
    const struct call_tree_analysis *a = call_tree_analysis(f->tree);

    jw_init(&f->jw, out, f->o.pretty);
    jw_begin(&f->jw, '{');
    call_tree_summary(f, &f->jw);
    if (f->o.focus)
        jw_put_str(&f->jw, "focus", f->o.focus);
    if (a)
        put_analysis(f, a);
}
