/* module: answer */
/* /compare: the cases of the old command, by hand; sides that are empty or equal; nodes; threads.
 */
#include <math.h>

#include "query_store.h"

#include "dftracerd/compare.h"

#define OBJECT(name, cat, pid, ts, dur, args, ph) \
    "{\"id\":1,\"name\":\"" name "\",\"cat\":\"" cat "\",\"pid\":" #pid ",\"tid\":" #pid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"ph\":\"" ph "\",\"args\":{" args "}}\n"
#define X(name, cat, pid, ts, dur, args) OBJECT(name, cat, pid, ts, dur, args, "X")
#define A(name, cat, pid, ts, dur, args) OBJECT(name, cat, pid, ts, dur, args, "A")

static const char *const columns[] = {"cat", "name"}, *const half[] = {"0.5"};

static struct comparison *run_nodes(struct store *s, const struct selection *sides, size_t count,
                                    const struct compare_node_options *nodes, size_t node_count,
                                    struct err *err)
{
    struct compare_options o = {.sides = sides,
                                .side_count = count,
                                .interval_ns = 1000000,
                                .nodes = nodes,
                                .node_count = node_count};
    static struct budget budget; /* as long as the comparisons */
    size_t before = budget.memory_used;
    struct comparison *c = NULL;

    compare_run(&s->env, s->snapshot, &o, &budget, err, &c);
    CHECK_INT(budget.memory_used, before + (c ? c->arena.charged : 0));
    return c;
}

static struct compare_node_options node_of(const char *name, const char *query)
{
    return (struct compare_node_options){.name = name,
                                         .query = query,
                                         .group_by = columns,
                                         .group_by_count = 2,
                                         .metrics = COMPARE_ALL,
                                         .percentiles = half,
                                         .percentile_count = 1};
}

/* Two queries against each other. */
static struct comparison *run(struct store *s, const char *baseline, const char *variant)
{
    struct compare_node_options node = node_of("root", NULL);
    struct selection sides[2];
    struct err err = {0};

    selection_init(&sides[0]);
    selection_init(&sides[1]);
    sides[0].query = text_of(baseline);
    sides[1].query = text_of(variant);
    struct comparison *c = run_nodes(s, sides, 2, &node, 1, &err);
    if (!CHECK(c))
        printf("   %s\n", err.text);
    err_done(&err);
    return c;
}

static const struct compare_metric *metric(const struct compare_group *g, const char *name)
{
    for (size_t i = 0; i < g->metric_count; i++) {
        if (strcmp(g->metrics[i].name, name) == 0)
            return &g->metrics[i];
    }
    return NULL;
}

static double number(const struct value *v)
{
    return v->type == VALUE_DOUBLE ? v->d
           : v->type == VALUE_TIME ? (double)v->wide / 1000
           : v->type == VALUE_WIDE ? (double)v->wide
           : v->type == VALUE_UINT ? (double)v->u
                                   : (double)v->i;
}

static void check_metric(const struct compare_group *g, const char *name, double baseline,
                         double variant, double percent, bool regression)
{
    const struct compare_metric *m = metric(g, name);

    if (!CHECK(m)) {
        printf("   %s\n", name);
        return;
    }
    CHECK_NEAR(number(&m->value), baseline, 1e-12);
    CHECK_NEAR(number(&m->changes[0].value), variant, 1e-12);
    CHECK_NEAR(number(&m->changes[0].delta), variant - baseline, 1e-12);
    CHECK_NEAR(m->changes[0].percent, percent, 1e-12);
    CHECK_INT(m->changes[0].regression, regression);
}

/* ---- the cases of the old comparator --------------------------------------------------------- */

static const char windows[] = X("open", "A", 1, 100, 4, "") X("open", "A", 1, 1100, 4, "")
    X("open", "A", 1, 1200, 8, "") X("open", "A", 1, 2100, 4, "") X("open", "A", 1, 2200, 5, "")
        X("open", "A", 1, 2300, 9, "") X("close", "A", 1, 100, 1, "") X("close", "A", 2, 100, 1, "")
            X("close", "A", 2, 101, 3, "") X("close", "A", 2, 102, 5, "")
                X("close", "A", 3, 100, 1, "") X("close", "A", 3, 101, 1, "");

