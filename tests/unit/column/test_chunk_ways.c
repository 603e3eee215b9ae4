/* module: column; paths */
/* test_chunk_ways.c - whichever way of the scanner and of the builder its events take, a chunk is
 * the same. */
#include "column/chunk/chunk.h"
#include "check.h"

enum { ROWS = 6000 };

static uint32_t give_id(void *arg, struct text t)
{
    (void)arg;
    return t.len % 4 ? (uint32_t)(text_hash(t) % 5000) : INDEX_NO_TEXT;
}

static const struct chunk_options options = {.intern = give_id};

static void build(struct trace_scanner *scanner, struct chunk_builder *builder,
                  const struct buf *lines, struct buf *value, struct chunk_built *ret)
{
    struct trace_event e;

    trace_scan_begin(scanner, lines->data, lines->len, TRACE_US);
    chunk_builder_begin(builder, scanner);
    while (trace_scan_next(scanner, &e) == 1)
        CHECK_INT(chunk_builder_add(builder, &e), 0);
    CHECK_INT(chunk_builder_finish(builder, 7, value, ret), 0);
}

/* More shapes than a chunk keeps track of, types that change, times in two units of which some do
 * not fit: all ways to a chunk lead to the same one. */
static void make_motley(struct buf *lines)
{
    static const char *const kinds[] = {"1",
                                        "2.5",
                                        "\"text\"",
                                        "true",
                                        "[1,2]",
                                        "99999999999999999999",
                                        "\"longer than sixteen bytes\""};

    for (unsigned i = 0; i < ROWS; i++) {
        unsigned shape = i < 3000 ? i % 8 : i * 7 % 211;
        buf_printf(lines, "{\"id\":%u,\"name\":\"%s%u\",\"cat\":\"%s\",\"pid\":%u,\"ts\":%s%u%s,",
                   i, i % 3 ? "read" : "n", i % 40, i % 5 ? "POSIX" : "app", i / 700,
                   i % 900 == 899 ? "92233720368547" : "1000", 10000 + i,
                   i > 4000 && i % 50 == 0 ? ".25" : "");
        if (i % 4)
            buf_printf(lines, "\"dur\":%u%s,", i % 70, i > 5000 && i % 9 == 0 ? ".5" : "");
        buf_printf(lines, "\"ph\":\"%s\",\"args\":{\"fhash\":\"%08x\",\"k%u\":%u",
                   i % 10 ? "X" : "C", i * 77 % 300, shape, i);
        if (shape % 3 == 0)
            buf_printf(lines, ",\"ret\":%d,\"m\":%s", (int)(i % 100) - 1,
                       kinds[i < 2000 ? 0 : i / 100 % 7]);
        buf_puts(lines, "}}\n");
    }
    size_t len = lines->len;
    buf_append(lines, (const char[64]){0}, 64);
    lines->len = len;
}

static void build_with(const struct trace_scanner_options *scan, const struct buf *lines,
                       struct buf *value, unsigned times)
{
    struct chunk_built built;

    struct chunk_builder *builder;
    struct trace_scanner *scanner;

    CHECK_INT(trace_scanner_new(scan, &scanner), 0);
    CHECK_INT(chunk_builder_new(&options, &builder), 0);
    for (unsigned i = 0; i < times; i++) {
        buf_clear(value);
        build(scanner, builder, lines, value, &built);
        CHECK_INT(built.rows, ROWS);
    }
    chunk_builder_free(builder);
    trace_scanner_free(scanner);
}

static void equal_bytes_any_way(void)
{
    static const struct trace_scanner_options ways[] = {{.level = CPU_PORTABLE},
                                                        {.level = CPU_AVX2, .no_templates = true},
                                                        {.level = CPU_AVX2, .only_tolerant = true}};
    struct buf lines = {0}, first = {0}, again = {0};

    make_motley(&lines);
    build_with(NULL, &lines, &first, 1);
    build_with(NULL, &lines, &again, 4); /* layouts and texts are known by now */
    CHECK_MEM(again.data, again.len, first.data, first.len);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        build_with(&ways[i], &lines, &again, 2);
        CHECK_MEM(again.data, again.len, first.data, first.len);
    }
    buf_done(&lines);
    buf_done(&first);
    buf_done(&again);
}

/* What a builder had before leaves no trace. */
static void equal_bytes(void)
{
    static const char *const texts[] = {
        "{\"name\":\"a\",\"ts\":1,\"pid\":4,\"args\":{\"u\":1,\"v\":\"x\"}}\n"
        "{\"name\":\"b\",\"ts\":2,\"args\":{\"u\":2.5}}\n",
        "{\"name\":\"z\",\"args\":{\"w\":\"long text to remember\",\"u\":\"t\"},\"ts\":1.25}\n"};
    struct buf lines[2] = {0}, values[3] = {0};
    struct trace_scanner *scanner;
    struct chunk_builder *builder;
    struct chunk_built built;

    CHECK_INT(trace_scanner_new(NULL, &scanner), 0);
    CHECK_INT(chunk_builder_new(&options, &builder), 0);
    for (unsigned i = 0; i < 2; i++) {
        buf_puts(&lines[i], texts[i]);
        buf_append(&lines[i], (const char[64]){0}, 64);
        lines[i].len -= 64;
    }
    for (unsigned i = 0; i < 3; i++)
        build(scanner, builder, &lines[i % 2], &values[i], &built);
    CHECK_MEM(values[2].data, values[2].len, values[0].data, values[0].len);
    for (unsigned i = 0; i < 3; i++)
        buf_done(&values[i]);
    for (unsigned i = 0; i < 2; i++)
        buf_done(&lines[i]);
    chunk_builder_free(builder);
    trace_scanner_free(scanner);
}

static const struct check_test tests[] = {
    {"equal_bytes", equal_bytes},
    {"equal_bytes_any_way", equal_bytes_any_way},
    {NULL, NULL},
};
CHECK_MAIN(tests)
