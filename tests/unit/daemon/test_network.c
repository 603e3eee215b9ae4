/* module: daemon; alone, threads */
/* test_network.c - file systems of other machines: no index there, and no trust in inotify.
 * statfs() is ours here. */
#include "check.h"

#include "daemon/roots.h"
#include "daemon/watch.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static char base[128];    /* of the scratch directories */
static char mounted[256]; /* what lies below it is on the fake file system */
static long fake_type;

int statfs(const char *path, struct statfs *ret)
{
    int rc = (int)syscall(SYS_statfs, path, ret);

    if (rc == 0 && mounted[0] && strncmp(path, mounted, strlen(mounted)) == 0)
        ret->f_type = fake_type;
    return rc;
}

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", base, name);
    return path;
}

static void mount_at(const char *path, long type)
{
    snprintf(mounted, sizeof mounted, "%s", path);
    fake_type = type;
}

static void make_base(void)
{
    snprintf(base, sizeof base, "/tmp/test_network-XXXXXX");
    if (!mkdtemp(base))
        exit(1);
    for (size_t i = 0; i < 4; i++)
        mkdir(path_of((const char *const[]){"far", "near", "traces", "index"}[i]), 0700);
}

static void remove_base(void)
{
    char command[256];

    mounted[0] = 0;
    snprintf(command, sizeof command, "rm -rf %s", base);
    CHECK_INT(system(command), 0);
}

/* Numbers of statfs(2) and of the file systems' own headers. */
static void known_by_type(void)
{
    static const long far[] = {0x6969,     0x0BD00BD0, 0x47504653,     0xFF534D42, 0xFE534D42,
                               0x517B,     0x65735546, 0x19830326,     0x00C36400, 0x5346414F,
                               0x01021997, 0xAAD7AAEA, (int)0xFF534D42};
    static const long near[] = {0xEF53 /* ext */,         0x58465342 /* xfs */,
                                0x9123683E /* btrfs */,   0x01021994 /* tmpfs */,
                                0x794C7630 /* overlay */, 0x2FC12FC1 /* zfs */};

    make_base();
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        mount_at(path_of("far"), far[i]);
        CHECK(index_refused_filesystem(path_of("far")) != NULL);
        CHECK(index_refused_filesystem(path_of("near")) == NULL);
    }
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        mount_at(path_of("far"), near[i]);
        CHECK(index_refused_filesystem(path_of("far")) == NULL);
    }
    CHECK(index_refused_filesystem(path_of("nothing")) == NULL);
    remove_base();
}

static void named_place_is_refused(void)
{
    struct roots roots = {.count = 1, .labels = {(char[]){""}}};
    struct index_options options = {0};
    struct options chosen = {0};
    struct index *ix;
    struct err err = {0};
    char *place = NULL;

    make_base();
    roots.paths[0] = strdup(path_of("traces"));
    chosen.index_dir = options.path = path_of("far");
    mount_at(path_of("far"), 0x6969);
    CHECK_INT(place_choose(&roots, &chosen, true, &place, &err), -EREMOTE);
    CHECK(place == NULL && strstr(err.text, "NFS") && strstr(err.text, path_of("far")));
    CHECK_STR(err.param, "index-dir");
    err_done(&err);
    chosen = (struct options){.index_base = path_of("far")};
    CHECK_INT(place_choose(&roots, &chosen, true, &place, &err), -EREMOTE);
    CHECK(place == NULL && strstr(err.text, "NFS"));
    CHECK_STR(err.param, "index-base");
    err_done(&err);
    CHECK_INT(index_open(&options, &err, &ix), ERR_STORE);
    CHECK(strstr(err.text, "NFS") != NULL);
    err_done(&err);
    free(roots.paths[0]);
    remove_base();
}

static void unnamed_place_is_passed_over(void)
{
    struct roots roots = {.count = 1, .labels = {(char[]){""}}};
    struct options none = {0};
    struct err err = {0};
    char *place = NULL;

    make_base();
    roots.paths[0] = strdup(path_of("traces"));
    mount_at(path_of("far"), 0x0BD00BD0);
    setenv("DFTRACERD_INDEX_DIR", path_of("far"), 1);
    setenv("CACHE_DIRECTORY", path_of("near"), 1);
    CHECK_INT(place_choose(&roots, &none, true, &place, &err), 0);
    CHECK(place && strncmp(place, path_of("near"), strlen(path_of("near"))) == 0);
    free(place);
    place = NULL;
    mount_at("/", 0x0BD00BD0); /* nothing local at all */
    CHECK_INT(place_choose(&roots, &none, true, &place, &err), -EACCES);
    CHECK(place == NULL && strstr(err.text, "--index-dir"));
    err_done(&err);
    unsetenv("DFTRACERD_INDEX_DIR");
    unsetenv("CACHE_DIRECTORY");
    free(roots.paths[0]);
    remove_base();
}

/* ---- the watcher ----------------------------------------------------------------------------- */

static struct watch *watch;
static atomic_bool stop;
static uint64_t rescan_ms;

static void *watch_all(void *arg)
{
    watch_run(watch, rescan_ms, &stop);
    return arg;
}

static struct index_progress progress_of(struct index *ix)
{
    struct index_progress p;

    index_progress(ix, &p);
    return p;
}

static void write_trace(const char *name)
{
    FILE *f = fopen(path_of(name), "w");

    CHECK(f && fputs("{\"id\":1,\"name\":\"a\",\"ts\":1,\"ph\":\"X\"}\n", f) >= 0 &&
          fclose(f) == 0);
}

/* How many files are known `ms` after a second one was written; less if it is seen before. */
static uint64_t files_seen(uint64_t rescan, int ms)
{
    struct roots roots = {.count = 1, .labels = {(char[]){""}}};
    struct index_options options = {.path = path_of("index")};
    struct index *ix;
    struct err err = {0};
    pthread_t thread;

    roots.paths[0] = strdup(path_of("traces"));
    rescan_ms = rescan;
    unlink(path_of("traces/b.pfw"));
    write_trace("traces/a.pfw");
    CHECK_INT(index_open(&options, &err, &ix), 0);
    CHECK_INT(watch_new(ix, &roots, &watch), 0);
    atomic_store(&stop, false);
    CHECK_INT(pthread_create(&thread, NULL, watch_all, NULL), 0);
    for (int i = 0; i < 20000 && !progress_of(ix).listed; i++)
        usleep(1000);
    CHECK_INT(progress_of(ix).files, 1);
    write_trace("traces/b.pfw");
    for (int i = 0; i < ms && progress_of(ix).files < 2; i++)
        usleep(1000);
    uint64_t files = progress_of(ix).files;
    atomic_store(&stop, true);
    watch_wake(watch);
    pthread_join(thread, NULL);
    watch_free(watch);
    index_close(ix);
    free(roots.paths[0]);
    return files;
}

static void root_far_away_is_walked(void)
{
    make_base();
    mount_at(path_of("traces"), 0x6969);
    CHECK_INT(files_seen(3600000, 1000), 1); /* nobody tells of it, and the next walk is far */
    CHECK_INT(files_seen(50, 20000), 2);
    remove_base();
    make_base();
    CHECK_INT(files_seen(3600000, 20000), 2); /* here inotify tells */
    remove_base();
}

static const struct check_test tests[] = {
    {"known_by_type", known_by_type},
    {"named_place_is_refused", named_place_is_refused},
    {"unnamed_place_is_passed_over", unnamed_place_is_passed_over},
    {"root_far_away_is_walked", root_far_away_is_walked},
    {NULL, NULL}};
CHECK_MAIN(tests)
