/* module: trace */
/* Reading a trace while memory is short: gzip to chunks, chunks to events, repairs, text by
 * position. */
#include "alloc_check.h"
#include "trace_data.h"

enum { CHECKPOINT = 65536, CHECKPOINTS_MAX = 64 };

static int fd;
static struct trace_scanner *kept; /* as workers keep theirs */

static void put_hash(struct buf *answer, struct text t)
{
    buf_printf(answer, "%016" PRIx64 " ", text_hash(t));
}

static void write_value(struct buf *out, const struct trace_scanner *s, const struct trace_value *v)
{
    if (v->field == TRACE_FIELD_OTHER)
        buf_puts(out, "other");
    else
        buf_text(out, trace_field_path(s, v->field));
    buf_printf(out, "=%d", v->type);
    if (v->type >= TRACE_TEXT)
        buf_append(out, v->ptr, v->len);
    else
        buf_printf(out, "%lld", (long long)v->i);
}

static int scan(struct trace_scanner *s, const struct trace_chunk *chunk, struct buf *answer)
{
    struct trace_event e;
    struct trace_counts c;
    struct buf event = {0};
    int got, rc = 0;

    trace_scan_begin(s, chunk->text, chunk->len, TRACE_US);
    while ((got = trace_scan_next(s, &e)) == 1 && rc == 0) {
        buf_clear(&event);
        for (uint32_t i = 0; i < e.count; i++)
            write_value(&event, s, &e.values[i]);
        if (e.repaired)
            rc = trace_repair(chunk->text + e.offset, e.len, &event);
        rc = rc ? rc : event.error;
        put_hash(answer, (struct text){event.data, event.len});
    }
    trace_scan_counts(s, &c);
    buf_printf(answer, "%" PRIu64 " lines, %" PRIu64 " invalid\n", c.lines, c.invalid);
    buf_done(&event);
    return rc ? rc : got;
}

static int scan_all(struct trace_reader *r, struct trace_scanner *s, struct buf *answer)
{
    struct trace_chunker *c = NULL;
    struct trace_chunk chunk;
    int rc = trace_chunker_new(r, CHECKPOINT, 0, &c);

    while (rc == 0 && (rc = trace_chunker_next(c, true, &chunk)) == 0) {
        rc = scan(s, &chunk, answer);
        trace_chunk_done(&chunk);
    }
    trace_chunker_free(c);
    return rc == ERR_END ? 0 : rc;
}

static int find(void *arg, uint64_t text_offset, struct trace_checkpoint *ret)
{
    const struct trace_checkpoint *list;
    size_t i = trace_reader_checkpoints(arg, &list);

    while (i > 0 && list[i - 1].text_offset > text_offset)
        i--;
    if (i == 0)
        return ERR_CORRUPT;
    *ret = list[i - 1];
    return 0;
}

static int look_up(struct trace_reader *r, struct buf *answer)
{
    static const uint64_t places[] = {150000, 100, 290000, 200000};
    struct trace_text *t = NULL;
    char out[300];
    int rc = trace_text_open(fd, TRACE_GZIP, TRACE_ENGINE_AUTO, find, r, &t);

    for (size_t i = 0; rc == 0 && i < sizeof(places) / sizeof(places[0]); i++) {
        rc = trace_text_read(t, places[i], out, sizeof(out));
        put_hash(answer, (struct text){out, sizeof(out)});
    }
    trace_text_close(t);
    return rc;
}

static int read_with(struct trace_scanner *s, struct buf *answer)
{
    struct trace_reader_options options = {TRACE_ENGINE_AUTO, CHECKPOINT};
    struct trace_reader *r = NULL;
    const struct trace_damage *damage;
    int rc = trace_reader_open(fd, &options, NULL, NULL, &r);

    if (rc == 0)
        rc = scan_all(r, s, answer);
    if (rc == 0)
        buf_printf(answer, "%zu damaged\n", trace_reader_damage(r, &damage));
    if (rc == 0)
        rc = look_up(r, answer);
    trace_reader_close(r);
    return rc;
}

