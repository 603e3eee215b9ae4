/* module: rewrite */
/* Traces shared out to groups, and put together again, while memory is short: each says so, or has
 * the same answer. */
#include "query_store.h"

#include "alloc_check.h"

#include "dftracerd/rewrite.h"

#include <fcntl.h>
#include <stdlib.h>

static struct store store;
static char folder[] = "/tmp/test_alloc_organize.XXXXXX";
static struct disk_budget disk;
static struct buf organized; /* the tar */

static void make_store(void)
{
    struct buf b = {0};

    buf_puts(&b, "[\n{\"name\":\"HH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"node\",\"value\":"
                 "\"h\"}}\n");
    for (int i = 0; i < 900; i++)
        buf_printf(
            &b,
            "{\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,\"ph\":"
            "\"X\",\"args\":{\"hhash\":\"h\"}}\n",
            i % 3 ? "read" : "write", 1000 + i, i % 50);
    CHECK(store_begin(&store));
    store_file(&store, "a.pfw", b.data, b.len);
    store_file(&store, "sub/b.pfw", b.data, b.len / 2);
    /* all lines go to one target: a single run */
    buf_clear(&b);
    for (int i = 0; i < 3; i++)
        buf_printf(&b,
                   "{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                   "\"dur\":1,\"ph\":\"X\"}\n",
                   i);
    store_file(&store, "sub/run.pfw", b.data, b.len);
    buf_done(&b);
    store_ingest(&store, 0, 1);
}

/* Whatever is ready, into `answer`. */
static int send(struct archive_writer *o, struct buf *answer, struct err *err)
{
    int rc;

    do
        rc = archive_writer_send(o, 65536, answer, err);
    while (rc == 0);
    return rc == ERR_END ? 0 : rc;
}

struct limits {
    uint64_t chunk_bytes;
    size_t memory;
    size_t stays;     /* charged when all is written */
    const char *file; /* the only source; NULL: all */
};

static int organize(void *arg, struct buf *answer)
{
    struct limits *limits = arg;
    static const struct organize_group groups[] = {{"reads", {"name == \"read\"", 14}},
                                                   {"long", {"dur > 25", 8}}};
    const struct organize_options options = {.groups = groups,
                                             .group_count = 2,
                                             .name = "t",
                                             .chunk_bytes = limits ? limits->chunk_bytes : 20000,
                                             .level = 1};
    const struct selection all = {.phases = PHASE_ANY,
                                  .files = limits && limits->file ? &limits->file : NULL,
                                  .file_count = limits && limits->file};
    struct budget budget = {.memory_limit = limits ? limits->memory : 0};
    struct err err = {0};
    struct archive_writer *o = NULL;
    struct transform *work = NULL;
    int rc = archive_writer_tar_new(folder, &disk, 0, &o);
    if (rc == 0)
        rc = organize_open(&store.env, store.snapshot, &all, &options, o, &budget, &err, &work);
    while (rc == 0) {
        rc = transform_next(work, &err);
        int sent = rc == 0 || rc == ERR_END ? send(o, answer, &err) : 0;
        rc = sent < 0 ? sent : rc;
    }
    rc = rc == ERR_END ? archive_writer_end(o, answer, &err) : rc;
    CHECK(rc != -ENOMEM || !err.param[0]); /* no parameter is wrong */
    if (limits)
        limits->stays = budget.memory_used;
    transform_free(work);
    archive_writer_free(o);
    CHECK_INT(disk.used, 0);
    CHECK_INT(budget.memory_used, 0);
    err_done(&err);
    return rc;
}

static int put_together(struct archive *archive, size_t memory, struct buf *answer, struct err *err)
{
    const struct reconstruct_options options = {
        .form = RECONSTRUCT_AS_WAS, .level = 1, .archive = archive};
    struct budget budget = {.memory_limit = memory};
    struct archive_writer *o = NULL;
    struct transform *work = NULL;
    int rc = archive_writer_tar_new(folder, &disk, 0, &o);
    if (rc == 0)
        rc = reconstruct_open(-1, NULL, &options, o, &budget, err, &work);
    while (rc == 0) {
        rc = transform_next(work, err);
        int sent = rc == 0 || rc == ERR_END ? send(o, answer, err) : 0;
        rc = sent < 0 ? sent : rc;
    }
    rc = rc == ERR_END ? archive_writer_end(o, answer, err) : rc;
    if (rc == 0) {
        struct text report = transform_manifest(work);
        CHECK(memmem(report.ptr, report.len, "\"proved\": 3", 11));
    }
    transform_free(work);
    archive_writer_free(o);
    CHECK_INT(budget.memory_used, 0);
    return rc;
}

static int reconstruct(void *arg, struct buf *answer)
{
    struct err err = {0};
    struct spool *spool = NULL;
    struct archive *archive = NULL;
    int rc = spool_new(folder, &disk, &err, &spool);
    if (rc == 0)
        rc = spool_write(spool, (struct text){organized.data, organized.len}, &err);
    if (rc == 0)
        rc = archive_open(spool, folder, &disk, &(struct budget){0}, &err, &archive);
    if (rc == 0)
        rc = put_together(archive, arg ? *(const size_t *)arg : 0, answer, &err);
    archive_free(archive);
    spool_free(spool);
    CHECK_INT(disk.used, 0);
    err_done(&err);
    return rc;
}

