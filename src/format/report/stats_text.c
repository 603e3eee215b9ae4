/* stats_text.c - /stats as text: the tables of dftracer_stats, for all files together. */
#include "format/report/stats.h"
#include "format/writer/text_number.h"

#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 30, BAR_WIDTH = 40 };

/* A longer name is not cut, but moves the rest of its line: another operation may begin with the
 * same characters. */
static void put_name(struct buf *out, struct text name)
{
    put_padded(out, name, -NAME_WIDTH);
}

static void put_count_line(struct buf *out, struct buf *name, uint64_t count)
{
    char number[24];
    size_t len = num_format_u64(count, number);

    buf_puts(out, "    ");
    put_name(out, (struct text){name->data, name->len});
    buf_putc(out, ' ');
    put_padded(out, (struct text){number, len}, 12);
    buf_putc(out, '\n');
    buf_clear(name);
}

static void put_title(struct buf *out, const char *title, size_t shown, uint64_t total)
{
    if (shown < total)
        buf_printf(out, "\n  %s (%zu of %llu):\n", title, shown, (unsigned long long)total);
    else
        buf_printf(out, "\n  %s (%llu):\n", title, (unsigned long long)total);
}

static void put_tables(const struct stats *s, struct buf *out)
{
    struct buf name = {0};

    if (s->has_categories) {
        put_title(out, "Categories", s->category_count, s->categories_total);
        for (size_t i = 0; i < s->category_count && !list_must_stop(s->budget, i, out); i++) {
            value_plain(&name, &s->categories[i].cat);
            put_count_line(out, &name, s->categories[i].count);
        }
    }
    if (s->has_names) {
        put_title(out, "Names", s->name_count, s->names_total);
        for (size_t i = 0; i < s->name_count && !list_must_stop(s->budget, i, out); i++) {
            value_plain(&name, &s->names[i].name);
            put_count_line(out, &name, s->names[i].count);
        }
    }
    if (s->has_pid_tids) {
        put_title(out, "Process/Thread Pairs", s->pid_tid_count, s->pid_tids_total);
        for (size_t i = 0; i < s->pid_tid_count && !list_must_stop(s->budget, i, out); i++) {
            const struct stats_count *c = &s->pid_tids[i];
            value_plain(&name, &c->pid);
            buf_putc(&name, ':');
            value_plain(&name, &c->tid);
            if (c->host.type != VALUE_NULL) {
                buf_puts(&name, " on ");
                value_plain(&name, &c->host);
            }
            put_count_line(out, &name, c->count);
        }
    }
    put_done(out, &name);
}

/* ---- durations ------------------------------------------------------------------------------- */

static const char *const quantile_names[STATS_QUANTILES] = {"p10", "p25", "p50", "p75",
                                                            "p90", "p95", "p99"};

static void put_line(struct buf *out, const char *label, const struct value *v, unsigned digits,
                     const char *unit)
{
    buf_printf(out, "    %-8s ", label);
    put_fixed(out, v, digits);
    buf_printf(out, "%s\n", v->type == VALUE_NULL ? "" : unit);
}

static void put_duration(const struct stats *s, bool quantiles, struct buf *out)
{
    const struct measured *m = &s->duration;

    buf_printf(out, "\n  Duration (all events):\n    %-8s %llu\n", "Count",
               (unsigned long long)m->count);
    if (quantiles)
        put_line(out, "Sum", &m->sum, 1, " us");
    put_line(out, "Mean", &m->mean, 1, " us");
    put_line(out, "Stddev", &m->std, 1, " us");
    put_line(out, "Min", &m->min, 1, " us");
    put_line(out, "Max", &m->max, 1, " us");
    for (unsigned i = 0; quantiles && i < STATS_QUANTILES; i++)
        put_line(out, quantile_names[i], &m->quantiles[i], 1, " us");
}

static void put_bin_label(const struct stats_bin *bin, struct buf *out)
{
    if (bin->hi == 0) {
        buf_puts(out, "0 us");
        return;
    }
    buf_putc(out, '[');
    put_commas(out, (uint64_t)bin->lo);
    buf_puts(out, ", ");
    put_commas(out, (uint64_t)bin->hi);
    buf_puts(out, ") us");
}

