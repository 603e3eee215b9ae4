/* module: rewrite; threads */
#include "check.h"

#include "rewrite/gzip.h"
#include "rewrite/spool.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];

static bool begin(void)
{
    strcpy(folder, "/tmp/test_archive_writer.XXXXXX");
    return CHECK(mkdtemp(folder));
}

/* Runs a shell command in the folder. */
static int shell(const char *script)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && %s", folder, script);
    return system(command);
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_INT(system(command), 0);
}

/* By zlib, member by member: sizes of their texts, and the whole. */
static size_t gunzip(struct text in, struct buf *out, size_t *sizes, size_t most)
{
    size_t members = 0;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.ptr, .avail_in = (uInt)in.len};
    while (z.avail_in) {
        int rc = Z_OK;
        inflateInit2(&z, 15 + 16);
        while (rc == Z_OK) {
            z.next_out = (Bytef *)buf_reserve(out, 1 << 16);
            z.avail_out = 1 << 16;
            rc = inflate(&z, Z_NO_FLUSH);
            out->len += (1 << 16) - z.avail_out;
        }
        if (!CHECK_INT(rc, Z_STREAM_END))
            z.avail_in = 0;
        if (members < most)
            sizes[members] = z.total_out;
        members++;
        inflateEnd(&z);
    }
    return members;
}

/* Lines of 20 to 219 bytes that look a little like a trace. */
static void make_text(struct buf *out, size_t bytes)
{
    uint32_t random = 7;
    while (out->len < bytes) {
        random = random * 1664525 + 1013904223;
        buf_printf(out, "{\"id\":%u,\"ts\":%u,", random >> 20, random);
        for (uint32_t n = random >> 8 & 127; n--;)
            buf_putc(out, (char)('a' + n % 7));
        buf_puts(out, "}\n");
    }
}

static void every_level_reads_back(void)
{
    struct buf text = {0};
    size_t before = SIZE_MAX, size;
    make_text(&text, 300000);
    for (int level = 1; level <= GZIP_LEVEL_MAX; level++) {
        struct gzip_encoder *encoder = gzip_encoder_new(level);
        for (size_t len = 0; len <= text.len; len = len ? len == 1 ? text.len : len + 1 : 1) {
            struct buf packed = {0}, back = {0};
            CHECK_INT(gzip_encoder_member(encoder, (struct text){text.data, len}, &packed), 0);
            CHECK_INT(gunzip((struct text){packed.data, packed.len}, &back, &size, 1), 1);
            CHECK_MEM(back.data, back.len, text.data, len);
            if (len == text.len && (level == 1 || level == 5 || level == 9)) {
                CHECK(packed.len < before);
                before = packed.len;
            }
            buf_done(&packed);
            buf_done(&back);
        }
        gzip_encoder_free(encoder);
    }
    buf_done(&text);
}

/* ---- compressors ----------------------------------------------------------------------------- */

static struct text read_file(const char *name)
{
    static struct buf b;
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    buf_clear(&b);
    size_t n = 1;
    while (f && n && buf_reserve(&b, 1 << 20)) {
        n = fread(b.data + b.len, 1, 1 << 20, f);
        b.len += n;
    }
    if (!f)
        check_fail(__FILE__, __LINE__, "not there: %s", name);
    else
        fclose(f);
    return (struct text){b.data, b.len};
}

