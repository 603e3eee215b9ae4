/* room: query */
/* /aggregate: rows by hand; threads and chunks change nothing; what is too much is refused and given back. */
#include "query_store.h"

#include <math.h>

/* ---- asking ------------------------------------------------------------------------------------- */

static void put_value(struct buf *out, const struct value *v)
{
    char room[64];

    switch (v->type) {
    case VALUE_NULL:
        buf_puts(out, "null");
        break;
    case VALUE_INT:
    case VALUE_BOOL:
        buf_printf(out, "%lld", (long long)v->i);
        break;
    case VALUE_UINT:
        buf_printf(out, "%llu", (unsigned long long)v->u);
        break;
    case VALUE_TIME: /* us */
        buf_append(out, room, num_format_milli128(v->wide, room));
        break;
    case VALUE_DOUBLE: /* all digits: two answers are compared to the last bit */
        buf_append(out, room, num_format_double(v->d, room));
        break;
    case VALUE_WIDE:
        buf_append(out, room, num_format_i128(v->wide, room));
        break;
    default:
        buf_append(out, v->text.ptr, v->text.len);
    }
}

/* The column's value in a row of name=value pairs, or "" - in a static room. */
static const char *cell(const char *rows, unsigned row, const char *column)
{
    static char room[256];
    char key[128];
    int len = snprintf(key, sizeof(key), " %s=", column);

    for (; row > 0 && rows; row--)
        rows = strchr(rows, '\n') ? strchr(rows, '\n') + 1 : NULL;
    const char *end = rows ? strchr(rows, '\n') : NULL, *at = rows ? strstr(rows, key) : NULL;
    if (!at || !end || at > end)
        return "";
    snprintf(room, sizeof(room), "%.*s", (int)strcspn(at + len, " \n"), at + len);
    return room;
}
#define CELL(row, column, want) CHECK_STR(cell(rows, row, column), want)

static int ask(struct store *s, const char *query, const struct aggregate_options *o,
               struct budget *budget, struct err *err, struct buf *out)
{
    const struct aggregate_column *columns;
    const struct value *values;
    struct selection selection;
    struct aggregate *a = NULL;
    struct query *q;
    size_t n, width = 0;

    selection_init(&selection);
    selection.query = text_of(query);
    CHECK_INT(query_open(&s->env, s->snapshot, &selection, budget, err, &q), 0);
    int rc = aggregate_open(q, o, err, &a);
    if (rc == 0)
        width = aggregate_columns(a, &columns);
    while (rc == 0 && (rc = aggregate_next(a, 100, err, &values, &n)) == 0) {
        for (size_t i = 0; i < n * width; i++) {
            buf_putc(out, ' ');
            buf_puts(out, columns[i % width].name);
            buf_putc(out, '=');
            put_value(out, &values[i]);
            if (i % width == width - 1)
                buf_putc(out, '\n');
        }
    }
    aggregate_close(a);
    query_close(q);
    CHECK_INT(budget->memory_used, 0);
    return rc == ERR_END ? 0 : rc;
}

/* *new* rows, a line each. */
static char *rows_of(struct store *s, const char *query, struct aggregate_options o)
{
    struct budget budget = {0};
    struct err err = {0};
    struct buf out = {0};

    o.limit = o.limit ? o.limit : UINT64_MAX;
    if (!CHECK_INT(ask(s, query, &o, &budget, &err, &out), 0))
        printf("   %s\n", err.text);
    err_done(&err);
    return out.data ? buf_steal(&out, NULL) : strdup("");
}

static bool hand_store(struct store *s, const char *lines)
{
    if (!store_begin(s))
        return false;
    store_file(s, "a.pfw", lines, strlen(lines));
    return store_ingest(s, 0, 1);
}

#define SECONDS(n) ((int64_t)(n)*1000000000)

/* ---- rows by hand -------------------------------------------------------------------------------- */

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

/* 1 forked 2 (fork's return), 2 started 3 (ppid); 1 has epochs, 3 one of its own that 1's go before. */
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

/* 23 is begun by 21, that by 22, that by 23: 21, the first, is the root of all, and of 24 below 22; 25 began itself. Spans of
 * 21 are those of 23, but spans of 22 not those of 21, which is at the top. */
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
                   i % 2, i ? "x" : "y", i);
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

/* ---- threads and chunks -------------------------------------------------------------------------- */

static uint64_t random_state;
static unsigned below(unsigned n)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % n;
}

