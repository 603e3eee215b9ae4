/* module: format */
/* /stats and /info in all their forms. */
#include "dftracerd/info.h"
#include "dftracerd/stats.h"
#include "query_store.h"
#include "dftracerd/format.h"
#include "dftracerd/info.h"
#include "dftracerd/stats.h"

static struct value text(const char *s)
{
    return (struct value){.type = VALUE_TEXT, .text = text_of(s)};
}
static struct value integer(int64_t i)
{
    return (struct value){.type = VALUE_INT, .i = i};
}
static struct value wide(int64_t i)
{
    return (struct value){.type = VALUE_WIDE, .wide = i};
}
static struct value number(double d)
{
    return (struct value){.type = VALUE_DOUBLE, .d = d};
}
static struct value time_ns(int64_t ns)
{
    return (struct value){.type = VALUE_TIME, .wide = ns};
}

/* Two durations, 1.5 us and 2.5 us. */
static struct measured two_times(void)
{
    struct measured m = {.count = 2,
                         .sum = time_ns(4000),
                         .mean = number(2),
                         .std = number(0.70710678118654757),
                         .min = time_ns(1500),
                         .max = time_ns(2500)};

    for (int i = 0; i < STATS_QUANTILES; i++)
        m.quantiles[i] = time_ns(i < 3 ? 1500 : 2500);
    return m;
}

static struct stats head(enum stats_report report)
{
    return (struct stats){.report = report,
                          .query = "a \"b\"",
                          .counters = {.files = 3,
                                       .damaged_files = 1,
                                       .chunks_total = 9,
                                       .chunks_scanned = 2,
                                       .chunks_skipped = 7,
                                       .generation = 5},
                          .complete = true,
                          .failed_files = 1,
                          .events = 2,
                          .min_ts = time_ns(1000),
                          .max_te = time_ns(5500),
                          .span = time_ns(4500)};
}

static void check_format(const struct stats *s, enum format f, const char *expected)
{
    struct buf out = {0};

    CHECK_INT(format_stats(s, f, false, &out), 0);
    char *got = buf_steal(&out, NULL);
    CHECK_STR(got, expected);
    free(got);
}

#define HEAD(report) \
    "{\"report\":\"" report \
    "\",\"query\":\"a \\\"b\\\"\",\"generation\":5,\"complete\":true,\"damaged_files\":1," \
    "\"files\":3,\"chunks\":{\"total\":9,\"scanned\":2,\"skipped\":7,\"answered_from_summary\":0}" \
    ",\"events\":2," \
    "\"time_range\":{\"min_ts\":1,\"max_te\":5.5,\"span\":4.5}"
#define TIMES \
    "{\"count\":2,\"sum\":4,\"mean\":2,\"std\":0.7071067811865476,\"min\":1.5,\"max\":2.5," \
    "\"p10\":1.5,\"p25\":1.5,\"p50\":1.5,\"p75\":2.5,\"p90\":2.5,\"p95\":2.5,\"p99\":2.5}"
#define NONE \
    "{\"count\":0,\"sum\":0,\"mean\":null,\"std\":null,\"min\":null,\"max\":null," \
    "\"p10\":null,\"p25\":null,\"p50\":null,\"p75\":null,\"p90\":null,\"p95\":null,\"p99\":null}"