static int fresh_scanner(void *arg, struct buf *answer)
{
    struct trace_scanner *s = NULL;
    int rc = trace_scanner_new(arg, &s);

    rc = rc ? rc : read_with(s, answer);
    trace_scanner_free(s);
    return rc;
}

static int kept_scanner(void *arg, struct buf *answer)
{
    (void)arg;
    return read_with(kept, answer);
}

/* Members of sound lines, of lines of every damage and of more keys than are remembered; one member
 * is damaged itself. */
static void make_file(void)
{
    static const char bad[] =
        "{\"name\":\"r\\q\xff\",\"ts\":1,,\"args\":{\"a\":[1,,nan],\"b\":{},\"c\":1q}} "
        "{\"ph\":\"X\"}\n"
        "{\"name\":\"s\nplit\",\"ts\":\"2.5\",\"args\":{\"x_hash\":12,\"d\":1e400,\"n\":-0.25}}\n"
        "{\"cut\":[\n]\nnothing\n";
    struct bytes lines = make_lines(300000, 7), file = {0}, keys = {0};
    char key[64];

    add_member(&file, lines.data, 200000, 6, 0, NULL);
    size_t begin = file.len;
    add_member(&file, lines.data + 1000, 9000, 6, 0, NULL);
    memset(file.data + begin + 600, 0xff, 40);
    bytes_add(&keys, "\n{\"ph\":\"B\"", 10);
    for (int i = 0; i < 6000; i++)
        bytes_add(&keys, key, (size_t)snprintf(key, sizeof(key), ",\"k%d\":\"\\n%d\"", i, i));
    bytes_add(&keys, "}\n", 2);
    for (int i = 0; i < 40; i++)
        bytes_add(&keys, bad, sizeof(bad) - 1);
    add_member(&file, keys.data, keys.len, 6, 0, NULL);
    add_member(&file, lines.data, 50000, 0, 0, NULL);
    fd = memory_file(file.data, file.len);
    bytes_done(&lines);
    bytes_done(&file);
    bytes_done(&keys);
}

static void new_scanner(void)
{
    static const struct trace_scanner_options tolerant = {CPU_PORTABLE, true, true};

    alloc_check("a new scanner", fresh_scanner, NULL);
    alloc_check("a tolerant one", fresh_scanner, (void *)(uintptr_t)&tolerant);
}

static void same_scanner(void)
{
    CHECK_INT(trace_scanner_new(NULL, &kept), 0);
    alloc_check("a scanner that is kept", kept_scanner, NULL);
    trace_scanner_free(kept);
}

/* Each failure is reported, and the next read of the same text succeeds. */
static void texts(void)
{
    char out[300];

    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct trace_text *t = NULL;
        int rc = trace_text_open(fd, TRACE_GZIP, TRACE_ENGINE_AUTO, NULL, NULL, &t);

        rc = rc ? rc : trace_text_read(t, 205000, out, sizeof(out));
        failing_malloc_stop();
        CHECK_INT(rc, failing_malloc_happened() ? -ENOMEM : 0);
        if (t)
            CHECK_INT(trace_text_read(t, 205000, out, sizeof(out)), 0);
        trace_text_close(t);
    }
}

static int first_piece(void *arg, struct buf *answer)
{
    struct trace_checkpoint from = {.kind = TRACE_AT_MEMBER};
    struct trace_piece *piece = NULL;
    struct trace_reader *r = NULL;
    int rc = trace_reader_open(fd, NULL, &from, NULL, &r);

    (void)arg;
    rc = rc ? rc : trace_piece_read(r, 1 << 20, UINT64_MAX, &piece);
    if (rc == 0)
        buf_printf(answer, "to %" PRIu64, trace_piece_end(piece));
    trace_piece_free(piece);
    trace_reader_close(r);
    return rc;
}

/* A piece ends before the corrupt member. */
static void pieces(void)
{
    alloc_check("a piece", first_piece, NULL);
}

static const struct check_test tests[] = {
    {"new_scanner", new_scanner},
    {"same_scanner", same_scanner},
    {"texts", texts},
    {"pieces", pieces},
    {NULL, NULL},
};

static bool begin(void)
{
    make_file();
    return true;
}

CHECK_MAIN_BETWEEN(tests, begin, NULL)