/* Whole us, ns, doubles, sizes as fractions, counters, forks, epochs. */
static void many_lines(struct store *s, unsigned file, unsigned count)
{
    static const char *const names[] = {"read", "write", "open64", "epoch", "step", "compute"};
    struct buf text = {0};
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        unsigned kind = below(6), dur = below(1u << below(22));
        bool counter = below(20) == 0;
        buf_printf(&text, "{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u,",
                   names[kind],
                   counter && below(2) ? "sys"
                   : kind < 3          ? "POSIX"
                                       : "AI",
                   10 + file + below(2), below(5), 1000 + i * 700 + below(9000));
        buf_printf(&text, "\"dur\":%u%s,\"ph\":\"%s\",\"args\":{\"hhash\":\"h%u\",\"fhash\":%u",
                   dur, file == 1 ? ".125" : "", counter ? "C" : "X", below(2), below(90));
        if (kind < 2)
            buf_printf(&text, ",\"ret\":%u", below(100000));
        else if (file == 2)
            buf_printf(&text, ",\"size_sum\":%u.%u", below(1000), i % 10);
        buf_printf(&text, ",\"x\":%u.%u,\"epoch\":%u}}\n", below(1000), below(1000), below(9));
    }
    buf_printf(&text,
               "{\"name\":\"fork\",\"cat\":\"POSIX\",\"pid\":10,\"tid\":1,\"ts\":1,\"dur\":1,"
               "\"ph\":\"X\",\"args\":{\"hhash\":\"h0\",\"ret\":12}}\n");
    snprintf(name, sizeof(name), "%u.pfw", file);
    store_file(s, name, text.data, text.len);
    buf_done(&text);
}

static const char *const some[] = {"0.1", "0.5", "0.999"}, *const fields[] = {"x", "args.ret"};
static const char *const epochs[] = {"epoch:epoch:epoch_of"}, *const extra[] = {"epoch", "trace"};
static const char *const by_file[] = {"dirname(trace)", "name", "time_bucket"};
static const char *const by_all[] = {"cat", "name", "pid", "tid", "hhash", "fhash", "args.x"};
static const char *const all[] = {"count",       "sum:x",     "mean:x",
                                  "std:x",       "skew:dur",  "kurtosis:x",
                                  "p99.9:dur",   "p50:x",     "distinct:args.ret",
                                  "first:ts",    "last:x",    "busy",
                                  "concurrency", "bandwidth", "sum:size"};
static const struct {
    const char *query;
    struct aggregate_options options;
} questions[] = {
    {"", {.interval_ns = 5000000000, .parents = true}},
    {"",
     {.interval_ns = 1000000,
      .relative = true,
      .parents = true,
      .boundaries = epochs,
      .boundary_count = 1}},
    {"",
     {.percentiles = some,
      .percentile_count = 3,
      .metric_fields = fields,
      .metric_field_count = 2,
      .shape = true}},
    {"", {.interval_ns = 100000000, .percentiles = some, .percentile_count = 3, .exact = true}},
    {"dur > 100",
     {.interval_ns = 20000000,
      .split = true,
      .group_keys = extra,
      .group_key_count = 2,
      .metric_fields = fields,
      .metric_field_count = 1}},
    {"", {.aggregates = all, .aggregate_count = 15}},
    {"",
     {.interval_ns = 1000000000,
      .group_by = by_file,
      .group_by_count = 3,
      .aggregates = all,
      .aggregate_count = 15}},
    {"", {.group_by = by_all, .group_by_count = 6, .aggregates = all + 8, .aggregate_count = 7}},
    {"tid != 3",
     {.interval_ns = 1000000,
      .group_by = by_all,
      .group_by_count = 7,
      .aggregates = all,
      .aggregate_count = 15,
      .top = 90,
      .top_by = "x_sum"}},
    {"",
     {.interval_ns = 10000000,
      .split = true,
      .group_by = by_file + 1,
      .group_by_count = 2,
      .aggregates = all,
      .aggregate_count = 15}},
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

/* ---- sums ------------------------------------------------------------------------------------------- */

struct sums {
    uint64_t rows, count;
    __int128 sum, squares;
    int64_t min, max;
    double durs, shortest, longest;
};

/* Few of any kind but small ones: none, negative ones, those around 2^26, large ones. */
static bool some_value(int64_t *ret)
{
    unsigned kind = below(40);

    *ret = kind == 1   ? -(int64_t)below(1000)
           : kind == 2 ? (1 << 26) - 2 + (int64_t)below(4)
           : kind == 3 ? (int64_t)below(1 << 20) << 30
                       : (int64_t)below(1u << below(20));
    return kind != 0;
}

/* Names a, b, c in turn by chance; durations in us or in ns; lines between them that are no events. */
static void lines_of_sums(struct store *s, const char *name, const char *fraction,
                          struct sums *sums)
{
    struct buf text = {0};

    for (unsigned i = 0; i < 9000; i++) {
        unsigned group = below(3), tid = below(5), dur = 7 + below(5000);
        struct sums none = {0}, *to = tid == 3 ? &none : &sums[group]; /* tid != 3 is asked for */
        int64_t n;
        bool has = some_value(&n);
        if (below(30) == 0)
            buf_printf(&text,
                       "{\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":1,\"ph\":\"M\","
                       "\"args\":{\"name\":\"/f%u\",\"value\":\"%u\"}}\n",
                       i, i);
        buf_printf(&text,
                   "{\"name\":\"%c\",\"cat\":\"x\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":%u%s,"
                   "\"ph\":\"X\",\"args\":{",
                   'a' + (int)group, tid, 1000 + i * 7, dur, fraction);
        if (has)
            buf_printf(&text, "\"n\":%lld", (long long)n);
        buf_printf(&text, "}}\n");
        to->rows++;
        double d = dur + atof(fraction[0] ? fraction : "0");
        to->shortest = to->durs == 0 || d < to->shortest ? d : to->shortest;
        to->longest = to->durs == 0 || d > to->longest ? d : to->longest;
        to->durs += d;
        if (!has)
            continue;
        to->min = to->count == 0 || n < to->min ? n : to->min;
        to->max = to->count++ == 0 || n > to->max ? n : to->max;
        to->sum += n;
        to->squares += (__int128)n * n;
    }
    store_file(s, name, text.data, text.len);
    buf_done(&text);
}

static void check_sums(const char *rows, unsigned row, const struct sums *want)
{
    const double n = (double)want->count;
    __int128 spread = want->squares * want->count - want->sum * want->sum;
    char digits[64];

    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)want->rows);
    CELL(row, "count", digits);
    CELL(row, "n_sum", (num_format_i128(want->sum, digits), digits));
    CELL(row, "n_min", (num_format_i128(want->min, digits), digits));
    CELL(row, "n_max", (num_format_i128(want->max, digits), digits));
    CHECK_NEAR(atof(cell(rows, row, "n_std")), sqrt((double)spread / n / (n - 1)), 1e-12);
    CHECK_NEAR(atof(cell(rows, row, "dur_sum")), want->durs, 1e-12);
    CHECK_NEAR(atof(cell(rows, row, "dur_min")), want->shortest, 0);
    CHECK_NEAR(atof(cell(rows, row, "dur_max")), want->longest, 0);
}