/* Two files line about, then one empty, of which the pieces have `step` bytes. */
static void compressor_into(struct archive_writer *o, struct pool *pool, int level,
                            struct text text, size_t step)
{
    struct compressor *p = NULL;
    struct compressor_file *f[3] = {0};
    struct err err = {0};
    struct hash128 hash = {0};
    uint64_t bytes = 0;
    CHECK_INT(compressor_new(pool, o, &(struct compressor_options){.level = level}, &p), 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(compressor_open(p, &err, &f[i]), 0);
    for (size_t at = 0; at < text.len; at += step) {
        size_t n = text.len - at < step ? text.len - at : step;
        CHECK_INT(compressor_text(f[0], (struct text){text.ptr + at, n}, &err), 0);
        CHECK_INT(compressor_text(f[1], (struct text){text.ptr + at, n / 2}, &err), 0);
    }
    CHECK_INT(compressor_text_bytes(f[0]), text.len);
    CHECK_INT(compressor_finish(f[1], "b", NULL, NULL, &err), 0);
    CHECK_INT(compressor_finish(f[0], "a/a", &bytes, &hash, &err), 0);
    CHECK_INT(compressor_finish(f[2], "empty", NULL, NULL, &err), 0);
    CHECK_INT(compressor_flush(p, &err), 0);
    compressor_free(p);
    CHECK_INT(archive_writer_end(o, &(struct buf){0}, &err), 0);
    struct text got = read_file("out/a/a");
    CHECK_INT(bytes, got.len);
    CHECK(text_hash128(got).low == hash.low && text_hash128(got).high == hash.high);
}

static struct text compressor_once(struct pool *pool, int level, struct text text, size_t step)
{
    struct archive_writer *o = NULL;
    struct err err = {0};
    CHECK_INT(shell("rm -rf out"), 0);
    if (!CHECK_INT(archive_writer_dir_new(folder, "out", false, &err, &o), 0))
        return (struct text){0};
    compressor_into(o, pool, level, text, step);
    archive_writer_free(o);
    CHECK_INT(shell("test \"$(ls -A)\" = out && test \"$(echo out/*)\" = 'out/a out/b out/empty'"),
              0);
    return read_file("out/a/a");
}

/* Beyond 1 MiB and the longest line of a trace, with some bytes that mending it may add. */
#define MEMBER_MOST ((17 << 20) + 65536)

/* A member ends with the first line end at or behind 1 MiB: worked out here line by line. */
static size_t members_of(struct text text, size_t *sizes, size_t most)
{
    size_t n = 0, in = 0;
    for (size_t i = 0; i < text.len; i++) {
        in++;
        if ((text.ptr[i] == '\n' && in >= 1 << 20) || in == MEMBER_MOST || i + 1 == text.len) {
            if (n < most)
                sizes[n] = in;
            n++;
            in = 0;
        }
    }
    return n;
}

static void check_pressed(struct text text)
{
    size_t want[64], got[64];
    struct pool *pools[2] = {0};
    struct buf first = {0}, back = {0};
    CHECK_INT(pool_new(1, "one", &pools[0]), 0);
    CHECK_INT(pool_new(3, "three", &pools[1]), 0);
    struct text packed = compressor_once(NULL, 5, text, 1 << 16);
    buf_text(&first, packed);
    size_t n = gunzip(packed, &back, got, 64);
    CHECK_MEM(back.data, back.len, text.ptr, text.len);
    CHECK_INT(n, members_of(text, want, 64));
    CHECK_MEM(got, n * sizeof *got, want, n * sizeof *want);
    for (int i = 0; i < 2; i++) {
        packed = compressor_once(pools[i], 5, text, i ? 3333333 : 777);
        CHECK_MEM(packed.ptr, packed.len, first.data, first.len);
        pool_free(pools[i]);
    }
    packed = compressor_once(NULL, 0, text, 12345);
    CHECK_MEM(packed.ptr, packed.len, text.ptr, text.len);
    buf_done(&first);
    buf_done(&back);
}

static void members_are_cut_by_the_text_alone(void)
{
    struct buf text = {0};
    if (!begin())
        return;
    make_text(&text, (CHECK_THREADS_ONLY ? 4 : 7) << 20); /* several members */
    check_pressed((struct text){text.data, text.len});
    memset(text.data + 100, 'x',
           (2 << 20) + 5); /* a line longer than a member, and then none at the end */
    check_pressed((struct text){text.data, text.len - 1});
    buf_clear(&text);
    /* A line of more than the longest member: of no interest for threads. */
    for (int i = 0; i < (33 << 20) / 1024 && !CHECK_THREADS_ONLY; i++)
        buf_append(&text, (char[1024]){'y'}, 1024);
    if (text.len)
        check_pressed((struct text){text.data, text.len});
    buf_clear(&text);
    make_text(&text, 1 << 20); /* exactly one member: no empty one behind it */
    check_pressed((struct text){text.data, text.len});
    buf_done(&text);
    end();
}

/* What is verified is shown in whole lines, and these may be as long as the longest that a trace
 * has. */
static void the_longest_lines_are_not_cut(void)
{
    struct buf text = {0}, back = {0};
    size_t sizes[4], at = 0;
    if (!begin())
        return;
    buf_append(&text, "[", 1);
    for (int i = 0; i < (1 << 20) - 3; i++)
        buf_append(&text, ".", 1);
    buf_append(&text, "\n", 1); /* one byte is missing to a member */
    for (size_t i = 0; i < TRACE_LINE_MAX / 1024; i++)
        buf_append(&text, (char[1024]){'z'}, 1024);
    buf_puts(&text, "}}\n]\n");
    size_t n = gunzip(compressor_once(NULL, 1, (struct text){text.data, text.len}, 1 << 20), &back,
                      sizes, 4);
    CHECK_INT(n, 2);
    for (size_t i = 0; i < n; i++) {
        at += sizes[i];
        CHECK_INT(text.data[at - 1], '\n');
    }
    CHECK_MEM(back.data, back.len, text.data, text.len);
    buf_done(&text);
    buf_done(&back);
    end();
}

/* The same with a pool, whose threads are at it when a file is dropped. */
static void drop_one_of_three(struct pool *pool)
{
    struct archive_writer *o = NULL;
    struct compressor *p = NULL;
    struct compressor_file *f[3] = {0};
    struct err err = {0};
    struct buf text = {0}, back = {0};
    size_t size;
    if (!begin() || !CHECK_INT(archive_writer_dir_new(folder, "out", false, &err, &o), 0))
        return;
    make_text(&text, 3 << 19);
    CHECK_INT(compressor_new(pool, o, &(struct compressor_options){.level = 1}, &p), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(compressor_open(p, &err, &f[i]), 0);
        CHECK_INT(compressor_text(f[i], (struct text){text.data, text.len}, &err), 0);
    }
    compressor_drop(f[1]);
    CHECK_INT(compressor_finish(f[2], "c", NULL, NULL, &err), 0);
    CHECK_INT(compressor_finish(f[0], "a", NULL, NULL, &err), 0);
    CHECK_INT(compressor_flush(p, &err), 0);
    compressor_free(p);
    CHECK_INT(archive_writer_end(o, NULL, &err), 0);
    archive_writer_free(o);
    CHECK_INT(shell("test \"$(echo out/*)\" = 'out/a out/c'"), 0);
    CHECK_INT(gunzip(read_file("out/c"), &back, &size, 1), 2);
    CHECK_MEM(back.data, back.len, text.data, text.len);
    buf_done(&text);
    buf_done(&back);
    end();
}

static void what_is_dropped_leaves_the_others(void)
{
    struct pool *pool = NULL;
    drop_one_of_three(NULL);
    if (!CHECK_INT(pool_new(2, "two", &pool), 0))
        return;
    drop_one_of_three(pool);
    pool_free(pool);
}

static atomic_uint checked;

static void note_check(void *arg, struct text text)
{
    (void)arg;
    checked += (unsigned)text.len;
}

/* Who gives the text need not wait: a member is made as soon as its text is there, and one that is
 * left behind is no harm. */
static void others_work_meanwhile(void)
{
    struct archive_writer *o = NULL;
    struct pool *pool = NULL;
    struct compressor *p = NULL;
    struct compressor_file *f = NULL;
    struct err err = {0};
    struct buf text = {0};
    make_text(&text, 3 << 19);
    CHECK_INT(archive_writer_body_new(&o), 0);
    CHECK_INT(pool_new(2, "two", &pool), 0);
    CHECK_INT(
        compressor_new(pool, o, &(struct compressor_options){.level = 1, .check = note_check}, &p),
        0);
    CHECK_INT(compressor_open(p, &err, &f), 0);
    CHECK_INT(compressor_text(f, (struct text){text.data, text.len}, &err), 0);
    for (int i = 0; i < 12000 && !checked; i++)
        usleep(10000);
    CHECK(checked > 1 << 20);
    CHECK_INT(compressor_text(f, (struct text){text.data, text.len}, &err), 0);
    compressor_drop(f);
    compressor_free(p);
    archive_writer_free(o);
    pool_free(pool);
    buf_done(&text);
}

/* ---- the tar --------------------------------------------------------------------------------- */

static int add(struct archive_writer *o, const char *name, const char *content, struct err *err)
{
    struct archive_writer_file *f = NULL;
    int rc = archive_writer_file_new(o, err, &f);
    if (rc == 0)
        rc = archive_writer_file_write(f, text_of(content), err);
    if (rc < 0)
        return archive_writer_file_drop(f), rc;
    return archive_writer_file_finish(f, name, err);
}

static void a_tar_goes_as_it_is_made(void)
{
    struct archive_writer *o = NULL;
    struct disk_budget budget = {.limit = 100};
    struct archive_writer_file *open = NULL;
    struct buf out = {0};
    struct err err = {0};
    char path[100];
    int rc;
    if (!begin() || !CHECK_INT(archive_writer_tar_new(folder, &budget, 86400, &o), 0))
        return;
    CHECK(archive_writer_is_tar(o));
    CHECK_INT(archive_writer_send(o, 100, &out, &err), ERR_END);
    CHECK_INT(archive_writer_file_new(o, &err, &open), 0);
    CHECK_INT(archive_writer_file_write(open, TEXT("late"), &err), 0);
    CHECK_INT(add(o, "a/b.txt", "hello", &err), 0);
    CHECK_INT(add(o, "empty", "", &err), 0);
    CHECK_INT(budget.used, 9);
    while ((rc = archive_writer_send(o, 3, &out, &err)) == 0)
        ;
    CHECK_INT(rc, ERR_END);
    CHECK_INT(budget.used, 4);
    CHECK_INT(out.len,
              512 + 512 + 512); /* a header with a block, a header: what is open is not there yet */
    CHECK_INT(archive_writer_file_finish(open, "last", &err), 0);
    while (archive_writer_send(o, 1000, &out, &err) == 0)
        ;
    CHECK_INT(archive_writer_end(o, &out, &err), 0);
    CHECK_INT(budget.used, 0);
    archive_writer_free(o);
    snprintf(path, sizeof path, "%s/t.tar", folder);
    FILE *f = fopen(path, "wb");
    if (CHECK(f)) {
        CHECK_INT(fwrite(out.data, 1, out.len, f), out.len);
        fclose(f);
    }
    CHECK_INT(
        shell("test \"$(tar tf t.tar | tr '\\n' ' ')\" = 'a/b.txt empty last ' && mkdir x && "
              "tar xf t.tar -C x && test $(cat x/a/b.txt x/last) = hellolate && ! test -s x/empty"),
        0);
    buf_done(&out);
    end();
}

static void *charge_too_much(void *arg)
{
    struct disk_budget *budget = arg;
    int charged = 0;

    for (int i = 0; i < 1000000; i++)
        charged += disk_budget_charge(budget, 101) == 0;
    return charged ? budget : NULL;
}

/* A charge that is refused takes no space from others, not even for a moment. */
static void refused_charges(void)
{
    struct disk_budget budget = {.limit = 100};
    pthread_t other;
    void *charged;
    int refused = 0;

    CHECK_STOP(pthread_create(&other, NULL, charge_too_much, &budget) == 0);
    for (int i = 0; i < 1000000; i++) {
        if (disk_budget_charge(&budget, 1) < 0)
            refused++;
        else
            disk_budget_release(&budget, 1);
    }
    pthread_join(other, &charged);
    CHECK(!charged && refused == 0 && budget.used == 0);
}

static void the_disk_budget_is_kept(void)
{
    struct disk_budget budget = {.limit = 10};
    struct archive_writer *o[2] = {0};
    struct err err = {0};
    if (!begin())
        return;
    for (int i = 0; i < 2; i++)
        CHECK_INT(archive_writer_tar_new(folder, &budget, 0, &o[i]), 0);
    CHECK_INT(add(o[0], "a", "1234567", &err), 0);
    CHECK_INT(add(o[1], "b", "1234", &err), -ENOSPC);
    CHECK(strstr(err.text, "spool-size"));
    err_done(&err);
    CHECK_INT(budget.used, 7);
    CHECK_INT(add(o[1], "b", "123", &err), 0);
    archive_writer_free(o[0]);
    CHECK_INT(budget.used, 3);
    archive_writer_free(o[1]);
    CHECK_INT(budget.used, 0);
    end();
}

static void bad_names_are_refused(void)
{
    static const char *const bad[] = {"", "/a", "a/", "../a", "a/../b"};
    for (int dir = 0; dir < 2; dir++) {
        struct archive_writer *o = NULL;
        struct err err = {0};
        if (!begin())
            return;
        CHECK_INT(dir ? archive_writer_dir_new(folder, "o", false, &err, &o)
                      : archive_writer_tar_new(folder, NULL, 0, &o),
                  0);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            CHECK_INT(add(o, bad[i], "x", &err), -EINVAL);
            err_done(&err);
        }
        CHECK_INT(add(o, "once", "x", &err), 0);
        if (dir) {
            CHECK_INT(add(o, "once", "y", &err), -EEXIST);
            err_done(&err);
            CHECK_INT(add(o, "once/below", "y", &err), -ENOTDIR);
            err_done(&err);
        }
        archive_writer_free(o);
        CHECK_INT(shell("test -z \"$(ls -A)\""), 0); /* not ended: nothing is left */
        end();
    }
}

