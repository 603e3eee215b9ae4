/* module: index */
/* test_archives.c - traces inside tar archives: what is known of members, their text by position,
 * and what changes do. The archives are made by tar. */
#include "failing_malloc.h"
#include "index_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static struct buf texts[2];

/* a.pfw (also packed) and b.pfw, of many chunks of 64 KiB. */
static void make_traces(void)
{
    for (int i = 0; i < 2; i++) {
        buf_clear(&texts[i]);
        put_head(&texts[i], 7 + i, 1);
        put_events(&texts[i], 0, 9000 - 4000 * i, 7 + i);
    }
    write_file("a.pfw", "w", texts[0].data, texts[0].len);
    write_gz("a.pfw.gz", texts[0].data, texts[0].len);
    write_file("b.pfw", "w", texts[1].data, texts[1].len);
}

static void run(const char *command)
{
    char line[2000];
    int n = snprintf(line, sizeof line, "cd '%s' && %s", path_of(""), command);

    CHECK(n > 0 && (size_t)n < sizeof line && system(line) == 0);
}

/* Each member's text, from places all over it, forwards and backwards. */
static void check_text(struct index *ix, const char *name, const struct buf *want)
{
    struct snapshot *s = index_snapshot(ix);
    struct trace_text *text = NULL;
    char piece[700];
    int fd = -1;

    for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
        const struct index_file *f = snapshot_file(s, i);
        if (strcmp(f->name, name) != 0)
            continue;
        CHECK_INT(f->text_bytes, want->len);
        CHECK_INT(index_text_open(ix, s, f, &text, &fd), 0);
        for (unsigned k = 0; k < 60 && text; k++) {
            size_t at = (size_t)(k * 2654435761u) % (want->len - sizeof piece);
            CHECK_INT(trace_text_read(text, at, piece, sizeof piece), 0);
            CHECK(memcmp(piece, want->data + at, sizeof piece) == 0);
        }
        CHECK_INT(index_text_check(f, fd), 0);
    }
    CHECK(text != NULL);
    trace_text_close(text);
    if (fd >= 0)
        close(fd);
    snapshot_release(s);
}

static void check_member(struct index *ix, const char *name, unsigned which)
{
    struct snapshot *s;
    const struct index_file *f = wait_for(ix, name, INDEX_READY, &s);

    CHECK_INT(f->counts.events, which ? 5001 : 9001);
    CHECK(f->chunk_count > 4);
    CHECK(f->archive != NULL && !f->damaged);
    snapshot_release(s);
    check_text(ix, name, &texts[which]);
}

static uint32_t files_of(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);
    uint32_t n = snapshot_file_count(s);

    snapshot_release(s);
    return n;
}

static void until_files(struct index *ix, uint32_t count)
{
    for (int i = 0; i < 1000 && files_of(ix) != count; i++)
        rest();
    CHECK_INT(files_of(ix), count);
}

static const char *const kinds[] = {"x.tar", "x.tar.gz", "x.tgz"};

static void members(void)
{
    world();
    make_traces();
    run("tar -cf x.tar a.pfw a.pfw.gz b.pfw && gzip -k x.tar && tar -czf x.tgz b.pfw a.pfw.gz "
        "a.pfw");
    for (unsigned i = 0; i < 3; i++) {
        struct index *ix = open_index(-1, 65536);
        struct err err = {0};
        char name[40];

        offer(ix, kinds[i]);
        /* The packed one has the text of the plain one: it is a duplicate, as beside it in a
         * directory. */
        snprintf(name, sizeof name, "%s/a.pfw", kinds[i]);
        check_member(ix, name, 0);
        snprintf(name, sizeof name, "%s/b.pfw", kinds[i]);
        check_member(ix, name, 1);
        wait_quiet(ix);
        CHECK_INT(files_of(ix), 2);
        CHECK_INT(index_check(ix, &err), 0);
        err_done(&err);
        index_forget(ix, kinds[i]);
        CHECK_INT(files_of(ix), 0);
        index_close(ix);
    }
    world_end();
}

static void packed_twice(void)
{
    struct index *ix;

    world();
    make_traces();
    run("rm a.pfw && tar -czf x.tar.gz b.pfw a.pfw.gz");
    ix = open_index(-1, 65536);
    offer(ix, "x.tar.gz");
    check_member(ix, "x.tar.gz/a.pfw.gz", 0);
    check_member(ix, "x.tar.gz/b.pfw", 1);
    index_close(ix);
    /* Known again, without being read. */
    ix = open_index(-1, 65536);
    check_text(ix, "x.tar.gz/a.pfw.gz", &texts[0]);
    offer(ix, "x.tar.gz");
    wait_quiet(ix);
    CHECK_INT(files_of(ix), 2);
    check_text(ix, "x.tar.gz/b.pfw", &texts[1]);
    CHECK_INT(index_rebuild(ix, "x.tar.gz/b.pfw", NULL), 0);
    check_member(ix, "x.tar.gz/b.pfw", 1);
    CHECK_INT(index_rebuild(ix, "x.tar.gz", NULL), 0);
    wait_quiet(ix);
    check_member(ix, "x.tar.gz/a.pfw.gz", 0);
    index_close(ix);
    world_end();
}

