/* module: rewrite; threads */
/* Archives are read by three programs that are not ours: GNU tar, busybox tar and Python's tarfile.
 */
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "dftracerd/rewrite.h"

#define LONG_PART "a-folder-with-a-rather-long-name-0123456789-0123456789"

static const char *const names[] = {
    "rank_0.pfw.gz",
    "empty",
    LONG_PART "/" LONG_PART "/" LONG_PART "/f", /* prefix and name */
    LONG_PART LONG_PART LONG_PART ".pfw.gz",    /* pax: no slash to cut at */
    LONG_PART "/" LONG_PART "/" LONG_PART "/" LONG_PART "/" LONG_PART "/" LONG_PART "/g", /* pax */
    "gr\xc3\xbc\xc3\x9f"
    "e/\xe2\x82\xac.pfw", /* pax: not ASCII */
    "last",
};
enum { COUNT = sizeof names / sizeof *names };
static const size_t sizes[COUNT] = {1000, 0, 512, 511, 513, 3, 100000};

static char content_byte(size_t member, size_t at)
{
    return (char)(member * 31 + at * 7 + at / 256);
}

static void make_archive(struct buf *out)
{
    struct tar t = {0};
    for (size_t i = 0; i < COUNT; i++) {
        struct tar_entry e = {.name = text_of(names[i]), .size = sizes[i], .mtime_s = 86400 * 365};
        CHECK_INT(tar_begin(&t, &e, out), 0);
        for (size_t at = 0; at < sizes[i];) { /* in uneven pieces */
            char piece[777];
            size_t n = 0;
            while (n < sizeof piece && at < sizes[i])
                piece[n++] = content_byte(i, at++);
            tar_count(&t, n);
            buf_append(out, piece, n);
        }
        tar_end(&t, out);
    }
    tar_finish(&t, out);
    CHECK_INT(out->error, 0);
    CHECK_INT(out->len % 512, 0);
}

static char folder[64];

static void write_file(const char *name, const char *data, size_t len)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (CHECK(f)) {
        CHECK_INT(fwrite(data, 1, len, f), len);
        fclose(f);
    }
}

static bool begin(void)
{
    strcpy(folder, "/tmp/test_tar.XXXXXX");
    return CHECK(mkdtemp(folder));
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_INT(system(command), 0);
}

/* Runs a shell command in the folder. */
static int shell(const char *script)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && LC_ALL=C.UTF-8 && export LC_ALL && %s", folder,
             script);
    return system(command);
}

static bool has(const char *program)
{
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    if (system(command) == 0)
        return true;
    check_skip("a tar reader is not installed");
    return false;
}

/* What was unpacked into out/ is what went in; `count` members of the list. */
static void compare_unpacked(const char *into)
{
    for (size_t i = 0; i < COUNT; i++) {
        char path[600], *wanted = malloc(sizes[i] + 1), *got = malloc(sizes[i] + 2);
        snprintf(path, sizeof path, "%s/%s/%s", folder, into, names[i]);
        for (size_t at = 0; at < sizes[i]; at++)
            wanted[at] = content_byte(i, at);
        FILE *f = fopen(path, "rb");
        if (!f)
            check_fail(__FILE__, __LINE__, "not there: %s", names[i]);
        else
            CHECK_MEM(got, fread(got, 1, sizes[i] + 1, f), wanted, sizes[i]);
        if (f)
            fclose(f);
        free(wanted);
        free(got);
    }
}

static void gnu_tar_reads(void)
{
    struct buf out = {0};
    if (!has("tar") || !begin())
        return;
    make_archive(&out);
    write_file("t.tar", out.data, out.len);
    CHECK_INT(shell("mkdir out && tar xf t.tar -C out 2>err && ! [ -s err ]"), 0);
    compare_unpacked("out");
    buf_done(&out);
    end();
}

static void python_reads(void)
{
    struct buf out = {0};
    if (!has("python3") || !begin())
        return;
    make_archive(&out);
    write_file("t.tar", out.data, out.len);
    CHECK_INT(shell("python3 -c '\n"
                    "import tarfile\n"
                    "t = tarfile.open(\"t.tar\", \"r|\")\n"
                    "for m in t:\n"
                    "    assert m.isreg() and m.mode == 0o644 and m.mtime == 86400 * 365, m\n"
                    "    assert m.uid == m.gid == 0\n"
                    "    t.extract(m, \"out\")\n"
                    "'"),
              0);
    compare_unpacked("out");
    buf_done(&out);
    end();
}

/* It skips pax records: what ustar can hold is as it should be, the rest has the beginning of its
 * name. */
static void busybox_reads(void)
{
    struct buf out = {0};
    if (!has("busybox") || !begin())
        return;
    make_archive(&out);
    write_file("t.tar", out.data, out.len);
    CHECK_INT(shell("mkdir out && busybox tar xf t.tar -C out 2>err && cat err"), 0);
    CHECK_INT(shell("test $(find out -type f | wc -l) = 7"), 0);
    char script[600];
    snprintf(script, sizeof script,
             "test $(wc -c <out/%s) = 1000 && test $(wc -c <out/%s) = 512 && test $(wc -c <out/%s) "
             "= 3 && "
             "test $(wc -c <out/last) = 100000",
             names[0], names[2], names[5]);
    CHECK_INT(shell(script), 0);
    buf_done(&out);
    end();
}

