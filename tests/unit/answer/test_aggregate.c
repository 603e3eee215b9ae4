/* module: answer */
/* /aggregate: rows by hand. */
#include "aggregate_ask.h"
#include "dftracerd/aggregate.h"

static bool hand_store(struct store *s, const char *lines)
{
    if (!store_begin(s))
        return false;
    store_file(s, "a.pfw", lines, strlen(lines));
    return store_ingest(s, 0, 1);
}

#define SECONDS(n) ((int64_t)(n)*1000000000)

/* ---- rows by hand ---------------------------------------------------------------------------- */

static void classes(void)
{
    static const char *const fields[] = {"bytes"};
    struct store s;

    CHECK_STOP(hand_store(
        &s, "{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":7,\"tid\":3,\"ts\":1000,\"dur\":50,"
            "\"ph\":\"X\",\"args\":{\"ret\":64,\"bytes\":64,\"hhash\":\"h\",\"fhash\":\"f\"}}\n"
            "{\"name\":\"cpu_usage\",\"cat\":\"PROFILE\",\"pid\":7,\"tid\":3,\"ts\":1500,"
            "\"ph\":\"C\",\"args\":{\"count\":4,\"dur_sum\":80,\"dur_min\":10,\"dur_max\":30,"
            "\"ret_sum\":400,\"ret_min\":50,\"ret_max\":150,\"bytes_sum\":1000,\"bytes_min\":100,"
            "\"bytes_max\":400}}\n"
            "{\"name\":\"mem_bw\",\"cat\":\"sys\",\"pid\":7,\"tid\":3,\"ts\":2500,\"ph\":\"C\","
            "\"args\":{\"count\":2,\"dur_sum\":40,\"dur_min\":15,\"dur_max\":25,\"ret_sum\":600,"
            "\"ret_min\":250,\"ret_max\":350,\"bytes_sum\":1200,\"bytes_min\":500,"
            "\"bytes_max\":700}}\n"));
    char *rows =
        rows_of(&s, "",
                (struct aggregate_options){
                    .interval_ns = SECONDS(5), .metric_fields = fields, .metric_field_count = 1});
    static const char *const want[3][10] = {
        {"event", "1", "50", "50", "50", "64", "64", "64", "64", "1000"},
        {"profile", "4", "80", "20", "30", "400", "100", "1000", "250", "1500"},
        {"system", "2", "40", "20", "25", "600", "300", "1200", "600", "2500"}};
    static const char *const columns[10] = {"batch_type", "count",      "dur_total", "dur_mean",
                                            "dur_max",    "size_total", "size_mean", "bytes_total",
                                            "bytes_mean", "ts"};
    for (unsigned row = 0; row < 3; row++)
        for (unsigned i = 0; i < 10; i++)
            CELL(row, columns[i], want[row][i]);
    CELL(0, "te", "1050");
    CELL(1, "te", "5001500"); /* a counter's time is its interval */
    CELL(1, "dur_std", "null");
    CELL(2, "ret_sum_mean", "600");
    CELL(3, "count", "");
    free(rows);
    store_end(&s);
}

