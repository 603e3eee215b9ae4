/* module: format */
/* Flat rows in every form. */
#include "check.h"
#include "dftracerd/format.h"

#include <stdlib.h>

static const char *const columns[] = {"name", "dur", "x,y"};

static struct value text(const char *s)
{
    return (struct value){.type = VALUE_TEXT, .text = text_of(s)};
}
static struct value integer(int64_t i)
{
    return (struct value){.type = VALUE_INT, .i = i};
}
static struct value time_ns(int64_t ns)
{
    return (struct value){.type = VALUE_TIME, .wide = ns};
}

static char *table_of(enum format f, size_t rows)
{
    struct value values[][3] = {
        {text("read"), time_ns(1500), {.type = VALUE_NULL}},
        {text("a \"quoted\", name\n"), time_ns(2000), integer(-7)},
        {{.type = VALUE_NULL},
         {.type = VALUE_DOUBLE, .d = 0.25},
         {.type = VALUE_JSON, .text = TEXT("[1,2]")}},
        {text(""), {.type = VALUE_BOOL, .i = 1}, {.type = VALUE_UINT, .u = UINT64_MAX}},
        {text("\xc3\xa4"),
         {.type = VALUE_DOUBLE, .d = __builtin_inf()},
         {.type = VALUE_WIDE, .wide = (__int128)1 << 64}},
    };
    struct format_table *t;
    struct buf out = {0};

    if (!CHECK_INT(format_table_new(f, columns, 3, &t), 0))
        return NULL;
    for (size_t i = 0; i < rows; i++)
        format_table_row(t, values[i], &out);
    format_table_end(t, &out);
    format_table_free(t);
    return buf_steal(&out, NULL);
}

static void check_table(enum format f, size_t rows, const char *expected)
{
    char *got = table_of(f, rows);

    CHECK_STR(got, expected);
    free(got);
}

static void ndjson(void)
{
    check_table(FORMAT_NDJSON, 5,
                "{\"name\":\"read\",\"dur\":1.5,\"x,y\":null}\n"
                "{\"name\":\"a \\\"quoted\\\", name\\n\",\"dur\":2,\"x,y\":-7}\n"
                "{\"name\":null,\"dur\":0.25,\"x,y\":[1,2]}\n"
                "{\"name\":\"\",\"dur\":true,\"x,y\":18446744073709551615}\n"
                "{\"name\":\"\xc3\xa4\",\"dur\":null,\"x,y\":18446744073709551616}\n");
    check_table(FORMAT_NDJSON, 0, "");
}

static void json(void)
{
    check_table(FORMAT_JSON, 0, "{\"rows\":[]}\n");
    check_table(FORMAT_JSON, 1, "{\"rows\":[{\"name\":\"read\",\"dur\":1.5,\"x,y\":null}]}\n");
    check_table(FORMAT_JSON, 2,
                "{\"rows\":[{\"name\":\"read\",\"dur\":1.5,\"x,y\":null},"
                "{\"name\":\"a \\\"quoted\\\", name\\n\",\"dur\":2,\"x,y\":-7}]}\n");
}

static void csv(void)
{
    check_table(FORMAT_CSV, 0, "name,dur,\"x,y\"\n");
    check_table(FORMAT_CSV, 5,
                "name,dur,\"x,y\"\nread,1.5,\n\"a \"\"quoted\"\", name\n\",2,-7\n,0.25,\"[1,2]\"\n"
                "\"\",true,18446744073709551615\n\xc3\xa4,,18446744073709551616\n");
}

static void aligned(void)
{
    check_table(FORMAT_TEXT, 0, "name  dur  x,y\n");
    check_table(FORMAT_TEXT, 5,
                "name                 dur  x,y\n"
                "read                 1.5  -\n"
                "a \"quoted\", name\\n     2                    -7\n"
                "-                   0.25  [1,2]\n"
                "                    true  18446744073709551615\n"
                "\xc3\xa4                   -     18446744073709551616\n");
}

/* Beyond 1,000 rows the widths stay as they were. */
static void long_tables(void)
{
    static const char *const one[] = {"n"};
    struct format_table *t;
    struct buf out = {0};
    size_t lines = 0;

    CHECK_STOP(format_table_new(FORMAT_TEXT, one, 1, &t) == 0);
    for (int i = 0; i < 2500; i++) {
        struct value v = integer(i);
        format_table_row(t, &v, &out);
    }
    format_table_end(t, &out);
    for (size_t i = 0; i < out.len; i++)
        lines += out.data[i] == '\n';
    CHECK_INT(lines, 2501);
    CHECK_MEM(out.data, 8, "  n\n  0\n", 8);
    CHECK_MEM(out.data + out.len - 10, 10, "2498\n2499\n", 10);
    format_table_free(t);
    buf_done(&out);
}

/* A text of 1 MiB: other rows are not padded to its width, and rows are not collected for long. */
static void long_texts(void)
{
    static const char *const two[] = {"text", "n"};
    enum { LONG = 1 << 20 };
    char *text = malloc(LONG);
    struct value row[] = {{.type = VALUE_TEXT, .text = {text, LONG}}, integer(1)};
    struct format_table *t;
    struct buf out = {0};

    CHECK_STOP(text && format_table_new(FORMAT_TEXT, two, 2, &t) == 0);
    memset(text, 'x', LONG);
    format_table_row(t, row, &out);
    row[0].text.len = 1;
    for (int i = 0; i < 100; i++)
        format_table_row(t, row, &out);
    CHECK_INT(out.len, 0);
    row[0].text.len = LONG;
    for (int i = 0; i < 20; i++)
        format_table_row(t, row, &out);
    CHECK(out.len > 20 * LONG && out.len < 22 * LONG);
    format_table_end(t, &out);
    CHECK(out.len < 22 * LONG);
    format_table_free(t);
    buf_done(&out);
    free(text);
}

static void no_such_form(void)
{
    struct format_table *t;

    CHECK_INT(format_table_new(FORMAT_PERFETTO, columns, 3, &t), ERR_FORMAT);
}

static const struct check_test tests[] = {
    {"ndjson", ndjson},
    {"json", json},
    {"csv", csv},
    {"aligned", aligned},
    {"long_tables", long_tables},
    {"long_texts", long_texts},
    {"no_such_form", no_such_form},
    {NULL, NULL},
};
CHECK_MAIN(tests)