/* Counts 1, 2, 3 in three windows: their mean is 2, with a deviation of 1; means 4, 6, 6. Of three
 * processes in one window the most count: 3; the greatest mean is 3. */
static void peaks(void)
{
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", windows, sizeof(windows) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "name == 'open'", "name == 'close'");
    CHECK_STOP(c);
    const struct compare_node *root = &c->nodes[0];
    CHECK_INT(root->child_count, 1);
    CHECK_INT(root->children[0].group_count, 2);
    const struct compare_group *close = &root->children[0].groups[0],
                               *open = &root->children[0].groups[1];
    CHECK_TEXT(close->keys[1].text, "close"); /* worse by 100 %, open is better */
    check_metric(open, "count", 6, 0, -100, false);
    check_metric(open, "count_peak_mean", 2, 0, -100, false);
    check_metric(open, "dur_peak_mean", 16.0 / 3, 0, -100, false);
    CHECK_NEAR(metric(open, "count_peak_mean")->std.d, 1, 1e-12);
    check_metric(close, "count_peak_mean", 0, 3, 100, true);
    check_metric(close, "dur_peak_mean", 0, 3, 100, true);
    CHECK(metric(close, "count")->changes[0].baseline_zero);
    CHECK(!metric(open, "count")->changes[0].baseline_zero);
    check_metric(&root->summary, "processes", 1, 3, 200, false);
    check_metric(&root->summary, "time_pipeline", 2209, 7, 100 * (7 - 2209.0) / 2209, false);
    check_metric(&root->summary, "time_io", 34, 12, 100 * (12 - 34.0) / 34, false);
    comparison_free(c);
    store_end(&s);
}

/* Windows come back after two others: counts 2, 3, 2 and means 6, 7, 1.5; those of the variant are
 * in ns and in us. */
static void windows_come_back(void)
{
    static const char whole[] = X("open", "A", 1, 100, 4, "") X("open", "A", 1, 2100, 1, "")
        X("open", "A", 1, 1100, 5, "") X("open", "A", 1, 200, 8, "") X("open", "A", 1, 2200, 2, "")
            X("open", "A", 1, 1200, 7, "") X("open", "A", 1, 1300, 9, "");
    static const char parts[] = X("close", "A", 1, 100, 1.25, "") X("close", "A", 1, 101, 2.5, "");
    static const char more[] = X("close", "A", 1, 102, 5, "");
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", whole, sizeof(whole) - 1);
    store_file(&s, "b.pfw", parts, sizeof(parts) - 1);
    store_file(&s, "c.pfw", more, sizeof(more) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "name == 'open'", "name == 'close'");
    CHECK_STOP(c);
    const struct compare_node *child = &c->nodes[0].children[0];
    const struct compare_group *close = &child->groups[0], *open = &child->groups[1];
    check_metric(open, "count_peak_mean", 7.0 / 3, 0, -100, false);
    check_metric(open, "dur_peak_mean", 14.5 / 3, 0, -100, false);
    CHECK_NEAR(metric(open, "count_peak_mean")->std.d, sqrt(1.0 / 3), 1e-12);
    check_metric(close, "count_peak_mean", 0, 3, 100, true);
    check_metric(close, "dur_peak_mean", 0, 8.75 / 3, 100, true);
    comparison_free(c);
    store_end(&s);
}

/* In each window k mod 3 + 1 events of k mod 7 us, of one thread; one of another thread an hour
 * later, whose duration is below 0: it begins behind the end of all. */
enum { MANY_WINDOWS = 21000 };
static void write_windows(struct store *s)
{
    struct buf lines = {0};

    for (int k = 0; k < MANY_WINDOWS; k++) {
        for (int i = 0; i <= k % 3; i++)
            buf_printf(&lines,
                       "{\"id\":1,\"name\":\"n\",\"cat\":\"A\",\"pid\":1,\"tid\":1,\"ph\":\"X\","
                       "\"ts\":%d,\"dur\":%d}\n",
                       k * 1000 + i, k % 7);
    }
    buf_printf(&lines, "%s", X("n", "A", 2, 4000000000, -3900000000, ""));
    store_file(s, "a.pfw", lines.data, lines.len);
    buf_done(&lines);
}

