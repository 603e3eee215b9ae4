/* module: http */
/* What /checks reports of a daemon: each state has its line, and all but `ok` a remedy. */
#include "http/endpoints/checks.h"
#include "check.h"

#include <errno.h>

static const char *const directories[] = {"/a", "/b c"};
static const struct index_rank_progress ranks[] = {
    {.rank = 0, .host = "node1"}, {.rank = 1, .host = "node1"}, {.rank = 2, .host = "node2"},
    {.rank = 3, .host = "node2"}, {.rank = 4, .host = "node1"}, {.rank = 5, .host = "node3"}};

/* A line with this text is there, and it has a remedy unless it is ok. */
static bool has(const struct check_facts *f, const char *level, const char *text)
{
    struct arena arena = {0};
    struct checks checks = {0};
    bool found = false;

    CHECK_INT(checks_judge(f, &arena, &checks), 0);
    for (size_t i = 0; i < checks.count; i++) {
        const struct check *c = &checks.rows[i];
        CHECK(!c->remedy == (strcmp(c->level, "ok") == 0));
        found = found || (strcmp(c->level, level) == 0 && strcmp(c->text, text) == 0);
    }
    arena_done(&arena);
    return found;
}

static struct check_facts well(void)
{
    return (struct check_facts){.index_path = "/i",
                                .index_bytes = 5 << 20,
                                .directories = directories,
                                .directory_count = 1,
                                .progress.listed = true,
                                .open_files = 90,
                                .open_files_max = UINT64_MAX};
}

static void all_well(void)
{
    struct check_facts f = well();

    CHECK(has(&f, "ok", "its index: /i, 5 MiB"));
    CHECK(has(&f, "ok", "all files found are indexed"));
    f.progress.files_unasked = 7;
    CHECK(has(&f, "ok", "all files that requests have selected are indexed; 7 others are not"));
    CHECK(!has(&f, "ok", "it serves 1 directories: /a"));
    f.directory_count = 2;
    CHECK(has(&f, "ok", "it serves 2 directories: /a, /b c"));
    f.ranks = ranks;
    f.rank_count = 3;
    CHECK(has(&f, "ok", "it has 3 ranks: node1 (0-1), node2 (2)"));
    f.rank_count = 6;
    CHECK(has(&f, "ok", "it has 6 ranks: node1 (0-1,4), node2 (2-3), node3 (5)"));
}

static void indexing(void)
{
    struct check_facts f = well();

    f.progress.files_pending = 3;
    CHECK(has(&f, "warn", "it is indexing: 3 files are pending"));
    f.progress.store_error = -ENOSPC;
    CHECK(has(&f, "fail", "it has stopped indexing: No space left on device"));
    CHECK(!has(&f, "warn", "it is indexing: 3 files are pending"));
    f.progress.store_error_host = "node2";
    CHECK(has(&f, "fail", "it has stopped indexing: No space left on device (on node2)"));
}

static void files(void)
{
    struct check_facts f = well();

    f.progress.files_failed = 2;
    f.progress.directories_unreadable = 4;
    f.files_damaged = 1;
    f.open_files_max = 100;
    CHECK(has(&f, "fail", "2 files could not be indexed"));
    CHECK(has(&f, "warn", "it cannot read 4 directories: answers may lack their files"));
    CHECK(has(&f, "warn", "1 files are corrupt; their readable parts are indexed"));
    CHECK(has(&f, "warn", "90 of 100 files are open"));
    f.open_files = 80;
    CHECK(!has(&f, "warn", "80 of 100 files are open"));
}

static const struct check_test tests[] = {
    {"all_well", all_well},
    {"indexing", indexing},
    {"files", files},
    {NULL, NULL},
};
CHECK_MAIN(tests)