/* ---- directories ----------------------------------------------------------------------------- */

static int make_dir(const char *path, bool force, const char *content)
{
    struct archive_writer *o = NULL;
    struct err err = {0};
    int rc = archive_writer_dir_new(folder, path, force, &err, &o);
    if (rc == 0)
        rc = add(o, "x/new", content, &err);
    if (rc == 0)
        rc = add(o, "both", content, &err);
    if (rc == 0) {
        char script[100];
        snprintf(script, sizeof script, "! test -e %s/x/new", path);
        CHECK_INT(shell(script), 0); /* not before its end */
        rc = archive_writer_end(o, NULL, &err);
    }
    CHECK(rc == 0 || err.text[0]);
    archive_writer_free(o);
    err_done(&err);
    return rc;
}

static void a_directory_is_there_at_once_or_not_at_all(void)
{
    if (!begin())
        return;
    CHECK_INT(make_dir("deep/er", false, "1"), 0);
    CHECK_INT(shell("test $(cat deep/er/x/new deep/er/both) = 11 && echo old >deep/er/old"), 0);
    CHECK_INT(make_dir("deep/er", false, "2"), -EEXIST);
    CHECK_INT(shell("test $(cat deep/er/x/new deep/er/both) = 11"), 0);
    CHECK_INT(shell("rm -r deep/er/x"), 0);
    CHECK_INT(make_dir("deep/er", true, "3"), 0);
    CHECK_INT(shell("test $(cat deep/er/x/new deep/er/both deep/er/old | tr -d '\\n') = 33old"), 0);
    CHECK_INT(make_dir("fresh", true, "4"), 0);
    CHECK_INT(
        shell("test $(cat fresh/both) = 4 && test \"$(ls -A | tr '\\n' ' ')\" = 'deep fresh '"), 0);
    end();
}

