/* takeover.c - ends an on-demand daemon, which it finds by the lock of its index. */
#include "daemon/takeover.h"

#include "dftracerd/base.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t read_text(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    n = n < 0 ? 0 : n;
    ret[n] = '\0';
    return (size_t)n;
}

/* Returns whether `wanted` is one of the arguments, which are separated by NUL. */
static bool has_argument(const char *arguments, size_t n, const char *wanted)
{
    for (const char *a = arguments; a < arguments + n; a += strlen(a) + 1)
        if (strcmp(a, wanted) == 0)
            return true;
    return false;
}

/* Returns whether the process is a daemon that exits when it is idle, and that the next command
 * starts again. */
static bool is_on_demand(long pid)
{
    char path[64], arguments[8192];
    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    size_t n = read_text(path, arguments, sizeof arguments);
    return has_argument(arguments, n, "--on-demand") && has_argument(arguments, n, "--background");
}

bool takeover(const char *index_path, int patience_ms)
{
    char path[4200], number[32];
    snprintf(path, sizeof path, "%s/dftracerd.lock", index_path);
    read_text(path, number, sizeof number);
    long pid = strtol(number, NULL, 10);
    int fd = pid > 1 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
    if (fd < 0)
        return false;
    struct pollfd gone = {.fd = fd, .events = POLLIN};
    bool ended = is_on_demand(pid) && syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0 &&
                 poll(&gone, 1, patience_ms) == 1;
    close(fd);
    return ended;
}
