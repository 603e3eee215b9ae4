/* report_print.c - prints the report as text or JSON. */
#include "replay/report/report.h"

#include "dftracerd/format.h"

#include <stdlib.h>

/* Names come from the trace: they must not send control characters to a terminal. */
static void put_name(struct buf *out, int width, struct text name)
{
    size_t from = out->len;
    buf_printf(out, "%-*.*s", width, (int)name.len, name.ptr ? name.ptr : "");
    for (size_t i = from; i < out->len; i++)
        if ((unsigned char)out->data[i] < 0x20 || out->data[i] == 0x7f)
            out->data[i] = '?';
}

static int64_t time_between(int64_t from, int64_t to)
{
    int64_t ns;
    return __builtin_sub_overflow(to, from, &ns) ? INT64_MAX : ns;
}

static double quantile(const struct sketch *s, double q)
{
    return s && sketch_count(s) ? sketch_quantile(s, q, false) : 0;
}

static double bandwidth(uint64_t bytes, int64_t ns)
{
    return ns > 0 ? (double)bytes * 1e9 / (double)ns : 0;
}

static int compare_count(const void *a, const void *b, void *arg)
{
    const struct report *r = arg;
    const struct report_name *x = &r->by_name[*(const uint32_t *)a],
                             *y = &r->by_name[*(const uint32_t *)b];
    uint64_t m = x->executed + x->failed, n = y->executed + y->failed;
    return m != n ? (m < n ? 1 : -1) : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static uint32_t order_names(struct report *r, uint32_t *order)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < intern_count(r->names) && i < REPORT_NAMES_MAX; i++)
        if (r->by_name[i].executed + r->by_name[i].failed)
            order[count++] = i;
    qsort_r(order, count, sizeof *order, compare_count, r);
    return count;
}

static void print_names(struct report *r, struct buf *out)
{
    static uint32_t order[REPORT_NAMES_MAX];
    uint32_t count = order_names(r, order);
    buf_printf(out, "\n%-16s %10s %8s %14s %12s %10s %10s %12s %10s %10s %10s %10s\n", "Name",
               "count", "errors", "bytes", "traced ms", "p50 us", "p99 us", "replayed ms", "p50 us",
               "p99 us", "traced B/s", "replay B/s");
    for (uint32_t i = 0; i < count; i++) {
        const struct report_name *n = &r->by_name[order[i]];
        struct text name = intern_text(r->names, order[i]);
        put_name(out, 16, name);
        buf_printf(
            out, " %10llu %8llu %14llu %12.3f %10.1f %10.1f %12.3f %10.1f %10.1f %10.3g %10.3g\n",
            (unsigned long long)(n->executed + n->failed),
            (unsigned long long)(n->errors + n->failed), (unsigned long long)n->bytes,
            (double)n->time_traced_ns / 1e6, quantile(n->traced, .5), quantile(n->traced, .99),
            (double)n->time_ns / 1e6, quantile(n->taken, .5), quantile(n->taken, .99),
            bandwidth(n->bytes_traced, n->time_traced_ns), bandwidth(n->bytes, n->time_ns));
    }
}

static void print_reasons(struct report *r, bool failed, struct buf *out)
{
    bool first = true;
    for (unsigned i = 0; i < r->reason_count; i++) {
        if (r->reasons[i].failed != failed)
            continue;
        struct text name = intern_text(r->names, r->reasons[i].name);
        if (first)
            buf_puts(out, failed ? "\nFailed, by name and reason:\n"
                                 : "\nNot replayed, by name and reason:\n");
        first = false;
        buf_printf(out, "  %10llu  ", (unsigned long long)r->reasons[i].count);
        put_name(out, 0, name);
        buf_printf(out, "%s%s", name.len ? ": " : "", r->reasons[i].reason);
        if (r->reasons[i].file) {
            buf_puts(out, ", first ");
            buf_json_text(out, text_of(r->reasons[i].file));
        }
        buf_putc(out, '\n');
    }
}

static void print_categories(struct report *r, struct buf *out)
{
    buf_puts(out, "\nCategories:\n");
    for (uint32_t i = 0; i < intern_count(r->categories) && i < REPORT_NAMES_MAX; i++) {
        struct text name = intern_text(r->categories, i);
        buf_printf(out, "  %10llu  ", (unsigned long long)r->category_counts[i]);
        put_name(out, 0, name);
        buf_putc(out, '\n');
    }
}

