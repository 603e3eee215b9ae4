/* module: column */
/* test_chunk_size.c - the columns size and bytes of a chunk: the rules, and what they take where
 * both are the same. */
#include "column/chunk/chunk_build.h"
#include "chunk_maker.h"

/* The number of a row in words; of a column that is neither of integers nor of doubles the type. */
static const char *words(struct chunk_view *v, const char *path, uint32_t row)
{
    static char out[64];
    struct column c;
    uint64_t valid;
    int64_t i;
    double d;

    if (chunk_find(v, text_of(path), &c) < 0)
        return "no column";
    if (column_pick_valid(v, &c, &row, 1, &valid) < 0 || !(valid & 1))
        return "null";
    if (c.type == COLUMN_INT && column_pick_i64(v, &c, &row, 1, &i) == 0)
        sprintf(out, "int %" PRId64, i);
    else if (c.type == COLUMN_DOUBLE && column_pick_f64(v, &c, &row, 1, &d) == 0)
        sprintf(out, d == (double)(int64_t)d && d < 1e18 ? "int %.0f" : "double %.17g", d);
    else
        sprintf(out, "type %d", (int)c.type);
    return out;
}

static void size_rule(void)
{
    static const struct {
        const char *cat, *name, *args, *size;
    } cases[] = {
        {"POSIX", "read", "\"ret\":100", "int 100"},
        {"posix", "read", "\"ret\":100,\"size\":7", "int 100"},
        {"POSIX", "read", "\"ret\":0,\"size\":7", "null"},
        {"POSIX", "read", "\"ret\":-1", "null"},
        {"POSIX", "write", "\"size\":7", "int 7"},
        {"POSIX", "write", "\"size\":0", "null"},
        {"POSIX", "lseek", "\"ret\":100", "null"},
        {"POSIX", "lseek", "\"size\":100,\"image_size\":5", "null"},
        {"POSIX", "pread64", "\"ret\":\"100\"", "int 100"},
        {"POSIX", "READ", "\"ret\":100", "null"},
        {"POSIX", "copy_file_range", "\"ret\":3", "int 3"},
        {"POSIX", "fread", "\"ret\":10,\"size\":4", "int 10"},
        {"STDIO", "fread", "\"ret\":10,\"size\":4", "int 40"},
        {"Stdio", "fwrite", "\"ret\":10,\"size\":0", "int 10"},
        {"STDIO", "fwrite", "\"ret\":0,\"size\":4", "null"},
        {"STDIO", "fwrite", "\"ret\":-10,\"size\":-4", "null"},
        {"STDIO", "fread", "\"size\":4", "int 4"},
        {"STDIO", "read", "\"ret\":10,\"size\":4", "int 10"},
        {"STDIO", "fopen", "\"ret\":10", "null"},
        {"STDIO", "fread", "\"ret\":4611686018427387904,\"size\":4",
         "double 1.8446744073709552e+19"},
        {"reader", "x", "\"image_size\":\"146579449\"", "int 146579449"},
        {"reader", "x", "\"size\":0,\"image_size\":5", "int 5"},
        {"reader", "x", "\"size\":2.5,\"image_size\":5", "double 2.5"},
        {"reader", "x", "\"size\":2.0", "int 2"},
        {"reader", "read", "\"ret\":5", "null"},
        {"reader", "x", "\"size\":\"big\"", "null"},
        {"POSIX", "read", "\"size_sum\":9,\"ret\":1", "int 9"},
        {"POSIX", "read", "\"ret_sum\":9,\"ret\":1", "int 9"},
        {"c", "x", "\"ret_sum\":9,\"size_sum\":8", "int 8"},
        {"c", "x", "\"y\":1", "null"},
    };
    struct buf lines = {0}, value = {0};
    struct chunk_built built;

    maker_begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_clear(&lines);
        buf_clear(&value);
        /* a second object keeps the column there and, as it is whole, does not change its type */
        buf_printf(&lines, "{\"name\":\"%s\",\"cat\":\"%s\",\"ts\":1,\"ph\":\"X\",\"args\":{%s}}\n",
                   cases[i].name, cases[i].cat, cases[i].args);
        buf_printf(&lines,
                   "{\"name\":\"%s\",\"cat\":\"q\",\"ts\":1,\"ph\":\"X\",\"args\":{\"size\":77}}",
                   cases[i].name);
        buf_putc(&lines, 0);
        struct chunk_view *v = maker_view_of(lines.data, &value, &built);
        if (!CHECK_STR(words(v, "size", 0), cases[i].size))
            printf("  %s %s {%s}\n", cases[i].cat, cases[i].name, cases[i].args);
        chunk_view_free(v);
    }
    buf_done(&lines);
    buf_done(&value);
    maker_end();
}

