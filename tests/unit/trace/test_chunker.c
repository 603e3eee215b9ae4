/* module: trace; paths */
/* test_chunker.c - chunks of whole lines: the rule, found line by line; long lines; growth. */
#include "trace_data.h"

struct piece {
    uint64_t number, offset;
    size_t len;
};
struct cut {
    struct piece *list;
    size_t count;
    struct bytes text;
};

static void add_piece(struct cut *c, uint64_t number, uint64_t offset, size_t len)
{
    c->list = realloc(c->list, (c->count + 1) * sizeof(*c->list));
    c->list[c->count++] = (struct piece){number, offset, len};
}

static void cut_done(struct cut *c)
{
    free(c->list);
    bytes_done(&c->text);
}

/* The rule of trace.h, one line at a time. */
static bool continues(const uint8_t *line, size_t len)
{
    size_t i = 0;
    while (i < len && line[i] <= ' ')
        i++;
    if (i < len && line[i] == '{')
        return false;
    for (i = 0; i < len; i++)
        if (line[i] > ' ' && !strchr("[],", line[i]))
            return true;
    return false;
}

static struct cut cut_by_rule(const struct bytes *text, uint64_t size)
{
    struct cut c = {0};
    size_t start = 0;
    int more = 0;
    for (size_t at = 0; at < text->len;) {
        const uint8_t *nl = memchr(text->data + at, '\n', text->len - at);
        size_t end = nl ? (size_t)(nl - text->data) + 1 : text->len;
        bool beyond = at / size != start / size;
        if (beyond && !(more < 8 && continues(text->data + at, end - at - (nl != NULL)))) {
            add_piece(&c, start / size, start, at - start);
            start = at;
            beyond = false;
        }
        more = beyond ? more + 1 : 0;
        at = end;
    }
    if (start < text->len)
        add_piece(&c, start / size, start, text->len - start);
    return c;
}

static struct cut cut_by_chunker(int fd, enum trace_engine engine, uint64_t size,
                                 const struct trace_checkpoint *from, uint64_t skip_to)
{
    struct trace_reader_options options = {engine, 65536};
    struct trace_reader *r;
    struct trace_chunker *k;
    struct trace_chunk chunk;
    struct cut c = {0};
    int rc;
    if (!CHECK(trace_reader_open(fd, &options, from, NULL, &r) == 0))
        return c;
    CHECK_INT(trace_chunker_new(r, size, skip_to, &k), 0);
    while ((rc = trace_chunker_next(k, true, &chunk)) == 0) {
        CHECK(chunk.ended && chunk.len > 0 && chunk.cap >= chunk.len + 64);
        for (size_t i = 0; i < 64; i++)
            CHECK_INT(chunk.text[chunk.len + i], 0);
        add_piece(&c, chunk.number, chunk.text_offset, chunk.len);
        bytes_add(&c.text, chunk.text, chunk.len);
        trace_chunk_done(&chunk);
    }
    CHECK_INT(rc, ERR_END);
    trace_chunker_free(k);
    trace_reader_close(r);
    return c;
}

static bool same_cut(const struct cut *a, const struct cut *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->list[i].number == b->list[i].number && a->list[i].offset == b->list[i].offset &&
               a->list[i].len == b->list[i].len;
    return same;
}

static void check_text(const struct bytes *text, uint64_t size)
{
    struct bytes gz = {0};
    for (size_t at = 0; at < text->len; at += 700000)
        add_member(&gz, text->data + at, text->len - at < 700000 ? text->len - at : 700000, 6, 0,
                   NULL);
    struct cut want = cut_by_rule(text, size);
    for (int e = 0; e < 3; e++) {
        enum trace_engine engine = e == 1 && trace_engine_available(TRACE_ENGINE_ISAL)
                                       ? TRACE_ENGINE_ISAL
                                       : TRACE_ENGINE_ZLIB;
        const struct bytes *file = e < 2 && gz.len ? &gz : text;
        int fd = memory_file(file->data, file->len);
        struct cut got = cut_by_chunker(fd, engine, size, NULL, 0);
        CHECK(same_cut(&got, &want));
        CHECK(got.text.len == text->len &&
              (!text->len || memcmp(got.text.data, text->data, text->len) == 0));
        cut_done(&got);
        close(fd);
    }
    cut_done(&want);
    bytes_done(&gz);
}

static void check_trace(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct bytes text = plain_text(fd);
    check_text(&text, 65536);
    check_text(&text, 1 << 20);
    bytes_done(&text);
    close(fd);
}

static void real_traces(void)
{
    if (!each_trace(check_trace))
        check_skip("no real traces");
}

