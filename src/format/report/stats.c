/* stats.c - /stats as JSON, rows and CSV. The tables for people are in stats_text.c.
 */
#include "format/report/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names and values of a measured quantity, in the order of answers. */
enum { MEMBERS = 6 + STATS_QUANTILES };
static const char *const member_names[] = {"count", "sum", "mean", "std", "min", "max"};

static struct value member(const struct measured *m, unsigned i)
{
    const struct value *const first[] = {NULL, &m->sum, &m->mean, &m->std, &m->min, &m->max};

    if (i == 0)
        return (struct value){.type = VALUE_UINT, .u = m->count};
    return i < 6 ? *first[i] : m->quantiles[i - 6];
}

static const char *member_name(unsigned i)
{
    return i < 6 ? member_names[i] : stats_quantile_names[i - 6];
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_measured(struct jw *j, const char *key, const struct measured *m)
{
    jw_key(j, key);
    jw_begin(j, '{');
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct value v = member(m, i);
        jw_put_value(j, member_name(i), &v);
    }
    jw_end(j, '}');
}

static void put_counts(struct jw *j, const char *key, const struct stats *s,
                       const struct stats_count *rows, size_t count, uint64_t total,
                       unsigned columns)
{
    jw_key(j, key);
    jw_begin(j, '[');
    for (size_t i = 0; i < count && !stats_is_over(s, j->out, i); i++) {
        jw_begin(j, '{');
        if (columns & COLUMN_CAT)
            jw_put_value(j, "cat", &rows[i].cat);
        if (columns & COLUMN_NAME)
            jw_put_value(j, "name", &rows[i].name);
        if (columns & COLUMN_THREAD) {
            jw_put_value(j, "pid", &rows[i].pid);
            jw_put_value(j, "tid", &rows[i].tid);
            if (rows[i].host.type != VALUE_NULL)
                jw_put_value(j, "host", &rows[i].host);
        }
        jw_put_uint(j, "count", rows[i].count);
        jw_end(j, '}');
    }
    jw_end(j, ']');
    char name[32];
    snprintf(name, sizeof(name), "%s_total", key);
    jw_put_uint(j, name, total);
}

static void put_groups(struct jw *j, const struct stats *s)
{
    jw_key(j, "groups");
    jw_begin(j, '[');
    for (size_t i = 0; i < s->group_count && !stats_is_over(s, j->out, i); i++) {
        const struct stats_group *g = &s->groups[i];
        jw_begin(j, '{');
        for (size_t k = 0; k < s->group_by_count; k++)
            jw_put_value(j, s->group_by[k], &g->keys[k]);
        jw_put_uint(j, "count", g->count);
        for (unsigned q = 0; q < STATS_QUANTITIES; q++)
            put_measured(j, stats_quantity_names[q], stats_quantity(g, q));
        jw_end(j, '}');
    }
    jw_end(j, ']');
    jw_put_uint(j, "groups_total", s->groups_total);
}

static void put_histogram(struct jw *j, const struct stats *s)
{
    jw_key(j, "histogram");
    jw_begin(j, '[');
    for (size_t i = 0; i < s->histogram_count; i++)
        jw_object(j, &stats_bin_type, &s->histogram[i]);
    jw_end(j, ']');
}

static void put_head(struct jw *j, const struct stats *s, const char *query)
{
    const struct query_counters *c = &s->counters;

    jw_put_str(j, "report", stats_report_name(s->report));
    jw_put_str(j, "query", query ? query : "");
    jw_put_uint(j, "generation", c->generation);
    jw_put_bool(j, "complete", s->complete);
    jw_put_uint(j, "damaged_files", c->damaged_files);
    jw_put_uint(j, "files", c->files);
    jw_key(j, "chunks");
    jw_begin(j, '{');
    jw_put_uint(j, "total", c->chunks_total);
    jw_put_uint(j, "scanned", c->chunks_scanned);
    jw_put_uint(j, "skipped", c->chunks_skipped);
    jw_put_uint(j, "answered_from_summary", c->chunks_from_summary);
    jw_end(j, '}');
    jw_put_uint(j, "events", s->events);
    jw_key(j, "time_range");
    jw_begin(j, '{');
    jw_put_value(j, "min_ts", &s->min_ts);
    jw_put_value(j, "max_te", &s->max_te);
    jw_put_value(j, "span", &s->span);
    jw_end(j, '}');
}

static void put_stats(const struct stats *s, const char *query, bool pretty, struct buf *out)
{
    struct jw j;

    jw_init(&j, out, pretty);
    jw_begin(&j, '{');
    put_head(&j, s, query);
    if (s->has_duration && s->report != STATS_DETAILED)
        put_measured(&j, "duration", &s->duration);
    if (s->has_categories)
        put_counts(&j, "categories", s, s->categories, s->category_count, s->categories_total,
                   COLUMN_CAT);
    if (s->has_names)
        put_counts(&j, "names", s, s->names, s->name_count, s->names_total,
                   COLUMN_CAT | COLUMN_NAME);
    if (s->has_pid_tids)
        put_counts(&j, "pid_tids", s, s->pid_tids, s->pid_tid_count, s->pid_tids_total,
                   COLUMN_THREAD);
    if (s->has_groups)
        put_groups(&j, s);
    if (s->has_histogram)
        put_histogram(&j, s);
    jw_end(&j, '}');
    jw_finish(&j);
}

