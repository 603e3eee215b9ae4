/* module: format */
/* Questions while memory is short: each says so, gives back what it charged to its budget, and is
 * answered the next time. With and without a pool: then the allocation that fails may be that of
 * any thread. */
#include "dftracerd/aggregate.h"
#include "dftracerd/compare.h"
#include "dftracerd/event_count.h"
#include "dftracerd/find.h"
#include "dftracerd/format.h"
#include "dftracerd/histogram.h"
#include "dftracerd/rows.h"
#include "dftracerd/schema.h"
#include "dftracerd/stats.h"
#include "dftracerd/text_range.h"
#include "dftracerd/timeline.h"
#include "dftracerd/view.h"
#include "query_alloc.h"

static struct store store;

struct question {
    const char *name, *query, *preset, *group_by, *file, *within;
    enum stats_report report;
    enum format format;
    bool exact, ordered, scan, metadata;
    uint64_t offset;
};

static void make_store(void)
{
    struct buf b = {0};

    for (int pid = 1; pid <= 3; pid++) {
        char name[32];

        buf_clear(&b);
        buf_printf(&b,
                   "{\"name\":\"HH\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"node%d\","
                   "\"value\":\"h%d\"}}\n",
                   pid, pid, pid);
        buf_printf(&b,
                   "{\"name\":\"PR\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank\",\"value\":"
                   "\"%d\"}}\n",
                   pid, pid);
        for (int i = 0; i < 1300; i++) {
            if (i < 20)
                buf_printf(&b,
                           "{\"name\":\"FH\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"/d/"
                           "%d\",\"value\":\"f%d\"}}\n",
                           pid, i, i);
            buf_printf(&b,
                       "{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d%s,\"dur\":%"
                       "d,\"ph\":\"X\",\"args\":{\"hhash\":\"h%d\","
                       "\"fhash\":\"f%d\",\"ret\":%d,\"d\":%d.25,\"t\":\"text \\u00e9 "
                       "%d\",\"m\":%s,\"a\":[\"x%d\",null]}}\n",
                       i % 3 ? "read" : "write", i % 5 ? "POSIX" : "STDIO", pid, i % 4, i * 10,
                       i % 7 ? "" : ".5", i * 37 % 1000, pid, i % 25, i % 11 ? 4096 : -1, i,
                       i % 900, i % 2 ? "1" : "\"one\"", i % 40);
        }
        snprintf(name, sizeof(name), "d%d/t.pfw", pid % 2);
        name[2] = (char)('a' + pid);
        name[3] = '/';
        snprintf(name, sizeof(name), "d%d/t%d.pfw", pid % 2, pid);
        store_file(&store, name, b.data, b.len);
    }
    buf_clear(&b);
    for (int i = 0; i < 500;
         i++) /* short ones: a chunk has many, of which few names are counted together */
        buf_printf(&b,
                   "{\"name\":\"n%d\",\"cat\":\"c\",\"pid\":9,\"ts\":%d,\"dur\":%d,\"ph\":\"X\"}\n",
                   i % 5, i, i % 9 + 3);
    store_file(&store, "d0/short.pfw", b.data, b.len);
    buf_done(&b);
    CHECK(store_ingest(&store, 21504, 1));
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int open_query(const struct question *q, struct budget *budget, struct err *err,
                      struct query **ret)
{
    struct selection selection;

    selection_init(&selection);
    selection.query = text_of(q->query);
    selection.preset = q->preset;
    selection.within = text_of(q->within);
    selection.clip = q->within;
    if (q->file) {
        selection.files = &q->file;
        selection.file_count = 1;
    }
    return query_open(&store.env, store.snapshot, &selection, budget, err, ret);
}

/* No answer is empty: what follows it is a line. */
static int settle(int rc, struct query *q, const struct budget *budget, struct err *err,
                  struct buf *answer)
{
    buf_putc(answer, '\n');
    return alloc_settle(rc, q, budget, err);
}

static int ask_stats(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct stats *stats = NULL;
    struct stats_options options = {.report = a->report,
                                    .exact = a->exact,
                                    .no_summary = a->scan,
                                    .top_n = 10,
                                    .top_n_pid_tid = 10};
    int rc = open_query(a, &budget, &err, &q);

    if (a->group_by) {
        options.group_by = &a->group_by;
        options.group_by_count = 1;
    }
    rc = rc ? rc : stats_run(q, &options, &err, &stats);
    if (rc == 0) {
        stats->elapsed_ns = 0;
        rc = format_stats(stats, a->format, false, answer);
    }
    stats_free(stats);
    return settle(rc, q, &budget, &err, answer);
}

static int ask_view(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct view *v = NULL;
    struct view_options options = {
        .order_ts = a->ordered, .no_metadata = !a->metadata, .limit = 2500, .offset = a->offset};
    int rc = open_query(a, &budget, &err, &q);

    rc = rc ? rc : view_open(q, &options, &err, &v);
    while (rc == 0 && answer->error == 0)
        rc = view_next(v, 65536, answer, &err);
    view_close(v);
    return settle(rc, q, &budget, &err, answer);
}

static int write_rows(struct rows *rows, size_t columns, struct format_table *table,
                      struct err *err, struct buf *answer)
{
    const struct value *values;
    size_t count;
    int rc;

    while ((rc = rows_next(rows, err, &values, &count)) == 0)
        for (size_t i = 0; i < count; i++)
            format_table_row(table, values + i * columns, answer);
    if (rc == ERR_END)
        format_table_end(table, answer);
    return rc;
}

static int write_row_texts(struct rows *rows, struct format_rows *text, struct err *err,
                           struct buf *answer)
{
    size_t count;
    int rc;

    while ((rc = format_rows_next(text, rows, err, answer, &count)) == 0)
        ;
    if (rc == ERR_END)
        format_rows_end(text, answer);
    return rc;
}

static int ask_rows(void *arg, struct buf *answer)
{
    static const char *const columns[] = {"name", "host",   "file",   "rank",   "ts",    "dur",
                                          "size", "args.d", "args.m", "args.a", "args.t"};
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct rows *rows = NULL;
    struct format_table *table = NULL;
    struct format_rows *text = NULL;
    struct rows_options options = {.columns = columns,
                                   .column_count = sizeof(columns) / sizeof(*columns),
                                   .order_ts = a->ordered,
                                   .limit = 1500};
    int rc = open_query(a, &budget, &err, &q);

    if (rc == 0 && a->format == FORMAT_TEXT)
        rc = format_table_new(a->format, columns, options.column_count, &table);
    else if (rc == 0)
        rc = format_rows_new(a->format, columns, options.column_count, &text);
    options.writer = text ? format_rows_writer(text) : NULL;
    rc = rc ? rc : rows_open(q, &options, &err, &rows);
    if (rc == 0)
        rc = text ? write_row_texts(rows, text, &err, answer)
                  : write_rows(rows, options.column_count, table, &err, answer);
    rows_close(rows);
    format_rows_free(text);
    format_table_free(table);
    return settle(rc, q, &budget, &err, answer);
}

static int ask_aggregate(void *arg, struct buf *answer)
{
    static const char *const tells[] = {"count", "p99:dur", "mean:args.d", "name=sum:size"};
    static const char *const percentiles[] = {"0.25", "0.9"};
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct aggregate *aggregate = NULL;
    struct aggregate_options options = {
        .interval_ns = 5000000, .limit = UINT64_MAX, .parents = !a->group_by, .exact = a->exact};
    int rc = open_query(a, &budget, &err, &q);

    if (a->group_by) {
        options.group_by = &a->group_by;
        options.group_by_count = 1;
        options.aggregates = tells;
        options.aggregate_count = 4;
        options.having = "count > 1";
    } else {
        options.percentiles = percentiles;
        options.percentile_count = 2;
    }
    rc = rc ? rc : aggregate_open(q, &options, &err, &aggregate);
    rc = rc ? rc : alloc_write_aggregate(aggregate, q, a->format, &budget, &err, answer);
    aggregate_close(aggregate);
    return settle(rc, q, &budget, &err, answer);
}

static int ask_compare(void *arg, struct buf *answer)
{
    static const char *const keys[] = {"cat", "name"}, *const percentiles[] = {"0.5", "0.95"};
    static const char *const labels[] = {"one", "two"};
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct comparison *c = NULL;
    struct selection sides[2];
    struct compare_node_options node = {.query = a->query,
                                        .group_by = keys,
                                        .group_by_count = 2,
                                        .metrics = COMPARE_ALL,
                                        .percentiles = percentiles,
                                        .percentile_count = 2};
    struct compare_options options = {.sides = sides,
                                      .side_count = 2,
                                      .labels = labels,
                                      .fail_on = -1,
                                      .interval_ns = 1000000,
                                      .nodes = &node,
                                      .node_count = 1};
    struct format_compare_options told = {.format = a->format};

    for (int i = 0; i < 2; i++) {
        selection_init(&sides[i]);
        sides[i].query = text_of(i ? "pid == 2" : "pid == 1");
    }
    int rc = compare_run(&store.env, store.snapshot, &options, &budget, &err, &c);
    if (rc == 0) {
        c->elapsed_ns = 0;
        rc = format_compare(c, &told, answer);
    }
    comparison_free(c);
    return settle(rc, NULL, &budget, &err, answer);
}

static int ask_schema(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct schema *schema = NULL;
    int rc = open_query(a, &budget, &err, &q);

    rc = rc ? rc : schema_run(q, &err, &schema);
    rc = rc ? rc
            : (a->format == FORMAT_JSON ? format_object(&schema_type, schema, true, answer)
                                        : format_list(a->format, &schema_column_type,
                                                      schema->columns, schema->count, answer));
    schema_free(schema);
    return settle(rc, q, &budget, &err, answer);
}

static int ask_counts(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    uint64_t counts[8] = {0}, n = 0;
    int rc = open_query(a, &budget, &err, &q);

    rc = rc ? rc : query_count_files(q, &err, counts);
    rc = rc ? rc : view_count(q, UINT64_MAX, 10, &err, &n);
    buf_printf(answer, "%" PRIu64 " %" PRIu64 " %" PRIu64 ", %" PRIu64, counts[0], counts[1],
               counts[2], n);
    return settle(rc, q, &budget, &err, answer);
}

static int ask_text(void *arg, struct buf *answer)
{
    static const struct {
        enum text_mode mode;
        uint64_t start, end;
    } ranges[] = {
        {TEXT_BYTES, 100000, 240000}, {TEXT_LINES, 900, 1000}, {TEXT_LINE_BYTES, 70000, 90000}};
    struct budget budget = {0};
    struct err err = {0};
    int rc = ERR_END;

    (void)arg;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges) && rc == ERR_END; i++) {
        struct text_range *r = NULL;

        rc = text_range_open(store.index, store.snapshot, snapshot_file(store.snapshot, 1),
                             ranges[i].mode, ranges[i].start, ranges[i].end, &budget, &err, &r);
        while (rc == 0 && answer->error == 0)
            rc = text_range_next(r, answer, &err);
        text_range_close(r);
    }
    return settle(rc, NULL, &budget, &err, answer);
}