static void shared_out(void)
{
    alloc_check("organize", organize, NULL);
}

static void restored(void)
{
    CHECK_INT(organize(NULL, &organized), 0);
    alloc_check("reconstruct", reconstruct, NULL);
    buf_done(&organized);
}

/* What a sidecar may unpack to is charged to the request. */
static void limited(void)
{
    struct buf answer = {0};
    size_t memory = 1000;

    CHECK_INT(organize(NULL, &organized), 0);
    CHECK_INT(reconstruct(&memory, &answer), ERR_MEMORY_LIMIT);
    memory = 16 << 20;
    CHECK_INT(reconstruct(&memory, &answer), 0);
    buf_done(&organized);
    buf_done(&answer);
}

/* A member may be as long as the tar: copying it stops when the request does, and is done once. */
static void found_once(void)
{
    struct budget stopped = {0}, budget = {0};
    struct err err = {0};
    struct spool *spool = NULL;
    struct archive *archive = NULL;
    CHECK_INT(organize(NULL, &organized), 0);
    CHECK_INT(spool_new(folder, NULL, &err, &spool), 0);
    CHECK_INT(spool_write(spool, (struct text){organized.data, organized.len}, &err), 0);
    CHECK_INT(archive_open(spool, folder, NULL, &budget, &err, &archive), 0);
    budget_cancel(&stopped, ERR_CANCELLED);
    CHECK_INT(archive_copy_file(archive, "provenance.zst", &stopped), ERR_CANCELLED);
    int fd = archive_copy_file(archive, "manifest.json", &budget);
    CHECK(fd >= 0);
    close(fd);
    CHECK_INT(archive_copy_file(archive, "manifest.json", &budget), -ENOENT);
    archive_free(archive);
    spool_free(spool);
    err_done(&err);
    buf_done(&organized);
}

/* A sidecar in a tar is copied first. If the request ends meanwhile, the error says so. */
static void stopped_while_opening(void)
{
    struct budget stopped = {0};
    struct err err = {0};
    struct spool *spool = NULL;
    struct archive *archive = NULL;
    struct reconstruct_options options = {.form = RECONSTRUCT_AS_WAS, .level = 1};
    struct archive_writer *o = NULL;
    struct transform *work = NULL;
    CHECK_INT(organize(NULL, &organized), 0);
    CHECK_INT(spool_new(folder, NULL, &err, &spool), 0);
    CHECK_INT(spool_write(spool, (struct text){organized.data, organized.len}, &err), 0);
    CHECK_INT(archive_open(spool, folder, NULL, &(struct budget){0}, &err, &archive), 0);
    options.archive = archive;
    budget_cancel(&stopped, ERR_DEADLINE);
    CHECK_INT(archive_writer_tar_new(folder, &disk, 0, &o), 0);
    CHECK_INT(reconstruct_open(-1, NULL, &options, o, &stopped, &err, &work), ERR_DEADLINE);
    CHECK_STR(err.text, "provenance.zst: deadline exceeded");
    archive_writer_free(o);
    archive_free(archive);
    spool_free(spool);
    err_done(&err);
    buf_done(&organized);
}

/* Members in the making, and the list of files, which is long where these are small. */
static void charged(void)
{
    struct buf answer = {0};
    struct limits few = {.chunk_bytes = 1 << 20}, many = {.chunk_bytes = 1}, little = few;

    little.memory = 1 << 20;
    CHECK_INT(organize(&few, &answer), 0);
    CHECK_INT(organize(&many, &answer), 0);
    CHECK(many.stays > few.stays + 1350 * sizeof(void *) * 20);
    CHECK_INT(organize(&little, &answer), ERR_MEMORY_LIMIT);
    many.memory = many.stays - 100000;
    CHECK_INT(organize(&many, &answer), ERR_MEMORY_LIMIT);
    buf_done(&answer);
}

/* Without memory for the last run of the sidecar, the source could not be restored. */
static void single_run(void)
{
    struct limits one = {.chunk_bytes = 20000, .file = "sub/run.pfw"};

    setenv("FAIL_EVERY_ALLOCATION", "1", 0); /* it is one of about 200; this is the last test */
    alloc_check("organize a single run", organize, &one);
}

static const struct check_test tests[] = {
    {"shared_out", shared_out}, {"restored", restored},
    {"limited", limited},       {"charged", charged},
    {"found_once", found_once}, {"stopped_while_opening", stopped_while_opening},
    {"single_run", single_run}, {NULL, NULL},
};

static bool begin(void)
{
    if (!mkdtemp(folder))
        return false;
    make_store();
    return true;
}

static bool end(void)
{
    store_end(&store);
    return rmdir(folder) == 0;
}

CHECK_MAIN_BETWEEN(tests, begin, end)