/* freq and time of DataCrumbs (seconds, even where cat is sys), size_sum; aggregated records. */
static void profiles(void)
{
    struct store s;

    CHECK_STOP(hand_store(
        &s,
        "{\"name\":\"vfs_read\",\"cat\":\"sys\",\"pid\":1,\"tid\":1,\"ts\":1,\"ph\":\"C\","
        "\"args\":{\"freq\":3,\"time\":0.000012,\"size_sum\":600}}\n"
        "{\"name\":\"vfs_read\",\"cat\":\"sys\",\"pid\":1,\"tid\":1,\"ts\":2,\"ph\":\"C\","
        "\"args\":{\"freq\":1,\"time\":0.000004,\"size_sum\":40}}\n"
        "{\"name\":\"write\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":3,\"ph\":3,"
        "\"args\":{\"dft_cnt\":10,\"dur_sum\":90,\"dur_min\":2,\"dur_max\":20,\"ret_sum\":50}}\n"
        "{\"name\":\"load\",\"cat\":\"sys\",\"pid\":1,\"tid\":1,\"ts\":4,\"ph\":\"C\","
        "\"args\":{\"user_pct\":12.5,\"cores\":[1],\"text\":\"t\"}}\n"
        "{\"name\":\"load\",\"cat\":\"sys\",\"pid\":1,\"tid\":1,\"ts\":5,\"ph\":\"C\","
        "\"args\":{\"user_pct\":14}}\n"));
    char *rows = rows_of(&s, "", (struct aggregate_options){.interval_ns = SECONDS(1)});
    CELL(0, "name", "write");
    CELL(0, "batch_type", "profile");
    CELL(0, "count", "10");
    CELL(0, "dur_mean", "9");
    CELL(0, "dur_min", "2");
    CELL(0, "size_total", "50");
    CELL(1, "name", "vfs_read");
    CELL(1, "batch_type", "profile");
    CELL(1, "count", "4");
    CELL(1, "dur_total", "16");
    CELL(1, "dur_mean", "4");
    CELL(1, "size_total", "640");
    CELL(2, "batch_type", "system");
    CELL(2, "count", "2");
    CELL(2, "dur_total", "null");
    CELL(2, "user_pct_mean", "13.25");
    CELL(2, "user_pct_max", "14");
    CELL(1, "user_pct_mean", "null");
    CHECK(!strstr(rows, "text_mean"));
    free(rows);
    store_end(&s);
}

static void percentiles_have_names_of_their_own(void)
{
    static const char *const q[] = {"0.999", "0.99", "0.29", "1", "0"};
    struct buf lines = {0};
    struct store s;

    for (int i = 1; i <= 60; i++) /* few enough for exact answers */
        buf_printf(&lines,
                   "{\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,"
                   "\"ph\":\"X\"}\n",
                   i, i * i);
    buf_putc(&lines, '\0');
    CHECK_STOP(hand_store(&s, lines.data));
    char *rows = rows_of(
        &s, "", (struct aggregate_options){.percentiles = q, .percentile_count = 5, .shape = true});
    CELL(0, "dur_p0", "1");
    CELL(0, "dur_p29", "324"); /* rank ceil(17.4) = 18 */
    CELL(0, "dur_p99", "3600");
    CELL(0, "dur_p99.9", "3600");
    CELL(0, "dur_p100", "3600");
    CELL(0, "size_p29", "null");
    CHECK_NEAR(atof(cell(rows, 0, "dur_std")), 1099.1012995473466, 1e-13);
    CHECK_NEAR(atof(cell(rows, 0, "dur_skew")), 0.6294121963320345, 1e-12);
    CHECK_NEAR(atof(cell(rows, 0, "dur_kurtosis")), -0.8687357091780274, 1e-12);
    free(rows);
    buf_done(&lines);
    store_end(&s);
}

/* 70 arguments more than a chunk has columns for: all of them are told. */
static void arguments_without_a_column(void)
{
    enum { ARGS = 580 };
    struct buf lines = {0};
    struct store s;
    char name[32];

    for (int row = 1; row <= 3; row++) {
        buf_printf(&lines,
                   "{\"name\":\"vm\",\"cat\":\"sys\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                   "\"ph\":\"C\",\"args\":{\"zero\":0",
                   row);
        for (int i = 0; i < ARGS; i++)
            buf_printf(&lines, ",\"m%d\":%d", i, i * row);
        buf_puts(&lines, ",\"text\":\"x\",\"q\\\"t\":2}}\n");
    }
    buf_putc(&lines, '\0');
    CHECK_STOP(hand_store(&s, lines.data));
    char *rows = rows_of(&s, "", (struct aggregate_options){.interval_ns = SECONDS(1)});
    for (int i = 0; i < ARGS; i++) {
        char want[32];
        snprintf(name, sizeof(name), "m%d_max", i);
        snprintf(want, sizeof(want), "%d", i * 3);
        CELL(0, name, want);
        snprintf(name, sizeof(name), "m%d_mean", i);
        snprintf(want, sizeof(want), "%d", i * 2);
        CELL(0, name, want);
    }
    CELL(0, "q\"t_min", "2");
    CHECK(!strstr(rows, "text_"));
    free(rows);
    buf_done(&lines);
    store_end(&s);
}