/* ---- for viewers ----------------------------------------------------------------------------- */

static void put_values(struct buf *answer, const struct value *v, size_t count)
{
    struct jw j;

    jw_init(&j, answer, false);
    for (size_t i = 0; i < count; i++)
        jw_value(&j, &v[i]);
}

static int put_lanes(struct timeline *t, struct buf *answer)
{
    const struct timeline_facts *f = timeline_facts(t);
    struct timeline_cell *cells = calloc(f->columns + 1, sizeof(*cells));

    for (uint32_t i = 0; cells && i < f->lanes; i++) {
        const struct timeline_lane *lane = &timeline_lanes(t)[i];
        size_t n = timeline_cells(t, i, cells);

        put_values(answer, lane->keys, 2);
        buf_printf(answer, " %" PRIu64 " %" PRIu64 ":", lane->count, lane->before);
        for (size_t k = 0; k < n; k++)
            buf_printf(answer, " %u %u %" PRIu64 " %" PRIi64, cells[k].column, cells[k].color,
                       cells[k].count, (int64_t)cells[k].busy_ns);
    }
    for (uint32_t i = 0; i < f->events; i++)
        put_values(answer, &timeline_events(t)[i].name, 1);
    free(cells);
    return cells ? 0 : -ENOMEM;
}

