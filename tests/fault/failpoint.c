/* failpoint.c - the other half of failpoint.h, for the programs of $(BUILD)/fail/bin.
 *
 *   DFTRACERD_FAIL='kv.put=kill@12; spool.write=ENOSPC@3+; kv.commit=delay:200'
 *   DFTRACERD_FAIL=@FILE         the same text, read anew whenever a point is met: a test changes
 *                                it while the program runs
 *
 * name=action[@n[+]]: at the n-th time that the point is met (from then on: +; each time: without
 * @). Actions: a name of errno, MAP_FULL, kill (SIGKILL, as a crash), delay:milliseconds, hold
 * (until another rule stands in FILE), half (for kv.put: the batch up to there is committed, then
 * SIGKILL: what a batch in two commits would leave). Besides those of the sources there are the
 * calls by which LMDB writes data.mdb: disk.page (a kill leaves half of it behind), disk.sync,
 * disk.meta; and disk.map, by which it maps data.mdb.
 *
 * With @FILE, each thread that is held or delayed first adds a line with the name of the point to
 * FILE.reached.
 *
 *   DFTRACERD_FAIL_LIST=FILE     at the end `name count` of all points that were met is appended to
 *                                it
 *   DFTRACERD_CLOCK=FILE         seconds, as text, by which the wall clock is wrong now
 */
#include "dftracerd/failpoint.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { POINTS_MAX = 64, TEXT_MAX = 1024, MAP_FULL = -30792 };

static struct point {
    const char *name;
    unsigned long met;
} points[POINTS_MAX];
static unsigned point_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool
    halved; /* the transaction that is to be given up is to be committed instead */

static const struct {
    const char *name;
    int number;
} errors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE},
              {"EACCES", EACCES}, {"EROFS", EROFS},   {"ESTALE", ESTALE}, {"MAP_FULL", MAP_FULL}};

static unsigned long count_point(const char *name)
{
    unsigned i = 0;
    unsigned long met = 0;

    pthread_mutex_lock(&lock);
    while (i < point_count && strcmp(points[i].name, name) != 0)
        i++;
    if (i == point_count && i < POINTS_MAX)
        points[point_count++].name = name;
    if (i < POINTS_MAX)
        met = ++points[i].met;
    pthread_mutex_unlock(&lock);
    return met;
}

static void __attribute__((destructor)) list_points(void)
{
    const char *path = getenv("DFTRACERD_FAIL_LIST");
    FILE *f = path ? fopen(path, "a") : NULL;

    for (unsigned i = 0; f && i < point_count; i++)
        fprintf(f, "%s %lu\n", points[i].name, points[i].met);
    if (f)
        fclose(f);
}

/* A short file, by system calls that nobody interposes. "" if it is not there. */
static void read_text(const char *path, char *text)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT_MAX - 1);

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* What is to be done at a point that is met for the `met`-th time: "" or an action. */
static void find_action(const char *name, unsigned long met, char *action)
{
    const char *env = getenv("DFTRACERD_FAIL");
    char text[TEXT_MAX] = "", *save = NULL;

    *action = '\0';
    if (env && *env == '@')
        read_text(env + 1, text);
    else if (env)
        snprintf(text, sizeof text, "%s", env);
    for (char *rule = strtok_r(text, "; \n", &save); rule; rule = strtok_r(NULL, "; \n", &save)) {
        char *equals = strchr(rule, '='), *at = strchr(rule, '@');
        unsigned long n = at ? strtoul(at + 1, NULL, 10) : 0;

        if (!equals || strncmp(rule, name, (size_t)(equals - rule)) != 0 ||
            name[equals - rule] != '\0')
            continue;
        if (at && met != n && !(at[strlen(at) - 1] == '+' && met > n))
            continue;
        if (at)
            *at = '\0';
        snprintf(action, 32, "%s", equals + 1);
    }
}