#define EVENT(name, pid, ts, dur, args) \
    "{\"name\":\"" name "\",\"cat\":\"C\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"ph\":\"X\",\"args\":{\"hhash\":\"h\"" args "}}\n"

/* 1 forked 2 (fork's return), 2 started 3 (ppid); 1 has epochs, 3 one of its own that 1's go
 * before. */
static void parents_and_boundaries(void)
{
    static const char *const boundary[] = {"epoch:epoch:epoch_of"};
    struct store s;

    CHECK_STOP(hand_store(
        &s, EVENT("fork", "1", "0", "1", ",\"ret\":2")
                EVENT("epoch", "1", "10", "10", ",\"epoch\":\"one\"") EVENT(
                    "epoch", "1", "20", "10",
                    "") "{\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":3,\"tid\":1,\"ts\":2,"
                        "\"dur\":0,"
                        "\"ph\":\"X\",\"args\":{\"hhash\":\"h\",\"ppid\":2}}\n" EVENT(
                            "epoch", "3", "12", "40", ",\"epoch\":7") EVENT("a", "2", "12", "2", "")
                            EVENT("b", "3", "19", "2", "") /* its middle is 20 */
        EVENT("c", "3", "40", "1", "") EVENT("d", "3", "52", "1", "")
            EVENT("e", "9", "15", "1", "")));
    char *rows = rows_of(&s, "",
                         (struct aggregate_options){.interval_ns = SECONDS(1),
                                                    .parents = true,
                                                    .boundaries = boundary,
                                                    .boundary_count = 1});
    static const struct {
        const char *name, *epoch, *parent, *root;
    } want[] = {{"a", "one", "1", "1"},
                {"b", "1", "2", "1"},
                {"c", "7", "2", "1"},
                {"d", "null", "2", "1"},
                {"e", "null", "null", "9"}};
    for (unsigned row = 0; row < 5; row++) {
        CELL(row, "name", want[row].name);
        CELL(row, "epoch_of", want[row].epoch);
        CELL(row, "parent_pid", want[row].parent);
        CELL(row, "root_pid", want[row].root);
    }
    free(rows);
    store_end(&s);
}

#define START(pid, ppid) \
    "{\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":" pid \
    ",\"tid\":1,\"ts\":1,\"dur\":0,\"ph\":\"X\",\"args\":{\"hhash\":\"h\",\"ppid\":" ppid "}}\n"

/* 23 is begun by 21, that by 22, that by 23: 21, the first, is the root of all, and of 24 below 22;
 * 25 began itself. Spans of 21 are those of 23, but spans of 22 not those of 21, which is at the
 * top. */
static void parents_in_a_circle(void)
{
    static const char *const boundary[] = {"epoch:epoch:epoch_of", "step:step:step_of"};
    static const char *const want[][5] = {{"a", "one", "null", "22", "21"},
                                          {"b", "one", "two", "23", "21"},
                                          {"c", "one", "null", "21", "21"},
                                          {"d", "one", "two", "22", "21"},
                                          {"e", "null", "null", "25", "25"}};
    static const char *const columns[] = {"name", "epoch_of", "step_of", "parent_pid", "root_pid"};
    struct store s;

    CHECK_STOP(hand_store(
        &s, START("23", "21") START("22", "23") START("21", "22") START("24", "22")
                START("25", "25") EVENT("epoch", "21", "10", "10", ",\"epoch\":\"one\"") EVENT(
                    "step", "22", "10", "10", ",\"step\":\"two\"") EVENT("a", "21", "12", "1", "")
                    EVENT("b", "22", "12", "1", "") EVENT("c", "23", "12", "1", "")
                        EVENT("d", "24", "12", "1", "") EVENT("e", "25", "12", "1", "")));
    char *rows = rows_of(&s, "",
                         (struct aggregate_options){.interval_ns = SECONDS(1),
                                                    .parents = true,
                                                    .boundaries = boundary,
                                                    .boundary_count = 2});
    for (unsigned i = 0; i < 25; i++)
        CELL(i / 5, columns[i % 5], want[i / 5][i % 5]);
    free(rows);
    store_end(&s);
}