/* Somebody else creates it after the check at the begin. */
static void an_output_that_appears_meanwhile_is_left_alone(void)
{
    struct archive_writer *o = NULL;
    struct err err = {0};
    if (!begin() || !CHECK_INT(archive_writer_dir_new(folder, "out", false, &err, &o), 0))
        return;
    CHECK_INT(add(o, "a", "1", &err), 0);
    CHECK_INT(shell("mkdir out && echo 2 >out/a"), 0);
    CHECK_INT(archive_writer_end(o, NULL, &err), -EEXIST);
    CHECK_STR(err.param, "output");
    err_done(&err);
    archive_writer_free(o);
    CHECK_INT(shell("test $(cat out/a) = 2 && test \"$(ls -A)\" = out"), 0);
    end();
}

static void it_stays_below_the_output_directory(void)
{
    static const char *const bad[] = {"..", "../x", "a/../../x", "/tmp/x", "",
                                      ".",  "a//b", "a/./b",     "a/",     ".dftracerd-0/x"};
    if (!begin())
        return;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(make_dir(bad[i], true, "x"), ERR_PARAM);
    CHECK_INT(shell("mkdir there && ln -s there link && echo f >file"), 0);
    for (int force = 0; force < 2; force++) {
        CHECK_INT(make_dir("link/x", force, "x"),
                  -ENOTDIR); /* O_NOFOLLOW | O_DIRECTORY on a link */
        CHECK_INT(make_dir("file/x", force, "x"), -ENOTDIR);
        CHECK_INT(make_dir("link", force, "x"), force ? -ENOTDIR : -EEXIST);
        CHECK_INT(make_dir("file", force, "x"), force ? -ENOTDIR : -EEXIST);
    }
    CHECK_INT(shell("mkdir t && ln -s ../there t/x"),
              0); /* a link in the directory that is gone over */
    CHECK_INT(make_dir("t", true, "x"), -ENOTDIR);
    CHECK_INT(shell("test -z \"$(ls -A there)\" && test \"$(cat file)\" = f && test \"$(echo "
                    ".dftracerd-*)\" = '.dftracerd-*'"),
              0);
    end();
}

