/* module: daemon */
/* test_watch.c - scans and hints while memory is short. */
#include "failing_malloc.h"
#include "check.h"

#include "daemon/log.h"
#include "daemon/roots.h"
#include "daemon/watch.h"
#include "daemon/watch_hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], traces[80];

static void make_base(void)
{
    char file[96];
    snprintf(base, sizeof base, "/tmp/test_watch-XXXXXX");
    CHECK_STOP(mkdtemp(base) != NULL);
    snprintf(traces, sizeof traces, "%s/t", base);
    snprintf(file, sizeof file, "%s/a.pfw", traces);
    CHECK_INT(mkdir(traces, 0700), 0);
    FILE *f = fopen(file, "w");
    CHECK_STOP(f && fputs("{\"id\":1,\"name\":\"a\",\"ts\":1,\"ph\":\"X\"}\n", f) >= 0);
    CHECK_INT(fclose(f), 0);
}

static void remove_base(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base);
    CHECK_INT(system(command), 0);
}

static uint64_t files_of(struct index *ix)
{
    struct index_progress p;
    index_progress(ix, &p);
    return p.files;
}

/* The index has the file from an earlier scan, as after a restart; a new watcher has no names. */
static void file_is_not_forgotten(void)
{
    char index_dir[80];
    struct roots roots = {.count = 1, .labels = {(char[]){""}}, .paths = {traces}};
    struct index *ix;
    struct watch *w;
    struct err err = {0};
    atomic_bool stop = false;

    make_base();
    log_set_level("off");
    snprintf(index_dir, sizeof index_dir, "%s/i", base);
    struct index_options options = {.path = index_dir};
    CHECK_STOP(index_open(&options, &err, &ix) == 0);
    CHECK_STOP(watch_new(ix, &roots, &w) == 0);
    CHECK_INT(watch_scan(w, &stop), 0);
    watch_free(w);
    CHECK_INT(files_of(ix), 1);
    for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) {
        if (watch_new(ix, &roots, &w) < 0)
            continue;
        watch_scan(w, &stop);
        failing_malloc_stop();
        CHECK_INT(files_of(ix), 1);
        watch_free(w);
    }
    index_close(ix);
    remove_base();
}

static bool any_name(const char *name)
{
    return *name != '\0';
}

/* Returns whether a change of the file is reported; then discards all hints. */
static bool change_is_reported(struct hints *h)
{
    const struct hint *list;
    char file[96];
    snprintf(file, sizeof file, "%s/a.pfw", traces);
    CHECK_INT(chmod(file, 0600), 0);
    bool any = hints_read(h), reported = any && (hints_lost(h) || hints_list(h, &list) == 1);
    hints_clear(h);
    return reported;
}

static void hints_are_not_lost(void)
{
    bool more = true;
    make_base();
    for (unsigned n = 0; more; n++) {
        struct hints *h;
        CHECK_STOP(hints_new(any_name, &h) == 0);
        CHECK_INT(hints_watch(h, 0, traces, "", 0), 0);
        more = failing_malloc_next(n);
        bool reported = change_is_reported(h);
        failing_malloc_stop();
        CHECK(reported);
        for (int k = 0; k < 3; k++)
            CHECK(change_is_reported(h));
        hints_free(h);
    }
    remove_base();
}

static const struct check_test tests[] = {
    {"hints_are_not_lost", hints_are_not_lost},
    {"file_is_not_forgotten", file_is_not_forgotten},
    {NULL, NULL},
};
CHECK_MAIN(tests)