/* [4, 26) us over buckets of 10: 6, 10 and 6 us, 22 bytes as 6, 10 and 6. */
static void buckets_that_share(void)
{
    static const char *const by[] = {"time_bucket"};
    static const char *const agg[] = {"count", "sum:dur", "sum:size", "busy", "concurrency"};
    struct aggregate_options o = {.interval_ns = 10000,
                                  .split = true,
                                  .group_by = by,
                                  .group_by_count = 1,
                                  .aggregates = agg,
                                  .aggregate_count = 5};
    struct store s;

    CHECK_STOP(hand_store(&s,
                          "{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":1004,"
                          "\"dur\":22,\"ph\":\"X\",\"args\":{\"ret\":22}}\n"
                          "{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":2,\"ts\":1012,"
                          "\"dur\":4,\"ph\":\"X\",\"args\":{}}\n"));
    char *rows = rows_of(&s, "", o);
    static const char *const want[3][6] = {{"1000", "1", "6", "6", "6", "1"},
                                           {"1010", "1", "14", "10", "10", "1.4"},
                                           {"1020", "0", "6", "6", "6", "1"}};
    static const char *const columns[6] = {"time_bucket", "count", "dur_sum",
                                           "size_sum",    "busy",  "concurrency"};
    for (unsigned row = 0; row < 3; row++)
        for (unsigned i = 0; i < 6; i++)
            CELL(row, columns[i], want[row][i]);
    free(rows);
    o.relative = true; /* the first event starts the first bucket */
    rows = rows_of(&s, "", o);
    CELL(0, "time_bucket", "0");
    CELL(0, "dur_sum", "12");
    CELL(2, "dur_sum", "2");
    free(rows);
    store_end(&s);
}

static void tops_and_havings(void)
{
    static const char *const by[] = {"basename(file)"}, *const folder[] = {"dirname(file)"};
    static const char *const agg[] = {"count", "first:name", "last:name", "distinct:pid",
                                      "p50:dur"};
    struct aggregate_options o = {.group_by = by,
                                  .group_by_count = 1,
                                  .aggregates = agg,
                                  .aggregate_count = 5,
                                  .top = 1,
                                  .top_by = "count"};
    struct buf lines = {0};
    struct store s;

    for (int i = 0; i < 3; i++)
        buf_printf(&lines,
                   "{\"name\":\"FH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"/d%d/%s\","
                   "\"value\":\"%d\"}}\n",
                   i % 2, (const char *[]){"y", "x", "x/"}[i], i);
    for (int i = 0; i < 9; i++) /* files 0 1 2 0 1 2 ... */
        buf_printf(&lines,
                   "{\"name\":\"n%d\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":%d,\"ph\":\"X\","
                   "\"args\":{\"fhash\":\"%d\"}}\n",
                   i, i % 4, 100 - i, i, i % 3);
    buf_putc(&lines, '\0');
    CHECK_STOP(hand_store(&s, lines.data));
    char *rows = rows_of(&s, "", o);
    CELL(0, "basename(file)", "x"); /* 1 2 4 5 7 8 */
    CELL(0, "count", "6");
    CELL(0, "name_first", "n8"); /* the times go down */
    CELL(0, "name_last", "n1");
    CELL(0, "pid_distinct", "4");
    CELL(0, "dur_p50", "4");
    CELL(1, "basename(file)", "(other)");
    CELL(1, "count", "3");
    CELL(1, "name_first", "n6");
    free(rows);
    o.top = 0;
    o.top_by = NULL;
    o.group_by = folder;
    o.having = "count > 3 AND NOT name_first == 'n1'";
    rows = rows_of(&s, "", o);
    CELL(0, "dirname(file)", "/d0");
    CELL(0, "count", "6");
    CELL(1, "count", "");
    free(rows);
    buf_done(&lines);
    store_end(&s);
}

static const struct check_test tests[] = {
    {"classes", classes},
    {"profiles", profiles},
    {"percentiles_have_names_of_their_own", percentiles_have_names_of_their_own},
    {"arguments_without_a_column", arguments_without_a_column},
    {"parents_and_boundaries", parents_and_boundaries},
    {"parents_in_a_circle", parents_in_a_circle},
    {"buckets_that_share", buckets_that_share},
    {"tops_and_havings", tops_and_havings},
    {NULL, NULL},
};
CHECK_MAIN(tests)