/* 9 GiB + 5: only the header is real, the bytes are a hole. */
static void tells_large_sizes(void)
{
    const uint64_t size = (UINT64_C(9) << 30) + 5;
    struct buf head = {0}, tail = {0};
    struct tar t = {0};
    if (!has("tar") || !has("python3") || !has("busybox") || !begin())
        return;
    struct tar_entry e = {.name = TEXT("large"), .size = size};
    CHECK_INT(tar_begin(&t, &e, &head), 0);
    for (uint64_t left = size; left;) {
        size_t n = left < 1 << 30 ? (size_t)left : 1 << 30;
        tar_count(&t, n);
        left -= n;
    }
    tar_end(&t, &tail);
    e = (struct tar_entry){.name = TEXT("after"), .size = 0};
    CHECK_INT(tar_begin(&t, &e, &tail), 0);
    tar_end(&t, &tail);
    tar_finish(&t, &tail);
    write_file("t.tar", head.data, head.len);
    write_file("tail", tail.data, tail.len);
    CHECK_INT(shell("truncate -s +9663676421 t.tar && cat tail >>t.tar"), 0);
    CHECK_INT(
        shell(
            "tar tvf t.tar >list && grep -q ' 9663676421 .* large$' list && grep -q 'after$' list"),
        0);
    CHECK_INT(shell("busybox tar tvf t.tar >list && grep -q ' 9663676421 .* large$' list && grep "
                    "-q 'after$' list"),
              0);
    CHECK_INT(shell("python3 -c 'import tarfile; print([(m.name, m.size) for m in "
                    "tarfile.open(\"t.tar\")])' >list && "
                    "test \"$(cat list)\" = \"[('large', 9663676421), ('after', 0)]\""),
              0);
    buf_done(&head);
    buf_done(&tail);
    end();
}

/* 8 GiB - 1 is the last that eleven octal digits hold. */
static void has_no_record_where_none_is_needed(void)
{
    struct tar t = {0};
    struct buf out = {0};
    struct tar_entry e = {.name = TEXT("a"), .size = (UINT64_C(1) << 33) - 1};
    CHECK_INT(tar_begin(&t, &e, &out), 0);
    CHECK_INT(out.len, 512);
    CHECK_MEM(out.data + 124, 12, "77777777777\0", 12);
    buf_done(&out);
}

static void refuses_names(void)
{
    char long_name[4002];
    memset(long_name, 'x', sizeof long_name);
    const struct text bad[] = {TEXT(""),     TEXT("/etc/passwd"), TEXT("../a"), TEXT("a/../b"),
                               TEXT("a/.."), TEXT("a/"),          TEXT("a\0b"), {long_name, 4001}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tar t = {0};
        struct buf out = {0};
        struct tar_entry e = {.name = bad[i]};
        CHECK_INT(tar_begin(&t, &e, &out), -EINVAL);
        CHECK_INT(out.len, 0);
    }
    struct tar t = {0};
    struct buf out = {0};
    struct tar_entry e = {.name = TEXT("..a/b..")};
    CHECK_INT(tar_begin(&t, &e, &out), 0);
    buf_done(&out);
}

static void spools(void)
{
    struct spool *s = NULL;
    struct err err = {0};
    struct buf out = {0};
    if (!begin() || !CHECK_INT(spool_new(folder, NULL, &err, &s), 0))
        return;
    CHECK_INT(shell("test -z \"$(ls -A)\""), 0); /* it has no name */
    for (int round = 0; round < 2; round++) {
        CHECK_INT(spool_read(s, 100, &out, &err), ERR_END);
        for (int i = 0; i < 1000; i++)
            CHECK_INT(spool_write(s, TEXT("0123456789"), &err), 0);
        CHECK_INT(spool_size(s), 10000);
        while (spool_read(s, 999, &out, &err) == 0)
            ;
        CHECK_INT(out.len, 10000);
        CHECK_MEM(out.data + 9990, 10, "0123456789", 10);
        buf_clear(&out);
        spool_clear(s);
        CHECK_INT(spool_size(s), 0);
    }
    spool_free(s);
    CHECK_INT(spool_new("/nowhere/at/all", NULL, &err, &s), -ENOENT);
    CHECK(strstr(err.text, "No such file"));
    err_done(&err);
    buf_done(&out);
    end();
}

/* No more room: a limit on the size of files stands for the full disk. */
static void spool_tells_that_the_disk_is_full(void)
{
    struct spool *s = NULL;
    struct err err = {0};
    struct rlimit old, small;
    char block[4096] = "";
    int rc = 0, written = 0;
    if (!begin() || !CHECK_INT(spool_new(folder, NULL, &err, &s), 0))
        return;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){10000, old.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (written < 10 && (rc = spool_write(s, (struct text){block, sizeof block}, &err)) == 0)
        written++;
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
    CHECK_INT(written, 2);
    CHECK_INT(rc, -EFBIG);
    CHECK(err.text[0]);
    err_done(&err);
    spool_free(s);
    end();
}

static const struct check_test tests[] = {
    {"gnu_tar_reads", gnu_tar_reads},
    {"python_reads", python_reads},
    {"busybox_reads", busybox_reads},
    {"tells_large_sizes", tells_large_sizes},
    {"has_no_record_where_none_is_needed", has_no_record_where_none_is_needed},
    {"refuses_names", refuses_names},
    {"spools", spools},
    {"spool_tells_that_the_disk_is_full", spool_tells_that_the_disk_is_full},
    {NULL, NULL},
};
CHECK_MAIN(tests)
