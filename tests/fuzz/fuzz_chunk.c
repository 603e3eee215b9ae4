/* module: column; paths */
/* fuzz_chunk.c - a damaged chunk value gives ERR_CORRUPT or some values, never a crash.
 *
 * The input is a list of edits (3 bytes of place, 1 of value) of a value that is built here from a
 * few hundred events, or, where its first byte is odd, the value itself. The checksum is made right
 * again, so that what lies behind it is tested. */
#include "column/chunk/column.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct text any_text(void *arg, uint32_t id)
{
    (void)arg;
    return id % 3 ? TEXT("some text") : (struct text){NULL, 0};
}

static uint32_t any_id(void *arg, struct text t)
{
    (void)arg;
    return t.len % 4 ? (uint32_t)(text_hash(t) % 5000) : INDEX_NO_TEXT;
}

/* All types, with and without nulls, every encoding; few enough threads for densities. */
static void make_lines(struct buf *out)
{
    for (unsigned i = 0; i < 1500; i++)
        buf_printf(out,
                   "{\"name\":\"n%u\",\"cat\":\"POSIX\",\"pid\":%u,\"tid\":%u,\"ts\":%u%s,\"dur\":%"
                   "u,\"ph\":\"X\",\"args\":{"
                   "\"fhash\":%u,\"%s\":%u,\"m\":%s,\"t\":\"text "
                   "%u\",\"d\":%u.25,\"raw\":0.%u123456789012345,\"far\":%llu}}\n",
                   i % 9, 1000 + i % 3, i / 100, i * 40 + i % 7, i % 3 ? "" : ".5",
                   i * i % 1000 + (i % 97 ? 0 : 1 << 30), i * 7 % 500, i % 3 ? "ret" : "off",
                   i % 5 * 1048576,
                   i % 5   ? "1"
                   : i % 2 ? "\"one\""
                           : "[true]",
                   i, i, i * 31 % 1000 + 1, (unsigned long long)(i % 8) << (i % 8 * 8));
}

static void make_value(struct buf *value)
{
    struct chunk_options options = {.intern = any_id};
    struct chunk_builder *builder = NULL;
    struct trace_scanner *scanner = NULL;
    struct trace_event event;
    struct chunk_built built;
    struct buf lines = {0};

    make_lines(&lines);
    size_t len = lines.len;
    buf_append(&lines, (const char[64]){0}, 64);
    if (trace_scanner_new(NULL, &scanner) < 0 || chunk_builder_new(&options, &builder) < 0)
        abort();
    chunk_builder_begin(builder, scanner);
    trace_scan_begin(scanner, lines.data, len, TRACE_US);
    while (trace_scan_next(scanner, &event) == 1)
        chunk_builder_add(builder, &event);
    if (chunk_builder_finish(builder, 3, value, &built) < 0)
        abort();
    chunk_builder_free(builder);
    trace_scanner_free(scanner);
    buf_done(&lines);
}

static void edit(uint8_t *value, size_t value_len, const uint8_t *data, size_t len)
{
    for (; len >= 4; data += 4, len -= 4) {
        size_t place = (size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2];
        value[place % value_len] = data[3];
    }
}

static void read_all(const uint8_t *value, size_t len)
{
    struct chunk_texts texts = {any_text, NULL, true, NULL, NULL};
    struct chunk_view *v = NULL;
    struct column c;
    const uint32_t *ids;

    if (chunk_view_new(value, len, &texts, &v) < 0)
        return;
    chunk_view_check(v);
    for (uint32_t i = 0; i < chunk_column_count(v); i++) {
        uint64_t valid[16];
        double d[1024];
        chunk_column(v, i, &c);
        uint32_t n = c.rows < 1024 ? c.rows : 1024;
        chunk_may_have(v, &c, 0x123456789abcdef);
        column_entry_ids(v, &c, &ids);
        column_read_valid(v, &c, 0, n, valid);
        column_read_f64(v, &c, 0, n, d);
        chunk_find(v, c.path, &c);
    }
    chunk_view_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct buf good;
    struct chunk_head head;
    uint8_t *value;
    size_t value_len;

    if (good.len == 0)
        make_value(&good);
    bool whole = len > 0 && data[0] & 1;
    value_len = whole ? len - 1 : good.len;
    if (value_len < sizeof(head))
        return 0;
    value = malloc(value_len);
    if (value == NULL)
        return 0;
    memcpy(value, whole ? (const uint8_t *)data + 1 : (const uint8_t *)good.data, value_len);
    if (!whole && len > 1)
        edit(value, value_len, data + 1, len - 1);
    memcpy(&head, value, sizeof(head));
    head.length = value_len;
    head.rows &= 0xFFFFF; /* memory of the fuzzer, not ours, is what this is about */
    head.dir_hash = 0;
    if (head.dir_len <= value_len - sizeof(head))
        head.dir_hash = chunk_hash(&head, value + sizeof(head));
    memcpy(value, &head, sizeof(head));
    read_all(value, value_len);
    free(value);
    return 0;
}