static int ask_timeline(void *arg, struct buf *answer)
{
    static const char *const lanes[] = {"host", "tid"};
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct timeline *t = NULL;
    struct timeline_options options = {.group_by = lanes,
                                       .group_by_count = 2,
                                       .color = a->group_by,
                                       .has_window = a->offset,
                                       .from_ns = (int64_t)a->offset,
                                       .to_ns = 10000000,
                                       .width = 50,
                                       .events = 100};
    int rc = open_query(a, &budget, &err, &q);

    rc = rc ? rc : timeline_open(q, &options, &err, &t);
    rc = rc ? rc : put_lanes(t, answer);
    timeline_close(t);
    return settle(rc, q, &budget, &err, answer);
}

static int ask_histogram(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct value_histogram *h = NULL;
    int rc = open_query(a, &budget, &err, &q);

    rc = rc ? rc : histogram_run(q, a->group_by, (uint32_t)a->offset, &err, &h);
    for (size_t i = 0; rc == 0 && i < h->count; i++)
        buf_printf(answer, "%g-%g %" PRIu64 " ", h->bins[i].lo, h->bins[i].hi, h->bins[i].count);
    histogram_free(h);
    return settle(rc, q, &budget, &err, answer);
}

/* A match, and the row of what was found. */
static int ask_find(void *arg, struct buf *answer)
{
    static const char *const columns[] = {"ts", "name", "args.t"};
    const struct question *a = arg;
    const struct find_options options = {
        .backward = a->ordered, .has_at = true, .at_ns = (int64_t)a->offset};
    const struct rows_options one = {.columns = columns, .column_count = 3, .limit = 1};
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct rows *rows = NULL;
    struct find_found found;
    const struct value *values;
    size_t count = 0;
    int rc = open_query(a, &budget, &err, &q);

    rc = rc ? rc : query_find(q, &options, &found, &err);
    if (rc == 0)
        buf_printf(answer, "%" PRIu64 " of %" PRIu64 " ", found.position, found.objects);
    query_close(q);
    q = NULL;
    rc = rc ? rc : open_query(&(struct question){.name = "all"}, &budget, &err, &q);
    rc = rc ? rc : query_begin_at(q, found.file, found.object);
    rc = rc ? rc : rows_open(q, &one, &err, &rows);
    rc = rc ? rc : rows_next(rows, &err, &values, &count);
    put_values(answer, values, rc == 0 && count ? 3 : 0);
    rows_close(rows);
    return settle(rc, q, &budget, &err, answer);
}