/* All files with themselves, in windows of 1 ms, with so much memory. */
static int run_within(struct store *s, size_t memory, struct comparison **ret)
{
    struct compare_node_options node = node_of("root", NULL);
    struct selection sides[2];
    struct compare_options o = {
        .sides = sides, .side_count = 2, .interval_ns = 1000000, .nodes = &node, .node_count = 1};
    static struct budget budget; /* as long as the comparison */
    struct err err = {0};

    budget.memory_limit = memory;
    for (int i = 0; i < 2; i++)
        selection_init(&sides[i]);
    int rc = compare_run(&s->env, s->snapshot, &o, &budget, &err, ret);
    CHECK_INT(budget.memory_used, rc == 0 ? (*ret)->arena.charged : 0);
    err_done(&err);
    return rc;
}

/* What windows say must not depend on how much memory there is, as long as there is enough for some
 * of them. */
static void windows_in_parts(void)
{
    size_t limit = 1 << 16, refused = 0;
    struct store s;
    bool done = false;

    CHECK_STOP(store_begin(&s));
    write_windows(&s);
    CHECK_STOP(store_ingest(&s, 0, 1));
    for (; limit <= 1 << 23; limit += limit / (check_everything() ? 2 : 1)) {
        struct comparison *c = NULL;
        int rc = run_within(&s, limit, &c);
        if (rc < 0) {
            CHECK_INT(rc, ERR_MEMORY_LIMIT);
            CHECK(!done);
            refused++;
            continue;
        }
        done = done ||
               CHECK(limit < MANY_WINDOWS * 48); /* the windows alone would not have had room */
        const struct compare_group *g = &c->nodes[0].children[0].groups[0];
        check_metric(g, "count", 42001, 42001, 0, false);
        check_metric(g, "count_peak_mean", 42001.0 / 21001, 42001.0 / 21001, 0, false);
        check_metric(g, "dur_peak_mean", (3000 * 21 - 3900000000.0) / 21001,
                     (3000 * 21 - 3900000000.0) / 21001, 0, false);
        check_metric(&c->nodes[0].summary, "processes", 2, 2, 0, false);
        comparison_free(c);
    }
    CHECK(done && refused > 0);
    store_end(&s);
}

/* Memory is refused while batch after batch brings new groups and windows. */
enum { MANY_GROUPS = 300 };
static void groups_while_short(void)
{
    struct buf lines = {0};
    struct store s;
    unsigned refused = 0, told = 0;

    CHECK_STOP(store_begin(&s));
    for (int i = 0; i < 100 * MANY_GROUPS; i++)
        buf_printf(&lines,
                   "{\"id\":1,\"name\":\"n%d\",\"cat\":\"A\",\"pid\":1,\"tid\":1,\"ph\":\"X\","
                   "\"ts\":%d,\"dur\":1}\n",
                   i / 100, i * 50);
    store_file(&s, "a.pfw", lines.data, lines.len);
    buf_done(&lines);
    CHECK_STOP(store_ingest(&s, 0, 1));
    for (size_t limit = 1 << 16; limit <= 1 << 25 && told < 3;
         limit += 1 + limit * check_step(64, 16) / 64) {
        struct comparison *c = NULL;
        int rc = run_within(&s, limit, &c);
        refused += rc < 0;
        told += rc == 0;
        CHECK(rc == 0 || rc == ERR_MEMORY_LIMIT);
        if (rc < 0)
            continue;
        CHECK_INT(c->nodes[0].children[0].group_count, MANY_GROUPS);
        check_metric(&c->nodes[0].children[0].groups[7], "count", 100, 100, 0, false);
        comparison_free(c);
    }
    CHECK(told == 3 && refused > 10);
    store_end(&s);
}

