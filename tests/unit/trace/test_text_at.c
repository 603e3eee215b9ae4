/* module: trace; paths */
/* test_text_at.c - text by position equals the text in order. */
#include "trace_data.h"

struct places {
    const struct trace_checkpoint *list;
    size_t count, calls;
};

static int find(void *arg, uint64_t offset, struct trace_checkpoint *ret)
{
    struct places *p = arg;
    size_t k = 0;
    p->calls++;
    while (k + 1 < p->count && p->list[k + 1].text_offset <= offset)
        k++;
    *ret = p->list[k];
    return 0;
}

static int find_nothing(void *arg, uint64_t offset, struct trace_checkpoint *ret)
{
    (void)arg, (void)offset, (void)ret;
    return ERR_NOT_FOUND;
}

static void read_ranges(const struct bytes *file, uint64_t checkpoint_size,
                        enum trace_engine engine, int count)
{
    int fd = memory_file(file->data, file->len);
    struct reading all = read_from(fd, engine, checkpoint_size, 65536, NULL);
    struct places places = {all.checkpoints, all.checkpoint_count, 0};
    struct trace_reader_info info;
    struct trace_text *t;
    uint64_t seed = 77, offset = 0;
    char *out = malloc(all.text.len + 1);
    trace_reader_info(all.reader, &info);
    CHECK_STOP(trace_text_open(fd, info.format, engine, find, &places, &t) == 0);
    for (int i = 0; i < count; i++) {
        uint64_t r = random_next(&seed);
        offset =
            r % 3 ? r % all.text.len : offset + (r >> 20) % 10000; /* now and then a little ahead */
        offset = offset < all.text.len ? offset : 0;
        size_t len = (size_t)((r >> 40) % (i % 50 ? 600 : 500000));
        len = len < all.text.len - offset ? len : all.text.len - offset;
        CHECK_INT(trace_text_read(t, offset, out, len), 0);
        CHECK(memcmp(out, all.text.data + offset, len) == 0);
        offset += len;
    }
    CHECK_INT(trace_text_read(t, all.text.len - 5, out, 6), ERR_CORRUPT);
    CHECK_INT(trace_text_read(t, 3, out, 6), 0);
    CHECK_MEM(out, 6, all.text.data + 3, 6);
    trace_text_close(t);
    reading_done(&all);
    free(out);
    close(fd);
}

static void random_ranges(void)
{
    struct bytes text = make_lines(3000000, 1), gz = {0}, members = {0}, events = {0};
    add_member(&gz, text.data, text.len, 6, 0, NULL);
    for (size_t at = 0; at < text.len; at += 200000)
        add_member(&members, text.data + at, text.len - at < 200000 ? text.len - at : 200000, 1, 0,
                   NULL);
    for (size_t at = 0; at < 400000; at += 180)
        add_member(&events, text.data + at, 180, 6, 0, NULL);
    const struct bytes *files[] = {&gz, &members, &events, &text};
    for (int i = 0; i < 4; i++) {
        read_ranges(files[i], 65536, TRACE_ENGINE_ZLIB, 1000);
        read_ranges(files[i], 1 << 20, TRACE_ENGINE_ZLIB, 100);
        if (trace_engine_available(TRACE_ENGINE_ISAL)) {
            read_ranges(files[i], 65536, TRACE_ENGINE_ISAL, 1000);
            read_ranges(files[i], 1 << 20, TRACE_ENGINE_ISAL, 300);
        }
    }
    bytes_done(&text);
    bytes_done(&gz);
    bytes_done(&members);
    bytes_done(&events);
}

/* Ranges across damage: the newline that was put there and the members behind it have the same
 * places. */
static void across_damage(void)
{
    struct bytes text = make_lines(100000, 2), file = {0};
    for (size_t i = 0; i < 12; i++) {
        size_t start = file.len;
        add_member(&file, text.data, text.len - i, 6, i % 5 == 2 ? Z_FIXED : 0, NULL);
        if (i % 3 == 1)
            file.data[start + 400 + i * 531] ^= 0x5a;
        if (i % 4 == 2)
            bytes_add(&file, "garbage!", 8);
    }
    read_ranges(&file, 65536, TRACE_ENGINE_ZLIB, 600);
    if (trace_engine_available(TRACE_ENGINE_ISAL))
        read_ranges(&file, 65536, TRACE_ENGINE_ISAL, 600);
    bytes_done(&file);
    bytes_done(&text);
}

static void failures(void)
{
    struct bytes text = make_lines(300000, 3), gz = {0};
    char out[100];
    add_member(&gz, text.data, text.len, 6, 0, NULL);
    int fd = memory_file(gz.data, gz.len);
    struct trace_text *t;
    CHECK_STOP(trace_text_open(fd, TRACE_GZIP, TRACE_ENGINE_AUTO, find_nothing, NULL, &t) == 0);
    CHECK_INT(trace_text_read(t, 10, out, 10), ERR_NOT_FOUND);
    trace_text_close(t);
    CHECK_STOP(trace_text_open(fd, TRACE_GZIP, TRACE_ENGINE_AUTO, NULL, NULL, &t) == 0);
    CHECK_INT(trace_text_read(t, 100000, out, 100), 0);
    CHECK_MEM(out, 100, text.data + 100000, 100);
    trace_text_close(t);

    /* what is buffered may still be given: so a new one each */
    CHECK_INT(ftruncate(fd, 2000), 0);
    CHECK_STOP(trace_text_open(fd, TRACE_GZIP, TRACE_ENGINE_AUTO, NULL, NULL, &t) == 0);
    CHECK_INT(trace_text_read(t, 250000, out, 100), ERR_CORRUPT);
    trace_text_close(t);
    CHECK_INT(pwrite(fd, "plain text now, no more gzip", 28, 0), 28);
    CHECK_STOP(trace_text_open(fd, TRACE_GZIP, TRACE_ENGINE_AUTO, NULL, NULL, &t) == 0);
    CHECK_INT(trace_text_read(t, 0, out, 10), ERR_CORRUPT);
    trace_text_close(t);
    close(fd);
    bytes_done(&gz);
    bytes_done(&text);
}

static const struct check_test tests[] = {{"random_ranges", random_ranges},
                                          {"across_damage", across_damage},
                                          {"failures", failures},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