static void bytes_rule(void)
{
    static const struct {
        const char *ph, *cat, *name, *args, *bytes;
    } cases[] = {
        {"X", "POSIX", "read", "\"ret\":100", "int 100"},
        {"X", "posix", "pwrite64", "\"ret\":\"100\",\"size\":7,\"count\":8", "int 100"},
        {"X", "sys", "read", "\"ret\":100", "int 100"},
        {"X", "SYS", "write", "\"size\":7,\"count\":8", "int 7"},
        {"X", "sys", "write", "\"count\":8", "int 8"},
        {"X", "POSIX", "write", "\"size\":0,\"count\":8", "int 8"},
        {"X", "POSIX", "write", "\"count\":-8", "null"},
        {"X", "POSIX", "read", "\"ret\":0,\"size\":7,\"count\":8", "null"},
        {"X", "POSIX", "read", "\"ret\":-1", "null"},
        {"X", "POSIX", "lseek", "\"ret\":100,\"count\":5", "null"},
        {"X", "POSIX", "READ", "\"ret\":100", "null"},
        {"X", "POSIX", "fread", "\"ret\":10,\"size\":4", "int 10"},
        {"X", "STDIO", "fread", "\"ret\":10,\"size\":4", "int 40"},
        {"X", "Stdio", "fwrite", "\"ret\":10", "null"},
        {"X", "STDIO", "fwrite", "\"size\":4,\"count\":10", "null"},
        {"X", "STDIO", "fwrite", "\"ret\":-10,\"size\":-4", "null"},
        {"X", "STDIO", "read", "\"ret\":10,\"size\":4", "null"},
        {"X", "POSIX", "read", "\"size_sum\":9,\"ret\":1", "int 1"},
        {"X", "sys", "read", "\"size_sum\":9", "null"},
        {"A", "POSIX", "lseek", "\"size_sum\":9,\"ret_sum\":8,\"ret\":1", "int 9"},
        {"C", "stdio", "fread", "\"ret_sum\":8,\"ret\":1,\"size\":2", "int 8"},
        {"C", "sys", "close", "\"size_sum\":0", "int 0"},
        {"C", "sys", "read", "\"count\":8", "null"}, /* calls, not bytes */
        {"A", "POSIX", "read", "\"ret\":3,\"count\":8", "int 3"},
        {"A", "c", "read", "\"size_sum\":9", "null"},
        {"X", "reader", "read", "\"size\":9,\"image_size\":5,\"ret\":1,\"count\":2", "null"},
        {"X", "vfs", "vfs_read", "\"ret\":1", "null"},
    };
    struct buf lines = {0}, value = {0};
    struct chunk_built built;

    maker_begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_clear(&lines);
        buf_clear(&value);
        buf_printf(&lines,
                   "{\"name\":\"%s\",\"cat\":\"%s\",\"ts\":1,\"ph\":\"%s\",\"args\":{%s}}\n",
                   cases[i].name, cases[i].cat, cases[i].ph, cases[i].args);
        buf_printf(
            &lines,
            "{\"name\":\"write\",\"cat\":\"sys\",\"ts\":1,\"ph\":\"X\",\"args\":{\"ret\":77}}");
        buf_putc(&lines, 0);
        struct chunk_view *v = maker_view_of(lines.data, &value, &built);
        if (!CHECK_STR(words(v, "bytes", 0), cases[i].bytes))
            printf("  %s %s %s {%s}\n", cases[i].ph, cases[i].cat, cases[i].name, cases[i].args);
        chunk_view_free(v);
    }
    buf_done(&lines);
    buf_done(&value);
    maker_end();
}

/* Where both are the same they take the space of one. */
static void one_column_of_two_names(void)
{
    static const char same[] =
        "{\"name\":\"read\",\"cat\":\"%s\",\"ts\":%d,\"ph\":\"X\",\"args\":{\"ret\":%d}}\n";
    size_t lens[2];

    for (int k = 0; k < 2; k++) {
        struct buf lines = {0}, value = {0};
        struct chunk_built built;
        maker_begin();
        for (int i = 0; i < 5000; i++)
            buf_printf(&lines, same, i == 7 && k ? "sys" : "POSIX", i, i * 7919 % 100003 + 1);
        buf_putc(&lines, 0);
        struct chunk_view *v = maker_view_of(lines.data, &value, &built);
        CHECK_STR(words(v, "bytes", 3), "int 23758");
        CHECK_STR(words(v, "size", 3), "int 23758");
        CHECK_STR(words(v, "bytes", 7), "int 55434");
        CHECK_STR(words(v, "size", 7), k ? "null" : "int 55434");
        CHECK(!chunk_counts_items(v));
        lens[k] = value.len;
        chunk_view_free(v);
        buf_done(&lines);
        buf_done(&value);
        maker_end();
    }
    CHECK(lens[0] + 5000 < lens[1]); /* values up to 100,003: 17 bits each */
}

static void counted_items(void)
{
    static const struct {
        const char *line;
        bool counts;
    } cases[] = {
        {"{\"name\":\"fread\",\"cat\":\"stdio\",\"ts\":1,\"ph\":\"X\",\"args\":{\"ret\":1,\"size\":"
         "2}}",
         true},
        {"{\"name\":\"fread\",\"cat\":\"stdio\",\"ts\":1,\"ph\":\"X\",\"args\":{\"ret\":0,\"size\":"
         "2}}",
         false},
        {"{\"name\":\"fread\",\"cat\":\"stdio\",\"ts\":1,\"ph\":\"A\",\"args\":{\"ret\":1,\"size\":"
         "2}}",
         false},
        {"{\"name\":\"fread\",\"cat\":\"posix\",\"ts\":1,\"ph\":\"X\",\"args\":{\"ret\":1,\"size\":"
         "2}}",
         false},
    };

    maker_begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct buf value = {0};
        struct chunk_built built;
        struct chunk_view *v = maker_view_of(cases[i].line, &value, &built);
        CHECK_INT(chunk_counts_items(v), cases[i].counts);
        chunk_view_free(v);
        buf_done(&value);
    }
    maker_end();
}

static const struct check_test tests[] = {
    {"size_rule", size_rule},
    {"bytes_rule", bytes_rule},
    {"one_column_of_two_names", one_column_of_two_names},
    {"counted_items", counted_items},
    {NULL, NULL},
};

CHECK_MAIN(tests)