static void summary(void)
{
    struct stats_count cats[] = {{.cat = text("POSIX"), .count = 1}, {.count = 1}};
    struct stats_count threads[] = {
        {.pid = integer(7), .tid = integer(8), .host = text("n1"), .count = 2}};
    struct stats_bin bins[] = {{0, 0, 0}, {1, 2, 1}, {2, 4, 1}};
    struct stats s = head(STATS_SUMMARY);

    s.has_duration = s.has_categories = s.has_pid_tids = s.has_histogram = true;
    s.duration = two_times();
    s.categories = cats, s.category_count = s.categories_total = 2;
    s.pid_tids = threads, s.pid_tid_count = 1, s.pid_tids_total = 4;
    s.histogram = bins + 1, s.histogram_count = 2;
    check_format(&s, FORMAT_JSON,
                 HEAD("summary") ",\"duration\":" TIMES
                                 ",\"categories\":[{\"cat\":\"POSIX\",\"count\":1},{\"cat\":null,"
                                 "\"count\":1}],\"categories_total\":2"
                                 ",\"pid_tids\":[{\"pid\":7,\"tid\":8,\"host\":\"n1\",\"count\":2}]"
                                 ",\"pid_tids_total\":4"
                                 ",\"histogram\":[{\"lo\":1,\"hi\":2,\"count\":1},{\"lo\":2,\"hi\":"
                                 "4,\"count\":1}]}\n");
    check_format(
        &s, FORMAT_CSV,
        "files,events,min_ts,max_te,span,categories,pid_tids,duration_count,duration_sum,duration_"
        "mean,duration_std,"
        "duration_min,duration_max,duration_p10,duration_p25,duration_p50,duration_p75,duration_"
        "p90,duration_p95,duration_p99\n"
        "3,2,1,5.5,4.5,2,4,2,4,2,0.7071067811865476,1.5,2.5,1.5,1.5,1.5,2.5,2.5,2.5,2.5\n");
}

static void counts(void)
{
    struct stats_count names[] = {{.cat = text("a"), .name = text("x"), .count = 5},
                                  {.name = text("y"), .count = 1}};
    struct stats s = head(STATS_TOP_NAMES);

    s.has_names = true;
    s.names = names, s.name_count = 2, s.names_total = 3;
    check_format(
        &s, FORMAT_JSON,
        HEAD("top-names") ",\"names\":[{\"cat\":\"a\",\"name\":\"x\",\"count\":5},{\"cat\":null,"
                          "\"name\":\"y\",\"count\":1}],\"names_total\":3}\n");
    check_format(
        &s, FORMAT_NDJSON,
        "{\"cat\":\"a\",\"name\":\"x\",\"count\":5}\n{\"cat\":null,\"name\":\"y\",\"count\":1}\n");
    check_format(&s, FORMAT_CSV, "cat,name,count\na,x,5\n,y,1\n");
    s.name_count = 0;
    check_format(&s, FORMAT_CSV, "cat,name,count\n");
    check_format(&s, FORMAT_NDJSON, "");
}

static struct stats detailed(struct stats_group *group)
{
    static const char *by[] = {"name", "args.level"};
    struct stats s = head(STATS_DETAILED);

    s.has_groups = true;
    s.duration = two_times();
    s.group_by = by, s.group_by_count = 2;
    s.groups = group, s.group_count = 1, s.groups_total = 30;
    group->key_names = by, group->key_count = 2;
    group->duration = two_times();
    group->size = (struct measured){.sum = wide(0)};
    group->bandwidth = (struct measured){.sum = wide(0)};
    group->offset = (struct measured){
        .count = 1, .sum = wide(4096), .mean = number(4096), .min = wide(4096), .max = wide(4096)};
    for (int i = 0; i < STATS_QUANTILES; i++)
        group->offset.quantiles[i] = integer(4096);
    return s;
}

static void groups(void)
{
    struct value keys[] = {text("read"), integer(2)};
    struct stats_group group = {.keys = keys, .count = 2};
    struct stats s = detailed(&group);

    check_format(&s, FORMAT_JSON,
                 HEAD("detailed") ",\"groups\":[{\"name\":\"read\",\"args.level\":2,\"count\":2,"
                                  "\"duration\":" TIMES ",\"size\":" NONE ",\"bandwidth\":" NONE
                                  ",\"offset\":{\"count\":1,\"sum\":4096,\"mean\":4096,\"std\":"
                                  "null,\"min\":4096,\"max\":4096,\"p10\":4096,\"p25\":4096,"
                                  "\"p50\":4096,\"p75\":4096,\"p90\":4096,\"p95\":4096,\"p99\":"
                                  "4096}}],\"groups_total\":30}\n");
    struct buf out = {0};
    CHECK_INT(format_stats(&s, FORMAT_CSV, false, &out), 0);
    char *got = buf_steal(&out, NULL);
    CHECK(strncmp(got, "name,args.level,count,duration_count,", 37) == 0);
    CHECK(strstr(got, ",offset_p99\nread,2,2,2,4,2,0.7071067811865476,1.5,") != NULL);
    free(got);
    CHECK_INT(format_stats(&s, FORMAT_PERFETTO, false, &out), ERR_FORMAT);
    buf_done(&out);
}

