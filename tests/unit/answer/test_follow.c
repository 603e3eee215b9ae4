/* module: answer */
/* Corrupt lines of a followed file are an error, also without memory: that is not taken for a
 * change of the file, after which they would be withheld. */
#include "dftracerd/follow.h"
#include "dftracerd/view.h"
#include "failing_malloc.h"
#include "query_store.h"
#include "trace_data.h"

enum { TEXT = 400 << 10, GARBAGE = 2000 };

static struct store store;

/* Replaces a part of the file whose size and time stay. */
static void corrupt_file(const char *name)
{
    char path[512], garbage[GARBAGE];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", store.dir, name);
    memset(garbage, 0xFF, sizeof(garbage));
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    CHECK_INT(pwrite(fd, garbage, sizeof(garbage), st.st_size / 2), (int64_t)sizeof(garbage));
    CHECK_INT(futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}), 0);
    close(fd);
}

static void make(void)
{
    struct bytes text = make_lines(TEXT, 1), gz = {0};

    add_member(&gz, text.data, text.len, 6, Z_DEFAULT_STRATEGY, NULL);
    store_file(&store, "a.pfw.gz", (const char *)gz.data, gz.len);
    bytes_done(&text);
    bytes_done(&gz);
    if (CHECK(store_ingest(&store, 0, 1)))
        corrupt_file("a.pfw.gz");
}

/* Returns 0 after all lines, or an error. */
static int follow_all(void)
{
    struct view_options options = {.limit = UINT64_MAX};
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct view *v = NULL;
    struct buf out = {0};
    int rc = follow_new(false, &options.follow);

    selection_init(&selection);
    rc = rc < 0 ? rc
                : follow_query(options.follow, &store.env, store.snapshot, &selection, &budget,
                               &err, &q);
    rc = rc < 0 ? rc : view_open(q, &options, &err, &v);
    while (rc == 0)
        rc = view_next(v, 1 << 20, &out, &err);
    failing_malloc_stop();
    buf_done(&out);
    view_close(v);
    query_close(q);
    follow_free(options.follow);
    err_done(&err);
    CHECK_INT(budget.memory_used, 0);
    return rc == ERR_END ? 0 : rc;
}

static void corrupt_text(void)
{
    CHECK_INT(follow_all(), ERR_CORRUPT);
    for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) {
        int rc = follow_all();
        if (!CHECK(rc == ERR_CORRUPT || rc == -ENOMEM)) {
            printf("    allocation %u: %s\n", n, err_text(rc));
            failing_malloc_tell();
        }
    }
}

static const struct check_test tests[] = {
    {"corrupt_text", corrupt_text},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make)