/* ---- flat rows: the list that a report is about, or one row of its numbers ------------------- */

struct flat {
    const char *names[128];
    struct value values[128];
    size_t count;
    bool named;         /* the names have been made: by the first row */
    bool failed;        /* no memory for one of them */
    struct arena arena; /* of names */
};

static void flat_add(struct flat *f, const char *prefix, const char *name, struct value v)
{
    char text[64];

    if (f->count == sizeof(f->names) / sizeof(f->names[0]))
        return;
    if (!f->named) {
        snprintf(text, sizeof(text), "%s_%s", prefix, name);
        f->names[f->count] = arena_strdup(&f->arena, text_of(*prefix ? text : name));
        f->failed = f->failed || !f->names[f->count];
    }
    f->values[f->count++] = v;
}

static void flat_uint(struct flat *f, const char *name, uint64_t u)
{
    flat_add(f, "", name, (struct value){.type = VALUE_UINT, .u = u});
}

static void flat_measured(struct flat *f, const char *prefix, const struct measured *m)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        flat_add(f, prefix, member_name(i), member(m, i));
}

static void flat_group(struct flat *f, const struct stats *s, const struct stats_group *g)
{
    for (size_t k = 0; k < s->group_by_count; k++)
        flat_add(f, "", s->group_by[k], g->keys[k]);
    flat_uint(f, "count", g->count);
    for (unsigned q = 0; q < STATS_QUANTITIES; q++)
        flat_measured(f, stats_quantity_names[q], stats_quantity(g, q));
}

static void flat_count(struct flat *f, const struct stats_count *c, unsigned columns)
{
    if (columns & COLUMN_CAT)
        flat_add(f, "", "cat", c->cat);
    if (columns & COLUMN_NAME)
        flat_add(f, "", "name", c->name);
    if (columns & COLUMN_THREAD) {
        flat_add(f, "", "pid", c->pid);
        flat_add(f, "", "tid", c->tid);
        flat_add(f, "", "host", c->host);
    }
    flat_uint(f, "count", c->count);
}

static void flat_numbers(struct flat *f, const struct stats *s)
{
    flat_uint(f, "files", s->counters.files);
    flat_uint(f, "events", s->events);
    flat_add(f, "", "min_ts", s->min_ts);
    flat_add(f, "", "max_te", s->max_te);
    flat_add(f, "", "span", s->span);
    if (s->has_categories)
        flat_uint(f, "categories", s->categories_total);
    if (s->has_pid_tids)
        flat_uint(f, "pid_tids", s->pid_tids_total);
    if (s->has_duration)
        flat_measured(f, "duration", &s->duration);
}

struct list {
    const struct stats_count *rows;
    size_t count;
    unsigned columns;
};

/* Row i of the report; also called without rows, for the names. */
static void flat_row(struct flat *f, const struct stats *s, const struct list *l, size_t i)
{
    static const struct stats_group no_group;
    static const struct stats_count no_count;
    struct value nulls[64] = {{0}};
    struct stats_group empty = no_group;

    f->count = 0;
    empty.keys = nulls;
    if (s->has_groups)
        flat_group(f, s, i < s->group_count ? &s->groups[i] : &empty);
    else if (l->columns)
        flat_count(f, i < l->count ? &l->rows[i] : &no_count, l->columns);
    else
        flat_numbers(f, s);
}

static struct list list_of(const struct stats *s)
{
    if (s->report == STATS_SUMMARY)
        return (struct list){0};
    if (s->has_categories)
        return (struct list){s->categories, s->category_count, COLUMN_CAT};
    if (s->has_names)
        return (struct list){s->names, s->name_count, COLUMN_CAT | COLUMN_NAME};
    if (s->has_pid_tids)
        return (struct list){s->pid_tids, s->pid_tid_count, COLUMN_THREAD};
    return (struct list){0};
}

static int put_rows(const struct stats *s, enum format f, struct buf *out)
{
    struct list list = list_of(s);
    size_t count = s->has_groups ? s->group_count : list.columns ? list.count : 1;
    struct format_table *table = NULL;
    struct flat *flat = calloc(1, sizeof(*flat));
    int rc = flat ? 0 : -ENOMEM;

    if (rc == 0) {
        flat_row(flat, s, &list, SIZE_MAX);
        rc = flat->failed ? -ENOMEM : format_table_new(f, flat->names, flat->count, &table);
    }
    for (size_t i = 0; i < count && rc == 0 && !stats_is_over(s, out, i); i++) {
        flat->named = true;
        flat_row(flat, s, &list, i);
        format_table_row(table, flat->values, out);
    }
    if (rc == 0)
        format_table_end(table, out);
    format_table_free(table);
    if (flat)
        arena_done(&flat->arena);
    free(flat);
    return rc;
}

int format_stats(const struct stats *s, const char *query, enum format f, bool pretty,
                 struct buf *out)
{
    int rc = 0;

    if (f == FORMAT_NDJSON || f == FORMAT_CSV)
        rc = put_rows(s, f, out);
    else if (f == FORMAT_TEXT)
        stats_text_report(s, out);
    else if (f == FORMAT_JSON)
        put_stats(s, query, pretty, out);
    else
        return ERR_FORMAT;
    if (rc == 0 && out->error == 0 && s->budget)
        rc = budget_check(s->budget); /* a list may have ended early */
    return rc < 0 ? rc : out->error;
}