/* 1, 1, 5, 1 and 2 events in five windows are 2 on average, not a bit less. */
static void whole_means(void)
{
    static const char lines[] =
        X("n", "A", 1, 0, 1, "") X("n", "A", 1, 1000, 1, "") X("n", "A", 1, 2000, 1, "")
            X("n", "A", 1, 2001, 1, "") X("n", "A", 1, 2002, 1, "") X("n", "A", 1, 2003, 1, "")
                X("n", "A", 1, 2004, 1, "") X("n", "A", 1, 3000, 1, "") X("n", "A", 1, 4000, 1, "")
                    X("n", "A", 1, 4001, 1, "") X("n", "A", 2, 0, 1, "") X("n", "A", 2, 1, 1, "");
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", lines, sizeof(lines) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "pid == 1", "pid == 2");
    CHECK_STOP(c);
    const struct compare_metric *m = metric(&c->nodes[0].children[0].groups[0], "count_peak_mean");
    CHECK_NEAR(m->value.d, 2, 0);
    CHECK_NEAR(m->changes[0].delta.d, 0, 0);
    CHECK(!m->changes[0].regression);
    comparison_free(c);
    store_end(&s);
}

/* Windows beyond what 64 bits of nanoseconds hold, before 1970, and near ones between them. */
static void far_windows(void)
{
    static const char lines[] = X("n", "A", 1, 9000000000000000000, 1, "")
        X("n", "A", 1, -1500, 2, "") X("n", "A", 1, 9000000000000000100, 3, "")
            X("n", "A", 1, -1400, 6, "") X("n", "A", 1, 0, 8, "");
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", lines, sizeof(lines) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "", "");
    CHECK_STOP(c);
    const struct compare_group *g = &c->nodes[0].children[0].groups[0];
    check_metric(g, "count_peak_mean", 5.0 / 3, 5.0 / 3, 0, false);
    check_metric(g, "dur_peak_mean", 14.0 / 3, 14.0 / 3, 0, false); /* 2, 4, 8 */
    comparison_free(c);
    store_end(&s);
}

static const char transfers[] =
    X("read", "POSIX", 1, 100, 100, "\"ret\":4096") X("read", "POSIX", 1, 300, 100, "\"ret\":4096")
        X("lseek64", "POSIX", 1, 500, 10, "\"ret\":7") X("write", "POSIX", 1, 700, 5, "\"ret\":10")
            X("fread", "STDIO", 1, 900, 5, "\"ret\":3,\"size\":1")
                X("read", "POSIX", 2, 1100, 200, "\"ret\":4096")
                    X("read", "POSIX", 2, 1400, 200, "\"ret\":4096")
                        X("read", "POSIX", 2, 1700, 200, "\"ret\":4096");

static const struct compare_group *group(const struct compare_node *n, const char *name)
{
    for (size_t i = 0; i < n->group_count; i++) {
        if (text_eq(n->groups[i].keys[1].text, text_of(name)))
            return &n->groups[i];
    }
    return NULL;
}

static void transfer(void)
{
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", transfers, sizeof(transfers) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "pid == 1", "pid == 2");
    CHECK_STOP(c);
    CHECK_INT(c->nodes[0].child_count, 2); /* POSIX: lseek64 read write; STDIO: fread */
    const struct compare_node *posix = &c->nodes[0].children[0];
    CHECK_INT(posix->group_count, 3);
    CHECK_INT(c->nodes[0].children[1].group_count, 1);
    const struct compare_group *read = group(posix, "read"), *seek = group(posix, "lseek64");
    CHECK_STOP(read && seek);
    check_metric(read, "count", 2, 3, 50, true);
    check_metric(read, "bandwidth", 40960000, 20480000, -50, true);
    check_metric(read, "transfer_size", 4096, 4096, 0, false);
    check_metric(read, "dur_p50", 100, 200, 100, true);
    CHECK(!metric(seek, "bandwidth") && !metric(seek, "transfer_size"));
    CHECK(metric(read, "dur_mean")->changes[0].cohens_d == 0); /* nothing varies */
    CHECK(isnan(metric(read, "dur_mean")->changes[0].test->welch_p));
    CHECK_INT(metric(read, "dur_mean")->changes[0].test->mann_whitney_u, 6);
    check_metric(&c->nodes[0].summary, "total_bytes", 8205, 12288, 100 * 4083.0 / 8205, false);
    CHECK_INT(c->meta[0].bytes.wide, 8205);
    comparison_free(c);
    store_end(&s);
}