static void what_dead_runs_left_is_removed(void)
{
    struct archive_writer *o = NULL;
    struct err err = {0};
    if (!begin() || !CHECK_INT(archive_writer_dir_new(folder, "out", false, &err, &o), 0))
        return;
    CHECK_INT(add(o, "a", "1", &err), 0);
    CHECK_INT(shell("mkdir -p .dftracerd-0123/made/b keep && echo >.dftracerd-0123/made/b/c"), 0);
    archive_writer_remove_stale(folder);
    CHECK_INT(
        shell(
            "! test -e .dftracerd-0123 && test -d keep && test $(ls -d .dftracerd-* | wc -l) = 1"),
        0);
    CHECK_INT(archive_writer_end(o, NULL, &err),
              0); /* that of the run that goes on was left alone */
    archive_writer_free(o);
    CHECK_INT(shell("test $(cat out/a) = 1 && test \"$(echo .dftracerd-*)\" = '.dftracerd-*'"), 0);
    archive_writer_remove_stale("/nowhere/at/all");
    end();
}

/* A limit on the size of files stands for the full disk. */
static void a_full_disk_leaves_nothing(void)
{
    struct archive_writer *o = NULL;
    struct compressor *p = NULL;
    struct compressor_file *f = NULL;
    struct err err = {0};
    struct rlimit old, small;
    struct buf text = {0};
    int rc = 0;
    if (!begin() || !CHECK_INT(archive_writer_dir_new(folder, "out", false, &err, &o), 0))
        return;
    make_text(&text, 1 << 20);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){1000000, old.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK_INT(compressor_new(NULL, o, &(struct compressor_options){.level = 1}, &p), 0);
    CHECK_INT(compressor_open(p, &err, &f), 0);
    for (int i = 0; i < 100 && rc == 0; i++)
        rc = compressor_text(f, (struct text){text.data, text.len}, &err);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
    CHECK_INT(rc, -EFBIG);
    CHECK(strstr(err.text, "cannot write"));
    err_done(&err);
    compressor_drop(f);
    compressor_free(p);
    archive_writer_free(o);
    CHECK_INT(shell("test -z \"$(ls -A)\""), 0);
    buf_done(&text);
    end();
}