/* Against sums made line by line here. */
static void sums_are_exact(void)
{
    static const char *const by[] = {"name"};
    static const char *const what[] = {"count", "sum:n",   "min:n",   "max:n",
                                       "std:n", "sum:dur", "min:dur", "max:dur"};
    struct sums want[3] = {0};
    struct store s;

    random_state = 5;
    CHECK_STOP(store_begin(&s));
    lines_of_sums(&s, "us.pfw", "", want);
    lines_of_sums(&s, "ns.pfw", ".125", want);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1));
    for (unsigned threads = 1; threads <= 2; threads++) {
        CHECK_INT(pool_new(threads, "test", &s.env.pool), 0);
        char *rows = rows_of(
            &s, "tid != 3",
            (struct aggregate_options){
                .group_by = by, .group_by_count = 1, .aggregates = what, .aggregate_count = 8});
        for (unsigned i = 0; i < 3; i++)
            check_sums(rows, i, &want[i]);
        free(rows);
        pool_free(s.env.pool);
        s.env.pool = NULL;
    }
    store_end(&s);
}

static void threads_change_nothing(void)
{
    static const unsigned threads[] = {1, 2, 8};
    char *answers[QUESTIONS] = {0};
    struct store s;

    random_state = 7;
    CHECK_STOP(store_begin(&s));
    for (unsigned file = 0; file < 3; file++)
        many_lines(&s, file, 3000);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1));
    CHECK(snapshot_file(s.snapshot, 0)->chunk_count > 5);
    for (unsigned round = 0; round < 3; round++) {
        if (round > 0)
            CHECK_INT(pool_new(threads[round], "test", &s.env.pool), 0);
        for (unsigned i = 0; i < QUESTIONS; i++) {
            char *rows = rows_of(&s, questions[i].query, questions[i].options);
            CHECK(*rows);
            if (round == 0) {
                answers[i] = rows;
                continue;
            }
            if (strcmp(rows, answers[i]) != 0)
                check_fail(__FILE__, __LINE__, "question %u differs with %u threads", i,
                           threads[round]);
            free(rows);
        }
        pool_free(s.env.pool);
    }
    for (unsigned i = 0; i < QUESTIONS; i++)
        free(answers[i]);
    store_end(&s);
}

/* ---- too much ------------------------------------------------------------------------------------- */

