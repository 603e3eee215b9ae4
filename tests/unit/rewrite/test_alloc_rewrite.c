/* module: rewrite */
/* New traces while memory is short: members into a tar, and into a directory. */
#include "alloc_check.h"

#include "dftracerd/rewrite.h"

#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/test_alloc_rewrite.XXXXXX";
static struct buf text;

static int shell(const char *script)
{
    char command[500];
    snprintf(command, sizeof command, "cd %s && %s", folder, script);
    return system(command);
}

static void count(void *arg, struct text t)
{
    *(uint64_t *)arg += t.len;
}

/* Two files; the first is longer than a member. */
static int compressor_files(struct compressor *p, struct err *err)
{
    struct compressor_file *a = NULL, *b = NULL;
    int rc = compressor_open(p, err, &a);
    if (rc == 0)
        rc = compressor_open(p, err, &b);
    if (rc == 0)
        rc = compressor_text(a, (struct text){text.data, text.len}, err);
    if (rc == 0)
        rc = compressor_text(b, (struct text){text.data, 1000}, err);
    if (rc < 0)
        return compressor_drop(a), compressor_drop(b), rc;
    rc = compressor_finish(a, "x/a", NULL, NULL, err);
    if (rc < 0)
        return compressor_drop(b), rc;
    return compressor_finish(b, "b", NULL, NULL, err);
}

static int compressor_into(struct archive_writer *o, struct buf *answer, struct err *err)
{
    uint64_t seen = 0;
    struct compressor *p = NULL;
    const struct compressor_options options = {.level = 5, .check = count, .arg = &seen};
    int rc = compressor_new(NULL, o, &options, &p);
    if (rc == 0)
        rc = compressor_files(p, err);
    if (rc == 0)
        rc = compressor_flush(p, err);
    compressor_free(p);
    buf_printf(answer, "%llu of text\n", (unsigned long long)seen);
    return rc;
}

static int into_tar(void *arg, struct buf *answer)
{
    struct archive_writer *o = NULL;
    struct disk_budget budget = {0};
    struct err err = {0};
    (void)arg;
    int rc = archive_writer_tar_new(folder, &budget, 0, &o);
    if (rc == 0)
        rc = compressor_into(o, answer, &err);
    while (rc == 0)
        rc = archive_writer_send(o, 1000, answer, &err);
    rc = rc == ERR_END ? archive_writer_end(o, answer, &err) : rc;
    archive_writer_free(o);
    CHECK_INT(budget.used, 0);
    err_done(&err);
    return rc;
}

static int into_directory(void *arg, struct buf *answer)
{
    struct archive_writer *o = NULL;
    struct err err = {0};
    char path[100];
    (void)arg;
    int rc = archive_writer_dir_new(folder, "out", false, &err, &o);
    if (rc == 0)
        rc = compressor_into(o, answer, &err);
    if (rc == 0)
        rc = archive_writer_end(o, NULL, &err);
    archive_writer_free(o);
    err_done(&err);
    snprintf(path, sizeof path, "%s/out", folder);
    CHECK_INT(access(path, F_OK), rc == 0 ? 0 : -1);
    failing_malloc_stop();
    if (rc == 0)
        CHECK_INT(shell("test -s out/x/a && test -s out/b && rm -r out"), 0);
    archive_writer_remove_stale(folder); /* removing its own directory needs memory, too */
    return rc;
}

static void tar_stream(void)
{
    alloc_check("members into a tar", into_tar, NULL);
}

static void directory(void)
{
    alloc_check("members into a directory", into_directory, NULL);
}

static const struct check_test tests[] = {
    {"tar_stream", tar_stream},
    {"directory", directory},
    {NULL, NULL},
};

static bool begin(void)
{
    if (!mkdtemp(folder))
        return false;
    for (unsigned i = 0; text.len < 1100000; i++)
        buf_printf(&text, "{\"id\":%u,\"name\":\"read\"}\n", i * 2654435761u);
    return true;
}

static bool end(void)
{
    buf_done(&text);
    return rmdir(folder) == 0;
}

CHECK_MAIN_BETWEEN(tests, begin, end)