/* Makes a directory while `more` further descriptors can be opened; `at_end`: when it is ended. */
static int make_dir_with(int more, bool at_end)
{
    enum { LIMIT = 64 };
    struct archive_writer *o = NULL;
    struct err err = {0};
    struct rlimit old;
    int used[LIMIT], count = 0, rc = 0;
    if (at_end)
        rc = archive_writer_dir_new(folder, "new/out", false, &err, &o);
    if (at_end && rc == 0)
        rc = add(o, "deep/er/file", "1", &err);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &old), 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){LIMIT, old.rlim_max}), 0);
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;)
        used[count++] = fd;
    while (more-- && count)
        close(used[--count]);
    if (at_end && rc == 0)
        rc = archive_writer_end(o, NULL, &err);
    else if (rc == 0)
        rc = archive_writer_dir_new(folder, "new/out", false, &err, &o);
    archive_writer_free(o);
    while (count)
        close(used[--count]);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &old), 0);
    err_done(&err);
    return rc;
}

static void without_descriptors_nothing_is_left(void)
{
    for (int at_end = 0; at_end < 2; at_end++) {
        int rc = -EMFILE;
        for (int more = 0; rc < 0 && more < 20 && begin(); more++) {
            rc = make_dir_with(more, at_end);
            CHECK(rc == 0 || rc == -EMFILE);
            bool made = rc == 0 && at_end;
            CHECK_INT(shell(made ? "test \"$(ls -A)\" = new" : "test -z \"$(ls -A)\""), 0);
            end();
        }
        CHECK_INT(rc, 0);
    }
}