/* With so much memory; NULL: refused. */
static char *rows_within(struct store *s, const char *query, struct aggregate_options o,
                         uint64_t memory)
{
    struct budget budget = {.memory_limit = memory};
    struct err err = {0};
    struct buf out = {0};
    int rc;

    o.limit = o.limit ? o.limit : UINT64_MAX;
    rc = ask(s, query, &o, &budget, &err, &out);
    CHECK(rc == 0 || rc == ERR_MEMORY_LIMIT);
    err_done(&err);
    if (rc == 0)
        return out.data ? buf_steal(&out, NULL) : strdup("");
    buf_done(&out);
    return NULL;
}

/* The least memory that it is answered with, in steps of a third; all answers are `want`. */
static uint64_t least_memory(struct store *s, const char *query, const struct aggregate_options *o,
                             const char *want)
{
    uint64_t memory = 64 << 20, least = 0;

    for (; memory > 1000; memory -= memory / 3) {
        char *rows = rows_within(s, query, *o, memory);
        if (!rows)
            break;
        if (strcmp(rows, want) != 0)
            check_fail(__FILE__, __LINE__, "other rows with %llu bytes",
                       (unsigned long long)memory);
        free(rows);
        least = memory;
    }
    return least;
}

static const char *after_lines(const char *rows, unsigned n)
{
    return n ? after_lines(strchr(rows, '\n') + 1, n - 1) : rows;
}
/* Groups that do not fit into memory together are found part after part, and the rows are the same; also where the values of
 * the first key do not fit, if that is a time. */
static void parts_change_nothing(void)
{
    static const char *const by[][2] = {{"tid", "ts"}, {"ts", "tid"}, {"time_bucket", "tid"}};
    struct aggregate_options wide = {
        .group_by_count = 2, .aggregates = all, .aggregate_count = 15, .interval_ns = 1000};
    struct store s;

    random_state = 11;
    CHECK_STOP(store_begin(&s));
    for (unsigned file = 0; file < 3; file++)
        many_lines(&s, file, 1500);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1) && pool_new(2, "test", &s.env.pool) == 0);
    for (unsigned i = 0; i < QUESTIONS; i += CHECK_EVERY) {
        char *rows = rows_of(&s, questions[i].query, questions[i].options);
        CHECK(least_memory(&s, questions[i].query, &questions[i].options, rows) > 0);
        free(rows);
    }
    for (unsigned i = 0; i < 3; i++) {
        wide.group_by = wide.sort = by[i];
        wide.sort_count = 0;
        char *rows = rows_of(&s, "", wide);
        uint64_t parted = least_memory(&s, "", &wide, rows);
        wide.offset = 1234, wide.limit = 2000;
        const char *from = after_lines(rows, 1234), *to = after_lines(from, 2000);
        char *page = rows_within(&s, "", wide, 2 * parted);
        CHECK(page && strlen(page) == (size_t)(to - from) && strncmp(page, from, to - from) == 0);
        wide.offset = wide.limit = 0;
        free(page);
        wide.sort_count = 1; /* needs all of them at once */
        CHECK(parted > 0 && parted < least_memory(&s, "", &wide, rows) / 5);
        free(rows);
    }
    pool_free(s.env.pool);
    store_end(&s);
}

static void check_refused(struct store *s, const struct aggregate_options *o, uint64_t memory,
                          int rc, const char *says)
{
    struct budget budget = {.memory_limit = memory};
    struct err err = {0};
    struct buf out = {0};

    CHECK_INT(ask(s, "", o, &budget, &err, &out), rc);
    CHECK(err.text && strstr(err.text, says));
    err_done(&err);
    buf_done(&out);
}

static void limits_are_told(void)
{
    static const char *const by[] = {"args.x", "ts"}, *const sort[] = {"-count"};
    struct aggregate_options o = {.limit = UINT64_MAX,
                                  .interval_ns = 1000000,
                                  .group_by = by,
                                  .group_by_count = 2,
                                  .aggregates = all,
                                  .aggregate_count = 15};
    struct store s;

    random_state = 9;
    CHECK_STOP(store_begin(&s));
    many_lines(&s, 0, 20000);
    CHECK_STOP(store_ingest(&s, 64 << 10, 2));
    s.env.pool = s.pool;
    s.env.max_groups = 1000;
    check_refused(&s, &o, 0, ERR_ROW_LIMIT, "more than 1000 groups");
    s.env.max_groups = 0;
    o.sort = sort;
    o.sort_count = 1;
    check_refused(&s, &o, 3 << 20, ERR_MEMORY_LIMIT, "more than the 3 MiB");
    o.sort_count = o.aggregate_count = 0;
    check_refused(&s, &o, 50000, ERR_MEMORY_LIMIT, "more than the 0 MiB");
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
    {"sums_are_exact", sums_are_exact},
    {"threads_change_nothing", threads_change_nothing},
    {"parts_change_nothing", parts_change_nothing},
    {"limits_are_told", limits_are_told},
    {NULL, NULL},
};
CHECK_MAIN(tests)
