/* kv_fault.c - handles SIGSEGV and SIGBUS while LMDB follows a corrupt page out of the map of
 * data.mdb. The process still ends by the signal, but the index is marked as corrupt first, so that
 * the next start rebuilds it. */
#include "index/store/kv_env.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A fault so near to the map, in bytes, is one of LMDB: offsets in pages have 16 bits. */
#define FAULT_SLACK (1 << 20)
#define WATCHED_MAX 64 /* maximum number of stores of a process that are marked */

static _Atomic(struct kv *) watched[WATCHED_MAX];
static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned watched_count;
static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
static struct sigaction before[sizeof signals / sizeof *signals];
_Thread_local struct kv *kv_inside;

void kv_find_map(struct kv *kv)
{
    struct stat file;
    char line[512];
    int fd = -1;
    FILE *maps;

    kv->map_at = kv->map_end = NULL;
    if (!kv->env || mdb_env_get_fd(kv->env, &fd) || fstat(fd, &file) < 0 ||
        !(maps = fopen("/proc/self/maps", "re")))
        return;
    while (!kv->map_at && fgets(line, sizeof line, maps)) {
        unsigned long from, to, offset, inode;
        unsigned major, minor;
        if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &from, &to, &offset, &major, &minor,
                   &inode) == 6 &&
            offset == 0 && inode == file.st_ino && makedev(major, minor) == file.st_dev) {
            kv->map_at = (const char *)from;
            kv->map_end = (const char *)to;
        }
    }
    fclose(maps);
}

/* Signal safe: also called when LMDB aborts. */
void kv_mark_corrupt(struct kv *kv)
{
    int fd = kv->read_only ? -1 : open(kv->mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0)
        close(fd);
}

/* Signal safe. Returns NULL if the fault is not one of LMDB. */
static struct kv *find_store(const char *at)
{
    if (kv_inside)
        return kv_inside;
    for (size_t i = 0; i < WATCHED_MAX && at; i++) {
        struct kv *kv = atomic_load(&watched[i]);
        if (kv && kv->map_at && at >= kv->map_at - FAULT_SLACK && at < kv->map_end + FAULT_SLACK)
            return kv;
    }
    return NULL;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    struct kv *kv = find_store(number == SIGABRT ? NULL : info->si_addr);

    (void)context;
    if (kv)
        kv_mark_corrupt(kv);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] == number)
            sigaction(number, &before[i], NULL); /* the fault occurs again when this returns */
}

static bool replace_watched(struct kv *from, struct kv *to)
{
    for (size_t i = 0; i < WATCHED_MAX; i++) {
        struct kv *expected = from;
        if (atomic_compare_exchange_strong(&watched[i], &expected, to))
            return true;
    }
    return false;
}

void kv_watch_faults(struct kv *kv)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&watched_lock);
    bool first = !kv->read_only && replace_watched(NULL, kv) && watched_count++ == 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals && first; i++)
        sigaction(signals[i], &action, &before[i]);
    pthread_mutex_unlock(&watched_lock);
}

void kv_ignore_faults(struct kv *kv)
{
    pthread_mutex_lock(&watched_lock);
    bool last = replace_watched(kv, NULL) && --watched_count == 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals && last; i++)
        sigaction(signals[i], &before[i], NULL);
    pthread_mutex_unlock(&watched_lock);
}