static void changes(void)
{
    struct index *ix;
    struct snapshot *old;

    world();
    make_traces();
    run("tar -czf x.tar.gz a.pfw b.pfw");
    ix = open_index(-1, 65536);
    offer(ix, "x.tar.gz");
    check_member(ix, "x.tar.gz/a.pfw", 0);
    check_member(ix, "x.tar.gz/b.pfw", 1);
    run("touch -d '2001-01-01' x.tar.gz");
    offer(ix, "x.tar.gz");
    wait_quiet(ix);
    check_member(ix, "x.tar.gz/a.pfw", 0);
    /* Another one under its name: a member has gone, one is another. */
    old = index_snapshot(ix);
    run("cp b.pfw a.pfw && tar -czf y a.pfw && mv y x.tar.gz");
    offer(ix, "x.tar.gz");
    wait_quiet(ix);
    CHECK_INT(files_of(ix), 1);
    check_member(ix, "x.tar.gz/a.pfw", 1);
    CHECK_INT(snapshot_file_count(old), 2);
    snapshot_release(old);
    /* No archive any more, and one again. */
    run("echo nonsense >x.tar.gz");
    offer(ix, "x.tar.gz");
    snapshot_release((wait_for(ix, "x.tar.gz", INDEX_FAILED, &old), old));
    wait_quiet(ix);
    CHECK_INT(files_of(ix), 1);
    run("tar -czf x.tar.gz b.pfw");
    offer(ix, "x.tar.gz");
    check_member(ix, "x.tar.gz/b.pfw", 1);
    wait_quiet(ix);
    CHECK_INT(files_of(ix), 1);
    index_close(ix);
    world_end();
}

/* Members vanish with their archive, or the call fails and can be repeated. */
static void forgotten_without_memory(void)
{
    struct index *ix;
    bool more = true;

    world();
    make_traces();
    run("tar -cf x.tar a.pfw b.pfw");
    ix = open_index(-1, 65536);
    for (unsigned n = 0; more; n++) {
        offer(ix, "x.tar");
        check_member(ix, "x.tar/a.pfw", 0);
        check_member(ix, "x.tar/b.pfw", 1);
        wait_quiet(ix);
        CHECK_INT(files_of(ix), 2);
        more = failing_malloc_next(n);
        int rc = index_forget(ix, "x.tar");
        failing_malloc_stop();
        if (rc < 0) {
            CHECK_INT(rc, -ENOMEM);
            CHECK_INT(index_forget(ix, "x.tar"), 0);
        }
        CHECK_INT(files_of(ix), 0);
    }
    index_close(ix);
    world_end();
}

/* All members come back with their archive, though memory was short. */
static void offered_without_memory(void)
{
    struct index *ix;
    bool more = true;

    world();
    make_traces();
    run("tar -cf x.tar a.pfw b.pfw");
    ix = open_with((struct index_options){
        .checkpoint_size = 65536, .settle_ms = -1, .upkeep_ms = 20, .purge_ms = 3600000});
    offer(ix, "x.tar");
    for (unsigned n = 0; more; n++) {
        wait_quiet(ix);
        until_files(ix, 2);
        CHECK_INT(index_forget(ix, "x.tar"), 0);
        more = failing_malloc_next(n);
        index_offer(ix, "x.tar", path_of("x.tar"));
        failing_malloc_stop();
        offer(ix, "x.tar");
    }
    until_files(ix, 2);
    index_close(ix);
    world_end();
}

/* What was read is used, and the damage is told. */
static void cut_off(void)
{
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    make_traces();
    run("tar -cf all.tar b.pfw a.pfw && head -c $(($(stat -c %s b.pfw) + 300000)) all.tar >x.tar "
        "&& rm all.tar");
    ix = open_index(-1, 65536);
    offer(ix, "x.tar");
    check_member(ix, "x.tar/b.pfw", 1);
    f = wait_for(ix, "x.tar/a.pfw", INDEX_READY, &s);
    CHECK(f->damaged && f->counts.events > 1000 && f->counts.events < 9001);
    snapshot_release(s);
    f = wait_for(ix, "x.tar", INDEX_READY, &s);
    CHECK(f->damaged && f->is_archive && f->chunk_count == 0);
    snapshot_release(s);
    index_close(ix);
    world_end();
}

