/* module: format */
/* The JSON writer. */
#include <math.h>
#include <stddef.h>

#include "check.h"
#include "dftracerd/format.h"

static char *take(struct buf *b)
{
    return buf_steal(b, NULL);
}

static void write_all(struct jw *j)
{
    jw_begin(j, '{');
    jw_key(j, "a");
    jw_uint(j, UINT64_MAX);
    jw_key(j, "b");
    jw_begin(j, '[');
    jw_int(j, INT64_MIN);
    jw_double(j, 0.1);
    jw_double(j, 3);
    jw_double(j, NAN);
    jw_double(j, INFINITY);
    jw_bool(j, true);
    jw_bool(j, false);
    jw_null(j);
    jw_str(j, NULL);
    jw_begin(j, '{');
    jw_end(j, '}');
    jw_begin(j, '[');
    jw_end(j, ']');
    jw_end(j, ']');
    jw_key_text(j, TEXT("k\"y"));
    jw_time_ns(j, 1500);
    jw_key(j, "big");
    jw_time_ns(j, (__int128)INT64_MAX * 1000);
    jw_end(j, '}');
    jw_finish(j);
}

static void compact(void)
{
    struct buf out = {0};
    struct jw j;

    jw_init(&j, &out, false);
    write_all(&j);
    char *got = take(&out);
    CHECK_STR(got, "{\"a\":18446744073709551615,\"b\":[-9223372036854775808,0.1,3,null,null,true,"
                   "false,null,null,{},[]],"
                   "\"k\\\"y\":1.5,\"big\":9223372036854775807}\n");
    free(got);
}

static void pretty(void)
{
    struct buf out = {0};
    struct jw j;

    jw_init(&j, &out, true);
    jw_begin(&j, '{');
    jw_key(&j, "a");
    jw_begin(&j, '[');
    jw_int(&j, 1);
    jw_int(&j, 2);
    jw_end(&j, ']');
    jw_key(&j, "e");
    jw_begin(&j, '[');
    jw_end(&j, ']');
    jw_end(&j, '}');
    jw_finish(&j);
    char *got = take(&out);
    CHECK_STR(got, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": []\n}\n");
    free(got);
}

struct row {
    uint32_t slot;
    uint64_t count;
    __int128 ns;
};

struct rows {
    const struct row *rows;
    size_t count;
};
#define OBJECT struct rows
static const struct member row_members[] = {
    MEMBER_COLUMN("ns", rows, count, ns),
    MEMBER_COLUMN("count", rows, count, count),
    MEMBER_COLUMN("slot", rows, count, slot),
};
static const struct object_type rows_type = {NULL, MEMBERS(row_members)};
#undef OBJECT

static char *columns_of(const struct row *rows, size_t n, bool with_pretty)
{
    const struct rows all = {rows, n};
    struct buf out = {0};
    struct jw j;

    jw_init(&j, &out, with_pretty);
    jw_object(&j, &rows_type, &all);
    return take(&out);
}

static void columns(void)
{
    static const struct row rows[] = {{0, 9, -1500},
                                      {10, UINT64_MAX, (__int128)INT64_MAX * 1000},
                                      {UINT32_MAX, 99999999, 123456789}};
    char *got = columns_of(rows, 3, false);

    CHECK_STR(got, "{\"ns\":[-1.5,9223372036854775807,123456.789],"
                   "\"count\":[9,18446744073709551615,99999999],\"slot\":[0,10,4294967295]}");
    free(got);
    got = columns_of(rows, 0, false);
    CHECK_STR(got, "{\"ns\":[],\"count\":[],\"slot\":[]}");
    free(got);
    got = columns_of(rows, 2, true);
    CHECK_STR(
        got,
        "{\n  \"ns\": [\n    -1.5,\n    9223372036854775807\n  ],\n  \"count\": [\n    9,\n    "
        "18446744073709551615\n  ],\n  \"slot\": [\n    0,\n    10\n  ]\n}");
    free(got);
}

/* More numbers than are written at once. */
static void long_columns(void)
{
    static struct row rows[2000];
    struct buf expected = {0};

    for (uint32_t i = 0; i < 2000; i++) {
        rows[i] = (struct row){.slot = i, .count = i * 1000003ull, .ns = i * 1000};
        buf_printf(&expected, "%s%u", i ? "," : "", i);
    }
    char *got = columns_of(rows, 2000, false), *all = take(&expected);
    CHECK(strncmp(got, "{\"ns\":[", 7) == 0 && strncmp(got + 7, all, strlen(all)) == 0);
    CHECK(strstr(got, all) < strstr(got, "\"slot\""));
    free(got);
    free(all);
}

static void texts(void)
{
    static const struct {
        struct text in;
        const char *out;
    } cases[] = {
        {{NULL, 0}, "\"\""},
        {TEXT("plain text of more than eight bytes ~"),
         "\"plain text of more than eight bytes ~\""},
        {TEXT("say \"hi\""), "\"say \\\"hi\\\"\""},
        {TEXT("12345678\\"), "\"12345678\\\\\""},
        {TEXT("tab\there"), "\"tab\\there\""},
        {TEXT("nul\0bell\a"), "\"nul\\u0000bell\\u0007\""},
        {TEXT("\x1f 1234567"), "\"\\u001f 1234567\""},
        {TEXT("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {TEXT("bad \xff end"), "\"bad \xef\xbf\xbd end\""},
        {TEXT("del \x7f"), "\"del \x7f\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out = {0};
        jw_escape(&out, cases[i].in);
        char *got = take(&out);
        CHECK_STR(got, cases[i].out);
        free(got);
    }
}

/* Every byte at every position of a word of eight. */
static void every_byte(void)
{
    for (int c = 0; c < 256; c++) {
        for (int at = 0; at < 17; at++) {
            char in[17];
            struct buf out = {0}, expected = {0};
            memset(in, 'x', sizeof(in));
            in[at] = (char)c;
            jw_escape(&out, (struct text){in, sizeof(in)});
            buf_json_text(&expected, (struct text){in, sizeof(in)});
            CHECK_MEM(out.data, out.len, expected.data, expected.len);
            buf_done(&out);
            buf_done(&expected);
        }
    }
}

static void names_of_formats(void)
{
    enum format f;

    CHECK_INT(format_parse(TEXT("arrow-stream"), &f), 0);
    CHECK_INT(f, FORMAT_ARROW_STREAM);
    CHECK(format_parse(TEXT("JSON"), &f) < 0);
    for (unsigned i = 0; i < FORMAT_COUNT; i++) {
        CHECK_INT(format_parse(text_of(format_name((enum format)i)), &f), 0);
        CHECK_INT(f, i);
        CHECK(strchr(format_content_type(f), '/') != NULL);
    }
    CHECK_STR(format_content_type(FORMAT_NDJSON), "application/x-ndjson");
}

static const struct check_test tests[] = {
    {"compact", compact},
    {"pretty", pretty},
    {"columns", columns},
    {"long_columns", long_columns},
    {"texts", texts},
    {"every_byte", every_byte},
    {"names_of_formats", names_of_formats},
    {NULL, NULL},
};
CHECK_MAIN(tests)