static void wait_ms(unsigned long ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

static void report_reached(const char *name)
{
    const char *env = getenv("DFTRACERD_FAIL");
    char path[4096], line[128];
    int fd;

    if (!env || *env != '@')
        return;
    snprintf(path, sizeof path, "%s.reached", env + 1);
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    snprintf(line, sizeof line, "%s\n", name);
    if (syscall(SYS_write, fd, line, strlen(line)) < 0)
        perror(path);
    close(fd);
}

static void hold(const char *name)
{
    char action[32] = "hold";

    while (strcmp(action, "hold") == 0) {
        wait_ms(20);
        find_action(name, ULONG_MAX, action);
    }
}

/* A test that names what there is not must not pass. */
static bool act(const char *name, const char *action)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(action, errors[i].name) == 0) {
            errno = errors[i].number;
            return true;
        }
    }
    if (strncmp(action, "delay:", 6) == 0) {
        report_reached(name);
        wait_ms(strtoul(action + 6, NULL, 10));
        return false;
    }
    if (strcmp(action, "hold") == 0) {
        report_reached(name);
        hold(name);
        return false;
    }
    if (strcmp(action, "half") == 0) {
        errno = EIO;
        return halved = true;
    }
    if (strcmp(action, "kill") != 0)
        fprintf(stderr, "%s: unknown action %s\n", name, action);
    kill(getpid(), SIGKILL);
    return true;
}

bool failpoint(const char *name)
{
    char action[32];
    int before = errno;
    bool fails;

    find_action(name, count_point(name), action);
    fails = *action && act(name, action);
    if (!fails)
        errno = before;
    return fails;
}

/* ---- LMDB: this stands before its own -------------------------------------------------------- */

struct MDB_txn;
int mdb_txn_commit(struct MDB_txn *txn);
void mdb_txn_abort(struct MDB_txn *txn);

void mdb_txn_abort(struct MDB_txn *txn)
{
    void (*own)(struct MDB_txn *) = NULL;

    if (halved) {
        halved = false;
        if (mdb_txn_commit(txn) == 0)
            kill(getpid(), SIGKILL);
        return;
    }
    *(void **)&own = dlsym(RTLD_NEXT, "mdb_txn_abort");
    own(txn);
}

/* ---- the disk below LMDB: these stand before those of the C library -------------------------- */

static bool is_data(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n > 9 && memcmp(path + n - 9, "/data.mdb", 9) == 0;
}

/* A kill comes when half of it is written. */
static bool page_fails(int fd, const void *data, size_t len, off_t offset)
{
    char action[32];

    find_action("disk.page", count_point("disk.page"), action);
    if (strcmp(action, "kill") == 0)
        syscall(SYS_pwrite64, fd, data, len / 2, offset);
    return *action && act("disk.page", action);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    if (is_data(fd)) {
        bool meta = offset < 8192 && len < 4096;

        if (meta ? failpoint("disk.meta") : page_fails(fd, data, len, offset))
            return -1;
    }
    return syscall(SYS_pwrite64, fd, data, len, offset);
}

ssize_t writev(int fd, const struct iovec *v, int count)
{
    if (is_data(fd) && page_fails(fd, v[0].iov_base, v[0].iov_len, lseek(fd, 0, SEEK_CUR)))
        return -1;
    return syscall(SYS_writev, fd, v, (long)count);
}

/* The map of data.mdb. When it grows, LMDB has no other by then. ThreadSanitizer needs the calls of
 * its own mmap. */
#ifndef __SANITIZE_THREAD__
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (fd >= 0 && is_data(fd) && failpoint("disk.map"))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}
#endif

int fdatasync(int fd)
{
    if (is_data(fd) && failpoint("disk.sync"))
        return -1;
    return (int)syscall(SYS_fdatasync, fd);
}

/* ---- the clock on the wall ------------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    const char *path = clock == CLOCK_REALTIME ? getenv("DFTRACERD_CLOCK") : NULL;
    int rc = (int)syscall(SYS_clock_gettime, clock, ret);
    char text[TEXT_MAX];

    if (rc == 0 && path) {
        read_text(path, text);
        ret->tv_sec += (time_t)strtoll(text, NULL, 10);
    }
    return rc;
}