static atomic_int at_work, most_at_work;

static void look(void *arg, struct text text)
{
    int now = atomic_fetch_add(&at_work, 1) + 1, most = most_at_work;
    (void)arg;
    (void)text;
    while (now > most && !atomic_compare_exchange_weak(&most_at_work, &most, now))
        ;
    /* So long that others would join it if they might: there is nothing to wait for where they may
     * not. */
    nanosleep(&(struct timespec){0, 2000000}, NULL);
    atomic_fetch_sub(&at_work, 1);
}

/* 65 threads for 56 MiB: no more work than a quarter of the memory is for, and only those are
 * charged. */
static void many_threads_need_no_more_memory(void)
{
    struct budget budget = {.memory_limit = 56 << 20};
    struct pool *pool = NULL;
    struct archive_writer *o = NULL;
    struct compressor *p = NULL;
    struct compressor_file *f = NULL;
    struct err err = {0};
    if (!begin() || !CHECK_INT(pool_new(64, "test", &pool), 0) ||
        !CHECK_INT(archive_writer_tar_new(folder, NULL, 0, &o), 0))
        return;
    const struct compressor_options options = {.level = 1, .budget = &budget, .check = look};
    if (!CHECK_INT(compressor_new(pool, o, &options, &p), 0))
        return;
    CHECK(budget.memory_used <= budget.memory_limit / 4);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        CHECK_INT(compressor_open(p, &err, &f), 0);
        CHECK_INT(compressor_text(f, TEXT("a line\n"), &err), 0);
        CHECK_INT(compressor_finish(f, name, NULL, NULL, &err), 0);
    }
    CHECK_INT(compressor_flush(p, &err), 0);
    CHECK(most_at_work >= 1 && most_at_work <= 2);
    compressor_free(p);
    CHECK_INT(budget.memory_used, 0);
    archive_writer_free(o);
    pool_free(pool);
    err_done(&err);
    end();
}

static const struct check_test tests[] = {
    {"every_level_reads_back", every_level_reads_back},
    {"members_are_cut_by_the_text_alone", members_are_cut_by_the_text_alone},
    {"the_longest_lines_are_not_cut", the_longest_lines_are_not_cut},
    {"what_is_dropped_leaves_the_others", what_is_dropped_leaves_the_others},
    {"others_work_meanwhile", others_work_meanwhile},
    {"many_threads_need_no_more_memory", many_threads_need_no_more_memory},
    {"a_tar_goes_as_it_is_made", a_tar_goes_as_it_is_made},
    {"refused_charges", refused_charges},
    {"the_disk_budget_is_kept", the_disk_budget_is_kept},
    {"bad_names_are_refused", bad_names_are_refused},
    {"a_directory_is_there_at_once_or_not_at_all", a_directory_is_there_at_once_or_not_at_all},
    {"an_output_that_appears_meanwhile_is_left_alone",
     an_output_that_appears_meanwhile_is_left_alone},
    {"it_stays_below_the_output_directory", it_stays_below_the_output_directory},
    {"what_dead_runs_left_is_removed", what_dead_runs_left_is_removed},
    {"a_full_disk_leaves_nothing", a_full_disk_leaves_nothing},
    {"without_descriptors_nothing_is_left", without_descriptors_nothing_is_left},
    {NULL, NULL},
};
CHECK_MAIN(tests)