static void for_people(void)
{
    struct value keys[] = {text("a name that is longer than thirty characters"), integer(2)};
    struct stats_group group = {.keys = keys, .count = 2};
    struct stats_bin bins[] = {{0, 0, 1500}, {1024, 2048, 3}};
    struct stats_count cats[] = {{.cat = text("POSIX"), .count = 1}};
    struct stats s = detailed(&group);
    struct buf out = {0};

    CHECK_INT(format_stats(&s, FORMAT_TEXT, false, &out), 0);
    char *got = buf_steal(&out, NULL);
    CHECK(strstr(got, "Consolidated (3 files, 2 successful, 1 failed)\n") != NULL);
    CHECK(strstr(got, "  Chunks: 9 (scanned: 2, skipped: 7)\n  Events Scanned: 2\n") != NULL);
    CHECK(strstr(got, "a name that is longer than thirty characters") != NULL);
    CHECK(strstr(got, "Duration by group (1 of 30):") != NULL);
    free(got);
    s = head(STATS_SUMMARY);
    s.has_histogram = s.has_categories = s.has_duration = true;
    s.histogram = bins, s.histogram_count = 2;
    s.categories = cats, s.category_count = s.categories_total = 1;
    s.duration = two_times();
    CHECK_INT(format_stats(&s, FORMAT_TEXT, false, &out), 0);
    got = buf_steal(&out, NULL);
    CHECK(strstr(got, "  Time Span: 0.000005 seconds\n") != NULL ||
          strstr(got, "  Time Span: 0.000004 seconds\n") != NULL);
    CHECK(strstr(got, "  Categories (1):\n    POSIX                                     1\n") !=
          NULL);
    CHECK(strstr(got, "0 us |########################################| 1,500\n") != NULL);
    CHECK(strstr(got, "[1,024, 2,048) us |#                                       | 3\n") != NULL);
    CHECK(strstr(got, "    Mean     2.0 us\n") != NULL);
    free(got);
}

/* ---- /info ----------------------------------------------------------------------------------- */

static const char trace[] =
    "[\n{\"name\":\"HH\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"node\",\"value\":"
    "\"h\"}}\n"
    "{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":2.5,\"args\":{\"hhash\":"
    "\"h\"}}\n"
    "{\"name\":\"b\",\"ph\":\"C\",\"pid\":1,\"tid\":2,\"ts\":1,\"args\":{\"hhash\":\"h\"}}\nbad\n";

static char *info_of(struct store *s, unsigned detail, enum format f)
{
    struct info_options options = {.detail = detail, .only_files = f == FORMAT_TEXT};
    struct info *info;
    struct buf out = {0};
    uint32_t files[] = {0, 1};
    struct err err = {0};

    CHECK_INT(snapshot_file_count(s->snapshot), 2);
    if (CHECK_INT(info_open(&s->env, s->snapshot, files, 2, &options, &info), 0)) {
        info->err = &err;
        info->out = &out;
        if (f == FORMAT_JSON)
            CHECK_INT(format_object(&info_type, info, false, &out), ERR_END);
        else
            format_info_text(info, &out);
        info_close(info);
    }
    err_done(&err);
    return buf_steal(&out, NULL);
}