/* Time of objects of 0 bytes counts, also where a thread has no others in the window. */
static void nothing_moved(void)
{
    static const char lines[] = A("io", "sys", 1, 100, 100, "\"size_sum\":0")
        A("io", "sys", 2, 300, 60, "\"size_sum\":1000") A("io", "sys", 2, 400, 7, "")
            A("io", "sys", 3, 500, 40, "\"size_sum\":1000");
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", lines, sizeof(lines) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "pid < 3", "pid == 3");
    CHECK_STOP(c);
    check_metric(&c->nodes[0].children[0].groups[0], "bandwidth", 6250000, 25000000, 300, false);
    check_metric(&c->nodes[0].summary, "bandwidth", 6250000, 25000000, 300, false);
    comparison_free(c);
    store_end(&s);
}

/* ---- sides ----------------------------------------------------------------------------------- */

static void empty_and_equal(void)
{
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", transfers, sizeof(transfers) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "name == 'none'", "name == 'nothing'");
    CHECK_STOP(c);
    CHECK_INT(c->meta[0].events + c->meta[1].events, 0);
    CHECK_INT(c->nodes[0].child_count, 0);
    CHECK_INT(c->regression, -1);
    check_metric(&c->nodes[0].summary, "dur_mean", 0, 0, 0, false);
    comparison_free(c);
    c = run(&s, "", "");
    CHECK_STOP(c);
    CHECK_INT(c->regression, -1);
    const struct compare_metric *m = metric(&c->nodes[0].summary, "dur_mean");
    CHECK(m->changes[0].cohens_d == 0 && m->changes[0].test->mann_whitney_p == 1);
    CHECK_NEAR(m->changes[0].test->welch_p, 1, 1e-12);
    CHECK_INT(m->changes[0].test->difference, COMPARE_SAME);
    comparison_free(c);
    store_end(&s);
}

static const char skewed[] =
    "{\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":1,\"ph\":\"M\",\"args\":{\"name\":"
    "\"a\",\"value\":\"1\"}}\n"
    "{\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":2,\"tid\":2,\"ph\":\"M\",\"args\":{\"name\":"
    "\"b\",\"value\":\"2\"}}\n" X("read", "POSIX", 1, 100, 10, "\"hhash\":\"1\"")
        X("read", "POSIX", 1, 200, 10, "\"hhash\":\"1\"")
            X("read", "POSIX", 2, 3600000100, 10, "\"hhash\":\"2\"");

