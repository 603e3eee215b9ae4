/* pulse.c - detects threads that make no progress. */
#include "dftracerd/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local struct pulse *own_pulse;

void pulse_own(struct pulse *p)
{
    atomic_store(&p->tid, (int)syscall(SYS_gettid));
    own_pulse = p;
}

void pulse_beat_at(int64_t now_ns)
{
    if (own_pulse)
        atomic_store_explicit(&own_pulse->beat_ns, now_ns, memory_order_relaxed);
}

void pulse_beat(void)
{
    if (own_pulse)
        pulse_beat_at(clock_mono_ns());
}

void pulse_rest(void)
{
    pulse_beat_at(0);
}

/* Reads the beginning of a file below /proc/self/task/TID; "" if there is none. */
static void read_task_file(int tid, const char *name, char ret[static 256])
{
    char path[64];
    int fd;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, ret, 255);
    if (fd >= 0)
        close(fd);
    ret[n > 0 ? n : 0] = '\0';
}

/* Returns true if the thread waits for a file system or a name service, where a restart would not
 * help: state D of proc(5), or (FUSE, Lustre, sockets) asleep within a system call. */
static bool waits_for_others(int tid)
{
    char text[256], *end;

    read_task_file(tid, "stat", text);
    const char *name_end = strrchr(text, ')');
    if (name_end && strncmp(name_end, ") D", 3) == 0)
        return true;
    /* "running", or the number of the system call in which the thread sleeps */
    read_task_file(tid, "syscall", text);
    long number = strtol(text, &end, 10);
    bool own = number == SYS_futex || number == SYS_nanosleep || number == SYS_clock_nanosleep;
    return end > text && number >= 0 && !own;
}

int64_t pulse_silence_ns(const struct pulse *p)
{
    int64_t beat = atomic_load_explicit(&p->beat_ns, memory_order_relaxed);
    int64_t silence = beat ? clock_mono_ns() - beat : 0;

    return silence > PULSE_USUAL_NS && waits_for_others(atomic_load(&p->tid)) ? 0 : silence;
}