/* ---- questions ------------------------------------------------------------------------------- */

static const struct {
    alloc_operation *ask;
    struct question question;
} cases[] = {
    {ask_stats, {.name = "summary", .report = STATS_SUMMARY}},
    {ask_stats,
     {.name = "detailed by file",
      .report = STATS_DETAILED,
      .group_by = "file",
      .format = FORMAT_TEXT,
      .exact = true}},
    {ask_stats,
     {.name = "detailed, filtered",
      .report = STATS_DETAILED,
      .group_by = "args.t",
      .query = "cat == 'POSIX' and (name ~ '^r' or args.m in [1, 'one']) and not (file like "
               "'/d/1%') and dur > 5us"}},
    {ask_stats,
     {.name = "threads of a preset",
      .report = STATS_PID_TIDS,
      .preset = "io",
      .format = FORMAT_CSV}},
    {ask_stats,
     {.name = "names by scan", .report = STATS_NAMES, .scan = true, .file = "**/t*.pfw"}},
    {ask_view, {.name = "lines", .query = "args.d > 1000.5 and 'x1' in args.a", .metadata = true}},
    {ask_view, {.name = "lines in order of time", .ordered = true, .offset = 100}},
    {ask_rows, {.name = "rows", .query = "host == 'node2' or rank == 1", .format = FORMAT_NDJSON}},
    {ask_rows, {.name = "rows in order of time", .ordered = true, .format = FORMAT_CSV}},
    {ask_rows, {.name = "rows as a table", .query = "ret < 0", .format = FORMAT_TEXT}},
    {ask_aggregate, {.name = "aggregate", .format = FORMAT_CSV}},
    {ask_aggregate, {.name = "aggregate as arrow", .format = FORMAT_ARROW}},
    {ask_aggregate, {.name = "aggregate as slices", .format = FORMAT_PERFETTO}},
    {ask_aggregate,
     {.name = "aggregate by file",
      .group_by = "file",
      .query = "ret > 0",
      .format = FORMAT_NDJSON,
      .exact = true}},
    {ask_compare, {.name = "compare", .query = "dur > 5us", .format = FORMAT_JSON}},
    {ask_compare, {.name = "compare as text", .format = FORMAT_TEXT}},
    {ask_schema, {.name = "schema"}},
    {ask_schema, {.name = "schema, filtered", .query = "tid == 2", .format = FORMAT_CSV}},
    {ask_counts, {.name = "counts", .query = "size >= 1KiB"}},
    {ask_text, {.name = "text"}},
    {ask_stats,
     {.name = "within",
      .report = STATS_DETAILED,
      .group_by = "dur",
      .within = "name == 'write' and dur < 300"}},
    {ask_timeline, {.name = "timeline", .group_by = "cat", .query = "dur > 5us"}},
    {ask_timeline, {.name = "timeline of a window", .group_by = "args.t", .offset = 4000000}},
    {ask_histogram, {.name = "histogram", .group_by = "dur", .query = "name == 'read'"}},
    {ask_histogram, {.name = "histogram of doubles", .group_by = "args.d", .offset = 7}},
    {ask_find, {.name = "next match", .query = "name ~* 'WR'", .offset = 5000000}},
    {ask_find, {.name = "previous match", .ordered = true, .offset = 5000000}},
    {ask_rows, {.name = "rows within", .within = "host == 'node2'", .format = FORMAT_CSV}},
};

static void ask_all(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        alloc_check(cases[i].question.name, cases[i].ask, (void *)(uintptr_t)&cases[i].question);
}

static void alone(void)
{
    ask_all();
}

static void with_a_pool(void)
{
    struct pool *pool = NULL;

    CHECK_INT(pool_new(2, "test", &pool), 0);
    store.env.pool = pool;
    failing_malloc_everywhere(true);
    ask_all();
    failing_malloc_everywhere(false);
    store.env.pool = NULL;
    pool_free(pool);
}

static const struct check_test tests[] = {
    {"alone", alone},
    {"with_a_pool", with_a_pool},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make_store)
