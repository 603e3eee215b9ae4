/* kv_fault.c - where the map of data.mdb is, and what happens when LMDB reads or writes beyond it, or where nothing is: LMDB follows
 * what a corrupt page says. The process ends by the signal, as without this; but the index is marked first, so that the next start rebuilds it. */
#include "kv_env.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define FAULT_SLACK (1 << 20) /* around the map: sizes in pages have 16 bits */

static _Atomic(struct kv *) watched;
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

/* Signal safe. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    struct kv *kv = atomic_load(&watched);
    const char *at = number == SIGABRT ? NULL : info->si_addr;

    (void)context;
    if (kv && (kv_inside == kv || (kv->map_at && at >= kv->map_at - FAULT_SLACK &&
                                    at < kv->map_end + FAULT_SLACK)))
        kv_mark_damaged(kv);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] == number)
            sigaction(number, &before[i], NULL); /* the fault comes again when this returns */
}

void kv_watch_faults(struct kv *kv)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct kv *none = NULL;

    if (kv->read_only || !atomic_compare_exchange_strong(&watched, &none, kv))
        return;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, &before[i]);
}

void kv_ignore_faults(struct kv *kv)
{
    if (atomic_load(&watched) != kv)
        return;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &before[i], NULL);
    atomic_store(&watched, NULL);
}
