/* module: index; threads */
/* test_ingest_ahead.c - one file inflated by several threads: the index is the same as by one,
 * whatever the members are. */
#include "index_world.h"
#include "trace_data.h"

#define CHUNK 65536
#define TEXT_LEN 600000 /* several chunks of either size, and more than one piece */

/* Indexes what is there, and indexes it anew in chunks of another size; `want` (or nothing yet) is
 * the dump of both. */
static void check_index(struct index_options options, struct buf want[2], const char *what)
{
    static const struct index_file_options other = {.checkpoint_size = 3 * CHUNK};
    struct index_progress progress;
    struct snapshot *s;
    char command[128];
    options.checkpoint_size = CHUNK;
    options.settle_ms = -1;
    struct index *ix = open_with(options);
    offer(ix, "a.pfw.gz");
    index_listed(ix);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            CHECK_INT(index_rebuild(ix, "a.pfw.gz", &other), 0);
        wait_quiet(ix);
        wait_for(ix, "a.pfw.gz", INDEX_READY, &s);
        snapshot_release(s);
        struct buf dump = dump_of(ix);
        if (want[pass].len == 0)
            want[pass] = dump;
        else if (dump.len != want[pass].len || memcmp(dump.data, want[pass].data, dump.len) != 0)
            check_fail(__FILE__, __LINE__, "%s, pass %d, %u workers: another index", what, pass,
                       options.workers);
        if (dump.data != want[pass].data)
            buf_done(&dump);
    }
    index_progress(ix, &progress);
    CHECK(options.await_ahead == (progress.pieces_ahead > 0));
    index_close(ix);
    snprintf(command, sizeof command, "rm -rf %s/index", dir);
    CHECK_INT(system(command), 0);
}

/* Read by one thread, and then with pieces by others: where a worker has nothing else to do there
 * is one. */
static void check_file(const struct bytes *file, const char *what)
{
    struct buf want[2] = {{0}, {0}};
    struct index_options alone = {.no_ahead = true, .workers = 1, .engine = TRACE_ENGINE_ZLIB};
    world();
    write_file("a.pfw.gz", "w", (char *)file->data, file->len);
    check_index(alone, want, what);
    for (unsigned i = 0; i < 6; i++) {
        struct index_options options = {
            .await_ahead = true,
            .workers = 1u << i / 2, /* 1, 2, 4 */
            .engine = i % 2 ? TRACE_ENGINE_ISAL : TRACE_ENGINE_ZLIB,
        };
        bool chosen = check_everything() || i == 0 || i == 5;
        if (chosen && trace_engine_available(options.engine))
            check_index(options, want, what);
    }
    buf_done(&want[0]);
    buf_done(&want[1]);
    world_end();
}

static struct bytes file_of(const struct bytes *text, size_t each, int level, int strategy)
{
    struct bytes file = {0};
    for (size_t at = 0; at < text->len; at += each)
        add_member(&file, text->data + at, text->len - at < each ? text->len - at : each, level,
                   strategy, NULL);
    return file;
}

static void members(void)
{
    struct bytes text = make_lines(TEXT_LEN, 1), file = file_of(&text, 100000, 1, 0);
    check_file(&file, "members");
    bytes_done(&file);
    file = file_of(&text, 30000, 6, 0);
    check_file(&file, "small members");
    bytes_done(&file);
    bytes_done(&text);
}

/* Nothing to be found before there are checkpoints. */
static void one_member(void)
{
    struct bytes text = make_lines(TEXT_LEN, 2), file = file_of(&text, text.len, 6, Z_HUFFMAN_ONLY);
    check_file(&file, "one member");
    bytes_done(&file);
    bytes_done(&text);
}

static void odd_members(void)
{
    struct bytes text = make_lines(40000, 3), file = {0};
    for (int i = 0; i < 20; i++) {
        add_member(&file, text.data, i % 3 ? text.len : 0, i % 2 ? 1 : 6, 0, NULL);
        add_member(&file, text.data, i % 7 * 100, 6, 0, NULL);
    }
    check_file(&file, "odd members");
    for (size_t i = 15000; i < file.len; i += 30000)
        memcpy(file.data + i, "damaged", 7);
    check_file(&file, "damaged members");
    file.len -= 1000;
    check_file(&file, "a cut file");
    bytes_done(&file);
    bytes_done(&text);
}

static void false_members(void)
{
    struct bytes text = make_lines(TEXT_LEN, 4), inner = file_of(&text, 50000, 6, 0), file = {0};
    add_member(&file, inner.data, inner.len, 0, 0, NULL);
    add_member(&file, text.data, text.len, 0, 0, NULL);
    check_file(&file, "members in stored blocks");
    bytes_done(&file);
    bytes_done(&inner);
    bytes_done(&text);
}

static const struct check_test tests[] = {{"members", members},
                                          {"one_member", one_member},
                                          {"odd_members", odd_members},
                                          {"false_members", false_members},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