/* While it is written to, whole members are there, and what is behind them is not. */
static void growing(void)
{
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    make_traces();
    run("tar -cf all b.pfw a.pfw && head -c $(($(stat -c %s b.pfw) + 300000)) all >x.tar");
    ix = open_index(3600000, 65536);
    offer(ix, "x.tar");
    check_member(ix, "x.tar/b.pfw", 1);
    f = wait_for(ix, "x.tar", INDEX_GROWING, &s);
    CHECK_INT(f->archive_member_count, 2);
    CHECK_INT(f->archive_members[1].skip, INDEX_SKIP_INCOMPLETE);
    snapshot_release(s);
    CHECK_INT(files_of(ix), 2);
    run("tail -c +$(($(stat -c %s x.tar) + 1)) all >>x.tar");
    offer(ix, "x.tar");
    check_member(ix, "x.tar/a.pfw", 0);
    check_member(ix, "x.tar/b.pfw", 1);
    CHECK_INT(files_of(ix), 2);
    index_close(ix);
    world_end();
}

static void odd_members(void)
{
    static const uint8_t skips[] = {INDEX_SKIP_KIND,     INDEX_SKIP_NO_TRACE, INDEX_SKIP_KIND,
                                    INDEX_SKIP_REPLACED, INDEX_SKIP_NAME,     INDEX_SKIP_NONE};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    make_traces();
    run("mkdir d && cp b.pfw d/t.txt && ln -s t.txt d/l.pfw && cp b.pfw d/b.pfw && cp b.pfw "
        "'d/e\tf.pfw' && tar -cf x.tar --no-recursion d d/t.txt d/l.pfw d/b.pfw 'd/e\tf.pfw' && "
        "tar -rf x.tar "
        "d/b.pfw");
    ix = open_index(-1, 65536);
    offer(ix, "x.tar");
    check_member(ix, "x.tar/d/b.pfw", 1);
    s = index_snapshot(ix);
    CHECK_INT(snapshot_file_count(s), 1);
    f = snapshot_find_archive(s, "x.tar");
    CHECK(f != NULL && snapshot_archive_count(s) == 1);
    CHECK_INT(f->archive_member_count, sizeof skips);
    for (unsigned i = 0; i < sizeof skips; i++)
        CHECK_INT(f->archive_members[i].skip, skips[i]);
    snapshot_release(s);
    CHECK_INT(index_forget(ix, "x.tar"), 0);
    CHECK_INT(index_rebuild(ix, "x.tar", NULL), ERR_NOT_FOUND);
    index_close(ix);
    world_end();
}

/* What this process has read from files until now, in bytes. */
static uint64_t bytes_read(void)
{
    unsigned long long n = 0;
    FILE *f = fopen("/proc/self/io", "r");

    CHECK(f && fscanf(f, "rchar: %llu", &n) == 1);
    if (f)
        fclose(f);
    return n;
}

/* Members are read one after the other; each from the last checkpoint on would be 100 times half of
 * the archive. */
static void many_members(void)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
    struct buf text = {0};
    uint64_t noise = 1, before;
    struct index *ix;
    char name[40];

    world();
    for (int i = 0; i < 100; i++) {
        buf_clear(&text);
        put_head(&text, 7 + i, 1);
        put_events(&text, 0, 3, 7 + i);
        buf_printf(&text, "{\"name\":\"");
        for (int k = 0; k < 50000; k++) {
            noise = noise * 6364136223846793005u + 1442695040888963407u;
            buf_append(&text, &digits[noise >> 58], 1);
        }
        buf_printf(&text, "\",\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":1,\"dur\":1}\n");
        snprintf(name, sizeof name, "m%03d.pfw", i);
        write_file(name, "w", text.data, text.len);
    }
    run("tar -czf x.tgz m*.pfw");
    ix = open_index(-1, 4 << 20);
    before = bytes_read();
    offer(ix, "x.tgz");
    wait_quiet(ix);
    CHECK_INT(files_of(ix), 100);
    CHECK(bytes_read() - before < (64u << 20));
    index_close(ix);
    buf_done(&text);
    world_end();
}

static void names(void)
{
    static const struct {
        const char *name;
        bool is_trace, is_archive;
    } rows[] = {
        {"a.pfw", true, false},    {"d/a.pfw.gz", true, false}, {".pfw", false, false},
        {".pfw.gz", false, false}, {"a.gz", false, false},      {"a.pfw.gz.part", false, false},
        {"a.tar", false, true},    {"a.tgz", false, true},      {"a.tar.gz", false, true}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(index_is_trace(text_of(rows[i].name)), rows[i].is_trace);
        CHECK_INT(index_is_archive(text_of(rows[i].name)), rows[i].is_archive);
    }
}

static bool end(void)
{
    buf_done(&texts[0]);
    buf_done(&texts[1]);
    return true;
}

static const struct check_test tests[] = {
    {"members", members},
    {"packed_twice", packed_twice},
    {"changes", changes},
    {"forgotten_without_memory", forgotten_without_memory},
    {"offered_without_memory", offered_without_memory},
    {"cut_off", cut_off},
    {"growing", growing},
    {"odd_members", odd_members},
    {"many_members", many_members},
    {"names", names},
    {NULL, NULL},
};
CHECK_MAIN_BETWEEN(tests, NULL, end)