static void print_text(struct report *r, const struct replay_options *o, const char *root,
                       struct buf *out)
{
    uint64_t moved = 0;
    for (uint32_t i = 0; i < REPORT_NAMES_MAX; i++)
        moved += r->by_name[i].bytes;
    buf_puts(out, "=== Replay Summary ===\n");
    if (root)
        buf_printf(out, "Root directory: %s%s\n", root, r->root_removed ? " (removed)" : "");
    buf_printf(
        out,
        "Total events: %llu\nExecuted: %llu\nFiltered: %llu\nFailed: %llu\nNot replayed: %llu\n",
        (unsigned long long)r->total, (unsigned long long)r->executed,
        (unsigned long long)r->filtered, (unsigned long long)r->failed,
        (unsigned long long)r->skipped);
    if (r->gaps)
        buf_printf(out, "Waited for (no I/O): %llu\n", (unsigned long long)r->gaps);
    if (r->beyond)
        buf_printf(out, "After --max-events: %llu\n", (unsigned long long)r->beyond);
    if (r->invalid)
        buf_printf(out, "Invalid lines: %llu\n", (unsigned long long)r->invalid);
    buf_printf(out, "Success rate: %.2f%%\n",
               r->total ? 100.0 * (double)r->executed / (double)r->total : 0);
    buf_printf(out, "Traced time: %.6f s\nReplay time: %.6f s\n",
               (double)time_between(r->first_ns, r->last_ns) / 1e9, (double)r->took_ns / 1e9);
    buf_printf(out, "Bytes: %llu\nFiles: %llu\nProcesses: %llu\nThreads: %llu\n",
               (unsigned long long)moved, (unsigned long long)r->files,
               (unsigned long long)r->processes, (unsigned long long)r->threads);
    if (r->threads_shared)
        buf_printf(out, "Threads that shared one of the %d threads of the replay: %llu\n",
                   REPLAY_LANES_MAX, (unsigned long long)r->threads_shared);
    if (sketch_count(r->late))
        buf_printf(out, "Lateness: p50 %.1f us, p99 %.1f us, max %.1f us\n", quantile(r->late, .5),
                   quantile(r->late, .99), (double)r->late_max_ns / 1e3);
    if (r->children)
        buf_printf(out, "Processes of the replay: %llu\n", (unsigned long long)r->children);
    if (r->unprepared)
        buf_printf(out, "Files that could not be prepared: %llu (first: %s)\n",
                   (unsigned long long)r->unprepared, r->unprepared_why);
    if (r->left)
        buf_printf(out, "Files of the replay that could not be removed: %llu\n",
                   (unsigned long long)r->left);
    print_names(r, out);
    print_reasons(r, true, out);
    print_reasons(r, false, out);
    if (o->verbose)
        print_categories(r, out);
}

static void json_times(struct jw *j, const char *key, int64_t ns, const struct sketch *s,
                       uint64_t bytes)
{
    jw_key(j, key);
    jw_begin(j, '{');
    jw_put_time(j, "time", ns);
    jw_put_double(j, "p50", quantile(s, .5));
    jw_put_double(j, "p99", quantile(s, .99));
    jw_put_uint(j, "bytes", bytes);
    jw_put_double(j, "bandwidth", bandwidth(bytes, ns));
    jw_end(j, '}');
}

static void json_names(struct report *r, struct jw *j)
{
    static uint32_t order[REPORT_NAMES_MAX];
    uint32_t count = order_names(r, order);
    jw_key(j, "names");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct report_name *n = &r->by_name[order[i]];
        jw_begin(j, '{');
        jw_put_text(j, "name", intern_text(r->names, order[i]));
        jw_put_uint(j, "count", n->executed + n->failed);
        jw_put_uint(j, "errors", n->errors);
        jw_put_uint(j, "failed", n->failed);
        json_times(j, "traced", n->time_traced_ns, n->traced, n->bytes_traced);
        json_times(j, "replayed", n->time_ns, n->taken, n->bytes);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void json_reasons(struct report *r, struct jw *j, const char *key, bool failed)
{
    jw_key(j, key);
    jw_begin(j, '[');
    for (unsigned i = 0; i < r->reason_count; i++) {
        if (r->reasons[i].failed != failed)
            continue;
        jw_begin(j, '{');
        jw_put_text(j, "name", intern_text(r->names, r->reasons[i].name));
        jw_put_str(j, "reason", r->reasons[i].reason);
        jw_put_str(j, "first_file", r->reasons[i].file);
        jw_put_uint(j, "count", r->reasons[i].count);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void print_json(struct report *r, const char *root, struct buf *out)
{
    struct jw j;
    jw_init(&j, out, false);
    jw_begin(&j, '{');
    jw_put_str(&j, "root", root);
    jw_put_uint(&j, "total", r->total);
    jw_put_uint(&j, "executed", r->executed);
    jw_put_uint(&j, "filtered", r->filtered);
    jw_put_uint(&j, "failed", r->failed);
    jw_put_uint(&j, "skipped", r->skipped);
    jw_put_uint(&j, "gaps", r->gaps);
    jw_put_uint(&j, "beyond_max_events", r->beyond);
    jw_put_uint(&j, "invalid_lines", r->invalid);
    jw_put_time(&j, "traced_time", time_between(r->first_ns, r->last_ns));
    jw_put_time(&j, "replay_time", r->took_ns);
    jw_put_uint(&j, "files", r->files);
    jw_put_uint(&j, "processes", r->processes);
    jw_put_uint(&j, "threads", r->threads);
    jw_put_uint(&j, "replay_processes", r->children);
    jw_put_uint(&j, "unprepared_files", r->unprepared);
    jw_put_str(&j, "unprepared_reason", r->unprepared_why);
    jw_put_uint(&j, "files_left", r->left);
    jw_key(&j, "lateness");
    jw_begin(&j, '{');
    jw_put_uint(&j, "count", sketch_count(r->late));
    jw_put_double(&j, "p50", quantile(r->late, .5));
    jw_put_double(&j, "p99", quantile(r->late, .99));
    jw_put_double(&j, "max", (double)r->late_max_ns / 1e3);
    jw_end(&j, '}');
    json_names(r, &j);
    json_reasons(r, &j, "failures", true);
    json_reasons(r, &j, "not_replayed", false);
    jw_end(&j, '}');
    jw_finish(&j);
}

void report_print(struct report *r, const struct replay_options *o, const char *root,
                  struct buf *out)
{
    if (o->json)
        print_json(r, root, out);
    else
        print_text(r, o, root, out);
}