static void clocks(void)
{
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", skewed, sizeof(skewed) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct comparison *c = run(&s, "", "pid == 2");
    CHECK_STOP(c);
    CHECK_INT(c->meta[0].skewed_count, 1);
    CHECK_TEXT(c->meta[0].skewed[0].host.text, "b");
    CHECK_INT(c->meta[0].skewed[0].distance.wide, 3600000000000 - 1000000); /* windows of 1 ms */
    CHECK_INT(c->meta[1].skewed_count, 0);
    comparison_free(c);
    store_end(&s);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void nodes_and_variants(void)
{
    struct compare_node_options reads = node_of("reads", "name == \"read\""),
                                posix = node_of("POSIX I/O", "cat == \"POSIX\"");
    struct selection sides[3];
    struct store s;
    struct err err = {0};

    posix.children = &reads;
    posix.child_count = 1;
    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", transfers, sizeof(transfers) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    for (size_t i = 0; i < 3; i++)
        selection_init(&sides[i]);
    sides[0].query = TEXT("pid == 1");
    sides[1].query = TEXT("pid == 2");
    struct comparison *c = run_nodes(&s, sides, 3, &posix, 1, &err);
    CHECK_STOP(c);
    CHECK_INT(c->nodes[0].child_count, 2); /* POSIX, reads */
    const struct compare_node *child = &c->nodes[0].children[1];
    CHECK_TEXT(child->name.text, "reads");
    CHECK_STR(child->query, "(cat == \"POSIX\") AND (name == \"read\")");
    const struct compare_metric *m = metric(&child->summary, "count");
    CHECK_INT(m->value.u, 2);
    CHECK_INT(m->changes[0].value.u, 3);
    CHECK_INT(m->changes[1].value.u, 5);
    CHECK(!metric(&child->summary, "files") && metric(&c->nodes[0].summary, "files"));
    comparison_free(c);
    reads.query = "name == \"read";
    c = run_nodes(&s, sides, 3, &posix, 1, &err);
    CHECK(!c);
    CHECK_INT(err.code, ERR_QUERY_SYNTAX);
    CHECK_INT(err.position, 8);
    CHECK(strstr(err.text, "node \"reads\""));
    CHECK_STR(err.source, "name == \"read");
    err_done(&err);
    store_end(&s);
}

/* A column that one side lacks is null there; one that all lack is an error. */
static void missing_columns(void)
{
    static const char other[] =
        X("read", "POSIX", 1, 100, 10, "\"epoch\":7") X("read", "POSIX", 1, 200, 10, "");
    static const char *const by[] = {"epoch", "name"}, *const nowhere[] = {"never"};
    struct compare_node_options node = node_of("root", NULL);
    const char *paths[] = {"a.pfw", "b.pfw"};
    struct selection sides[2];
    struct store s;
    struct err err = {0};

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", transfers, sizeof(transfers) - 1);
    store_file(&s, "b.pfw", other, sizeof(other) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    for (size_t i = 0; i < 2; i++) {
        selection_init(&sides[i]);
        sides[i].files = &paths[i];
        sides[i].file_count = 1;
    }
    node.group_by = by;
    struct comparison *c = run_nodes(&s, sides, 2, &node, 1, &err);
    CHECK_STOP(c);
    CHECK_INT(c->nodes[0].child_count, 2);
    CHECK_INT(c->nodes[0].children[0].name.type, VALUE_NULL);
    CHECK_INT(c->nodes[0].children[1].name.i, 7);
    check_metric(&c->nodes[0].children[0].summary, "count", 8, 1, -87.5, false);
    comparison_free(c);
    node.group_by = nowhere;
    node.group_by_count = 1;
    CHECK(!run_nodes(&s, sides, 2, &node, 1, &err));
    CHECK_INT(err.code, ERR_PARAM);
    CHECK_STR(err.param, "group_by");
    err_done(&err);
    store_end(&s);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* 30,000 events in many chunks. */
static void write_many(struct store *s)
{
    struct buf b = {0};

    for (unsigned i = 0; i < 30000; i++)
        buf_printf(
            &b,
            "{\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":%u,\"tid\":%u,\"ts\":%u,\"dur\":%u,\"ph\":"
            "\"X\",\"args\":{\"ret\":%u.5}}\n",
            i % 3 ? "read" : "write", i % 5, i % 7, i * 10, i * i % 1013, i % 4099);
    store_file(s, "a.pfw", b.data, b.len);
    buf_done(&b);
}

static void same_with_threads(void)
{
    double found[2][3];
    struct store s;

    for (unsigned i = 0; i < 2; i++) {
        CHECK_STOP(store_begin(&s));
        write_many(&s);
        CHECK_STOP(store_ingest(&s, 100000, i ? 4 : 1));
        struct comparison *c = run(&s, "ts < 150000", "ts >= 150000");
        CHECK_STOP(c);
        const struct compare_metric *m = metric(&c->nodes[0].summary, "size_mean");
        found[i][0] = m->changes[0].value.d;
        found[i][1] = m->changes[0].cohens_d;
        found[i][2] = m->changes[0].test->welch_p_holm;
        comparison_free(c);
        store_end(&s);
    }
    CHECK(memcmp(found[0], found[1], sizeof(found[0])) == 0);
}

static const struct check_test tests[] = {
    {"peaks", peaks},
    {"windows_come_back", windows_come_back},
    {"windows_in_parts", windows_in_parts, true},
    {"groups_while_short", groups_while_short, true},
    {"far_windows", far_windows},
    {"whole_means", whole_means},
    {"transfer", transfer},
    {"nothing_moved", nothing_moved},
    {"empty_and_equal", empty_and_equal},
    {"clocks", clocks},
    {"nodes_and_variants", nodes_and_variants},
    {"missing_columns", missing_columns},
    {"same_with_threads", same_with_threads},
    {NULL, NULL},
};
CHECK_MAIN(tests)