/* Lines of all kinds: brackets, blanks, continuations, empty ones, long ones, with and without a
 * newline at the end. */
static void odd_lines(void)
{
    static const char *const kinds[] = {
        "{\"a\":1}", "  {\"a\":1}",          "[",          "]",          ",", "",   " \t ",
        "\"}}",      "tail of a split line", "[{\"a\":1}", ",{\"a\":1}", "{", "17", "\x01{}"};
    for (uint64_t seed = 1; seed <= check_count(60, 12); seed++) {
        struct bytes text = {0};
        uint64_t state = seed;
        while (text.len < 400000) {
            uint64_t r = random_next(&state);
            const char *kind = kinds[r % (seed % 3 ? 14 : 9)];
            bytes_add(&text, kind, strlen(kind));
            for (uint64_t n = (r >> 8) % 100 ? (r >> 16) % 300 : (r >> 16) % 200000; seed % 2 && n;
                 n--)
                bytes_add(&text, "x", 1);
            bytes_add(&text, "\n", 1);
        }
        text.len -= seed % 4 == 0;
        check_text(&text, 65536 + seed % 7 * 1000);
        bytes_done(&text);
    }
    struct bytes none = {0}, open_end = {0};
    check_text(&none, 65536);
    bytes_add(&open_end, "{\"a\":1}", 7);
    check_text(&open_end, 65536);
    bytes_done(&open_end);
}

static void many_continuations(void)
{
    struct bytes text = {0};
    while (text.len < 70000)
        bytes_add(&text, "{\"a\":1}\n", 8);
    for (int i = 0; i < 20; i++)
        bytes_add(&text, "more\n", 5);
    bytes_add(&text, "{}\n", 3);
    check_text(&text, 65536);
    bytes_done(&text);
}

/* From a checkpoint on, at the first line of a chunk, the same chunks come. */
static void resumed(void)
{
    struct bytes text = make_lines(2000000, 5), gz = {0};
    add_member(&gz, text.data, text.len, 6, 0, NULL);
    int fd = memory_file(gz.data, gz.len);
    struct reading r = read_from(fd, TRACE_ENGINE_AUTO, 65536, 65536, NULL);
    struct cut all = cut_by_rule(&text, 200000);
    for (size_t i = 0; i < all.count; i++) {
        size_t k = 0;
        while (k + 1 < r.checkpoint_count && r.checkpoints[k + 1].text_offset <= all.list[i].offset)
            k++;
        struct cut got =
            cut_by_chunker(fd, TRACE_ENGINE_AUTO, 200000, &r.checkpoints[k], all.list[i].offset);
        struct cut rest = {all.list + i, all.count - i, {0}};
        CHECK(same_cut(&got, &rest));
        CHECK_MEM(got.text.data, got.text.len, text.data + all.list[i].offset,
                  text.len - all.list[i].offset);
        cut_done(&got);
    }
    struct trace_chunker *c;
    CHECK_INT(trace_chunker_new(r.reader, 65536, 0, &c), -EINVAL);
    CHECK_INT(trace_chunker_new(r.reader, 1000, text.len, &c), -EINVAL);
    cut_done(&all);
    reading_done(&r);
    close(fd);
    bytes_done(&gz);
    bytes_done(&text);
}

/* ---- lines longer than allowed --------------------------------------------------------------- */

static void add_long(struct bytes *b, size_t len)
{
    size_t at = b->len;
    char *line = malloc(len);
    memset(line, 'x', len);
    memcpy(line, "{\"a\":{\"b\":1},", 13);
    bytes_add(b, line, len);
    CHECK_INT(b->len, at + len);
    bytes_add(b, "\n", 1);
    free(line);
}