static void info(void)
{
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", trace, sizeof(trace) - 1);
    store_file(&s, "b.pfw", trace, sizeof(trace) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    char *got = info_of(&s, 0, FORMAT_JSON);
    const char *totals = strstr(got, "\"totals\":");
    CHECK_STOP(totals);
    char expected[800], bytes[24];
    CHECK(strncmp(got, "{\"generation\":", 14) == 0);
    num_format_double(sizeof(trace) - 1, bytes);
    const struct index_file *a = snapshot_file(s.snapshot, 0);
    snprintf(expected, sizeof(expected),
             "\"totals\":{\"files\":2,\"files_ready\":2,\"files_pending\":0,\"files_failed\":0,"
             "\"files_damaged\":0,"
             "\"compressed_bytes\":%zu,\"uncompressed_bytes\":%zu,\"index_bytes\":%llu,\"lines\":"
             "10,\"objects\":6,\"events\":2,"
             "\"counters\":2,\"aggregated\":0,\"metadata\":2,\"brackets\":2,\"invalid\":2,"
             "\"repaired\":0,\"chunks\":2,"
             "\"processes\":1,\"threads\":2,\"hosts\":1,\"min_ts\":5,\"max_te\":7.5,\"bytes_per_"
             "event\":%s}}\n",
             2 * (sizeof(trace) - 1), 2 * (sizeof(trace) - 1),
             (unsigned long long)a->index_bytes * 2, bytes);
    CHECK_STR(totals, expected);
    free(got);
    got = info_of(&s, 2, FORMAT_JSON);
    CHECK(strstr(got, "\"files\":[{\"path\":\"a.pfw\",\"state\":\"") != NULL);
    CHECK(strstr(got, "\"chunk_list\":[{\"number\":0,\"objects\":3,\"text_offset\":0,") != NULL);
    CHECK(strstr(got, "{\"path\":\"pid\",\"type\":\"int\",\"rows\":3,\"distinct\":1,"
                      "\"distinct_exact\":true,\"min\":1,\"max\":1,\"bloom\":true}") != NULL);
    CHECK(strstr(got, "{\"path\":\"dur\",\"type\":\"float\",\"rows\":1,\"distinct\":1,"
                      "\"distinct_exact\":true,\"min\":2.5,\"max\":2.5,\"bloom\":false}") != NULL);
    CHECK(strstr(got, "\"path\":\"@len\"") == NULL);
    free(got);
    got = info_of(&s, 0, FORMAT_TEXT);
    CHECK(strstr(got, "  Total Files:            2\n") != NULL);
    CHECK(strstr(got, "  Valid Events:           4\n") != NULL);
    free(got);
    got = info_of(&s, 1, FORMAT_TEXT);
    CHECK(strstr(got, "File: a.pfw\n") != NULL);
    CHECK(strstr(got, "  Checkpoints:            1\n") != NULL);
    free(got);
    store_end(&s);
}

/* An answer is written at once: it ends where it would need more than its query may have. */
static void long_answers(void)
{
    static const enum format formats[] = {FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT};
    enum { NAMES = 20000 };
    struct stats_count *rows = calloc(NAMES, sizeof(*rows));
    struct stats s = head(STATS_NAMES);

    CHECK_STOP(rows != NULL);
    for (size_t i = 0; i < NAMES; i++)
        rows[i] = (struct stats_count){.cat = text("POSIX"), .name = text("a name"), .count = 1};
    s.has_names = true;
    s.names = rows;
    s.name_count = s.names_total = NAMES;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct budget small = {.memory_limit = 100 << 10, .memory_used = 1000}, enough = {0};
        struct buf out = {0};
        s.budget = &small;
        CHECK_INT(format_stats(&s, formats[i], false, &out), ERR_MEMORY_LIMIT);
        CHECK(out.cap <= 512 << 10);
        buf_done(&out);
        s.budget = &enough;
        CHECK_INT(format_stats(&s, formats[i], false, &out), 0);
        CHECK(out.len > 250 << 10);
        buf_done(&out);
    }
    free(rows);
}

static const struct check_test tests[] = {
    {"summary", summary}, {"counts", counts},
    {"groups", groups},   {"for_people", for_people},
    {"info", info},       {"long_answers", long_answers},
    {NULL, NULL},
};
CHECK_MAIN(tests)