static void put_histogram(const struct stats *s, struct buf *out)
{
    struct buf label = {0};
    uint64_t most = 1;

    buf_puts(out, "\n  Duration Histogram:\n");
    for (size_t i = 0; i < s->histogram_count; i++)
        most = s->histogram[i].count > most ? s->histogram[i].count : most;
    for (size_t i = 0; i < s->histogram_count; i++) {
        const struct stats_bin *bin = &s->histogram[i];
        size_t bar = (size_t)((double)bin->count * BAR_WIDTH / (double)most);
        put_bin_label(bin, &label);
        buf_puts(out, "    ");
        put_padded(out, (struct text){label.data, label.len}, 34);
        buf_puts(out, " |");
        for (size_t k = 0; k < (bar ? bar : 1); k++)
            buf_putc(out, '#');
        put_spaces(out, BAR_WIDTH - (bar ? bar : 1));
        buf_puts(out, "| ");
        put_commas(out, bin->count);
        buf_putc(out, '\n');
        buf_clear(&label);
    }
    put_done(out, &label);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Writes the key of a group, without its category if there is a table for each category. */
static void group_name(const struct stats *s, const struct stats_group *g, int cat,
                       struct buf *name)
{
    bool first = true;

    for (size_t k = 0; k < s->group_by_count; k++) {
        if ((int)k == cat)
            continue;
        if (!first)
            buf_putc(name, '|');
        first = false;
        value_plain(name, &g->keys[k]);
    }
}

static void put_number_cell(struct buf *out, const struct value *v, unsigned digits, int width)
{
    struct buf cell = {0};

    buf_putc(out, ' ');
    put_fixed(&cell, v, digits);
    put_padded(out, (struct text){cell.data, cell.len}, width);
    put_done(out, &cell);
}

static void put_duration_row(const struct stats *s, const struct stats_group *g, int cat,
                             struct buf *name, struct buf *out)
{
    const struct measured *m = &g->duration;
    struct value count = {.type = VALUE_UINT, .u = m->count};

    group_name(s, g, cat, name);
    buf_puts(out, "    ");
    put_name(out, (struct text){name->data, name->len});
    buf_clear(name);
    put_number_cell(out, &count, 0, 10);
    put_number_cell(out, &m->sum, 1, 14);
    put_number_cell(out, &m->mean, 1, 12);
    put_number_cell(out, &m->std, 1, 12);
    put_number_cell(out, &m->min, 0, 10);
    for (unsigned i = 0; i < STATS_QUANTILES; i++)
        put_number_cell(out, &m->quantiles[i], 0, 10);
    put_number_cell(out, &m->max, 0, 10);
    buf_putc(out, '\n');
}

static void put_duration_head(struct buf *out)
{
    static const struct {
        const char *name;
        int width;
    } columns[] = {{"Count", 10}, {"Sum us", 14}, {"Mean us", 12}, {"Stddev us", 12}, {"Min", 10},
                   {"p10", 10},   {"p25", 10},    {"p50", 10},     {"p75", 10},       {"p90", 10},
                   {"p95", 10},   {"p99", 10},    {"Max", 10}};

    buf_printf(out, "    %-*s", NAME_WIDTH, "Name");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        buf_printf(out, " %*s", columns[i].width, columns[i].name);
    buf_putc(out, '\n');
}

/* Finds the next category by the sum of its counts. There are few, so each call searches all. */
static bool next_category(const struct stats *s, int cat, uint64_t below_count, size_t below_first,
                          uint64_t *ret_count, size_t *ret_first)
{
    bool found = false;

    for (size_t i = 0; i < s->group_count; i++) {
        uint64_t sum = 0;
        size_t first = s->group_count;
        for (size_t k = 0; k < s->group_count; k++) {
            if (value_cmp(&s->groups[k].keys[cat], &s->groups[i].keys[cat]) != 0)
                continue;
            first = k < first ? k : first;
            sum += s->groups[k].count;
        }
        if (first != i || sum > below_count || (sum == below_count && first <= below_first))
            continue;
        if (!found || sum > *ret_count) {
            *ret_count = sum;
            *ret_first = first;
            found = true;
        }
    }
    return found;
}

static void put_duration_tables(const struct stats *s, struct buf *out)
{
    bool by_category = s->group_by_count > 1 && s->group_count <= 300;
    uint64_t count = UINT64_MAX;
    size_t first = 0;
    struct buf name = {0};
    int cat = -1;

    for (size_t k = s->group_by_count; by_category && k > 0; k--)
        cat = strcmp(s->group_by[k - 1], "cat") == 0 ? (int)k - 1 : cat;
    if (cat < 0) {
        put_title(out, "Duration by group", s->group_count, s->groups_total);
        put_duration_head(out);
        for (size_t i = 0; i < s->group_count && !list_must_stop(s->budget, i, out); i++)
            put_duration_row(s, &s->groups[i], -1, &name, out);
    }
    while (cat >= 0 && next_category(s, cat, count, first, &count, &first)) {
        buf_puts(out, "\n  Duration [");
        value_plain(out, &s->groups[first].keys[cat]);
        buf_printf(out, "] (%llu):\n", (unsigned long long)count);
        put_duration_head(out);
        for (size_t i = first; i < s->group_count; i++) {
            if (value_cmp(&s->groups[i].keys[cat], &s->groups[first].keys[cat]) == 0)
                put_duration_row(s, &s->groups[i], cat, &name, out);
        }
    }
    put_done(out, &name);
}

static void put_io_table(const struct stats *s, struct buf *out)
{
    static const unsigned p50 = 2;
    struct buf name = {0};
    bool any = false;

    for (size_t i = 0; i < s->group_count && !list_must_stop(s->budget, i, out); i++) {
        const struct stats_group *g = &s->groups[i];
        struct value count = {.type = VALUE_UINT, .u = g->size.count};
        if (g->size.count == 0)
            continue;
        if (!any)
            buf_printf(out, "\n  I/O Statistics:\n    %-*s %10s %14s %14s %16s %16s\n", NAME_WIDTH,
                       "Key", "Count", "Size Mean", "Size p50", "BW p50", "Offset p50");
        any = true;
        group_name(s, g, -1, &name);
        buf_puts(out, "    ");
        put_name(out, (struct text){name.data, name.len});
        buf_clear(&name);
        put_number_cell(out, &count, 0, 10);
        put_number_cell(out, &g->size.mean, 1, 14);
        put_number_cell(out, &g->size.quantiles[p50], 0, 14);
        put_number_cell(out, &g->bandwidth.quantiles[p50], 0, 16);
        put_number_cell(out, &g->offset.quantiles[p50], 0, 16);
        buf_putc(out, '\n');
    }
    put_done(out, &name);
}

int stats_text_report(const struct stats *s, struct buf *out)
{
    const struct query_counters *c = &s->counters;
    bool whole = s->report == STATS_SUMMARY || s->report == STATS_DETAILED;

    put_ruler(out);
    buf_printf(out, "Consolidated (%llu files, %llu successful, %llu failed)\n",
               (unsigned long long)c->files, (unsigned long long)(c->files - s->failed_files),
               (unsigned long long)s->failed_files);
    put_ruler(out);
    if (whole)
        buf_printf(out, "  Chunks: %llu (scanned: %llu, skipped: %llu)\n",
                   (unsigned long long)c->chunks_total, (unsigned long long)c->chunks_scanned,
                   (unsigned long long)c->chunks_skipped);
    if (whole)
        buf_printf(out, "  Events Scanned: %llu\n", (unsigned long long)s->events);
    if ((s->report == STATS_SUMMARY || s->report == STATS_TIME_RANGE) &&
        s->span.type == VALUE_TIME && s->span.wide > 0)
        buf_printf(out, "  Time Span: %.6f seconds\n", (double)s->span.wide / 1e9);
    if (s->report == STATS_TIME_RANGE) {
        buf_puts(out, "  Min Timestamp: ");
        value_plain(out, &s->min_ts);
        buf_puts(out, " us\n  Max Timestamp: ");
        value_plain(out, &s->max_te);
        buf_puts(out, " us\n");
    }
    put_tables(s, out);
    if (s->has_duration || s->report == STATS_DETAILED)
        put_duration(s, whole, out);
    if (s->has_histogram && s->report == STATS_SUMMARY)
        put_histogram(s, out);
    if (s->has_groups) {
        put_duration_tables(s, out);
        if (s->report == STATS_DETAILED)
            put_io_table(s, out);
    }
    buf_printf(out, "\n  Processing Time: %.2f ms\n", (double)s->elapsed_ns / 1e6);
    put_ruler(out);
    return out->error;
}