static void long_lines(uint64_t size)
{
    struct bytes text = {0};
    bytes_add(&text, "{\"a\":1}\n", 8);
    add_long(&text, TRACE_LINE_MAX); /* just allowed */
    size_t first = text.len;
    add_long(&text, TRACE_LINE_MAX + 1);
    size_t second = text.len;
    add_long(&text, TRACE_LINE_MAX * 2 + 12345);
    bytes_add(&text, "{\"a\":2}\n", 8);
    size_t last = text.len;
    add_long(&text, TRACE_LINE_MAX + 100000);
    text.len--; /* no newline */
    struct bytes gz = {0};
    add_member(&gz, text.data, text.len, 1, 0, NULL);
    int fd = memory_file(gz.data, gz.len);
    struct trace_reader *r;
    CHECK_STOP(trace_reader_open(fd, NULL, NULL, NULL, &r) == 0);
    struct trace_chunker *c;
    CHECK_STOP(trace_chunker_new(r, size, 0, &c) == 0);
    struct trace_chunk chunk;
    uint64_t lines = 0, marks = 0, number = 0;
    int rc;
    while ((rc = trace_chunker_next(c, true, &chunk)) == 0) {
        CHECK(lines == 0 || chunk.number > number);
        number = chunk.number;
        for (size_t at = 0; at < chunk.len; lines++) {
            char *nl = memchr(chunk.text + at, '\n', chunk.len - at);
            CHECK_STOP(nl != NULL);
            size_t len = (size_t)(nl - chunk.text) - at;
            uint64_t offset = chunk.text_offset + at;
            if (len == 1) {
                marks++;
                CHECK(offset == first || offset == second || offset == last);
                CHECK_INT(nl + 1 - chunk.text, chunk.len);
            } else {
                CHECK_MEM(chunk.text + at, len + 1, text.data + offset, len + 1);
            }
            at += len + 1;
        }
        trace_chunk_done(&chunk);
    }
    CHECK_INT(rc, ERR_END);
    CHECK_INT(lines, 6);
    CHECK_INT(marks, 3);
    const struct trace_damage *damage;
    CHECK_INT(trace_reader_damage(r, &damage), 3);
    CHECK_INT(damage[1].kind, TRACE_DAMAGE_LINE);
    CHECK_INT(damage[1].text_offset, second);
    trace_chunker_free(c);
    trace_reader_close(r);
    close(fd);
    bytes_done(&text);
    bytes_done(&gz);
}

static void long_lines_small_chunks(void)
{
    long_lines(65536);
    long_lines(4 << 20);
}

static void long_lines_large_chunks(void)
{
    long_lines(32 << 20);
    long_lines(200 << 20);
}

/* ---- growing files --------------------------------------------------------------------------- */

static void growing_by(const struct bytes *file, const struct bytes *text, size_t step)
{
    struct cut want = cut_by_rule(text, 65536);
    struct trace_reader *r;
    struct trace_chunker *c;
    struct trace_chunk chunk;
    struct bytes got = {0};
    size_t done = 0;
    int fd = memory_file("", 0), rc;
    CHECK_STOP(trace_reader_open(fd, NULL, NULL, NULL, &r) == 0);
    CHECK_STOP(trace_chunker_new(r, 65536, 0, &c) == 0);
    for (size_t at = 0;; at += step) {
        bool finish = at >= file->len;
        size_t n = finish ? 0 : file->len - at < step ? file->len - at : step, seen = 0;
        CHECK_INT(pwrite(fd, file->data + at, n, (off_t)at), n);
        while ((rc = trace_chunker_next(c, finish, &chunk)) == 0) {
            CHECK(memcmp(chunk.text, text->data + chunk.text_offset, chunk.len) == 0);
            CHECK(done < want.count && chunk.number == want.list[done].number &&
                  chunk.text_offset == want.list[done].offset);
            if (chunk.ended) {
                CHECK_INT(chunk.len, want.list[done].len);
                done++;
                bytes_add(&got, chunk.text, chunk.len);
            } else {
                CHECK(!finish && chunk.text[chunk.len - 1] == '\n' && chunk.len > seen);
            }
            seen = chunk.ended ? 0 : chunk.len;
            trace_chunk_done(&chunk);
        }
        CHECK_INT(rc, ERR_END);
        if (finish)
            break;
    }
    CHECK_INT(done, want.count);
    CHECK_INT(got.len, text->len);
    trace_chunker_free(c);
    trace_reader_close(r);
    close(fd);
    bytes_done(&got);
    cut_done(&want);
}

static void growing(void)
{
    struct bytes text = make_lines(300000, 6), gz = {0};
    text.len -= 10; /* ends within a line */
    for (size_t at = 0; at < text.len; at += 90000)
        add_member(&gz, text.data + at, text.len - at < 90000 ? text.len - at : 90000, 6, 0, NULL);
    growing_by(&text, &text, 997);
    growing_by(&text, &text, 65536);
    growing_by(&gz, &text, 61);
    growing_by(&gz, &text, 5003);
    bytes_done(&text);
    bytes_done(&gz);
}

static const struct check_test tests[] = {{"real_traces", real_traces},
                                          {"odd_lines", odd_lines},
                                          {"many_continuations", many_continuations},
                                          {"resumed", resumed},
                                          {"long_lines_small_chunks", long_lines_small_chunks},
                                          {"long_lines_large_chunks", long_lines_large_chunks},
                                          {"growing", growing},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
