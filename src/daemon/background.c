/* background.c - forks, reports to the parent, and detaches. */
#include "daemon/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Closes inherited descriptors: locks and pipes of a script that started the daemon must not stay
 * open. */
static void close_inherited(int except)
{
    struct rlimit l;
    int limit = getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < 65536 ? (int)l.rlim_cur : 65536;
    for (int fd = 3; fd < limit; fd++)
        if (fd != except)
            close(fd);
}

static void wait_for_child(pid_t child, int fd)
{
    char ready;
    int status = 0;
    if (read(fd, &ready, 1) == 1)
        _exit(0);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
}

int background_begin(struct err *err)
{
    int fds[2];
    if (pipe(fds) < 0)
        return err_set(err, -errno, "cannot start in the background: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) {
        int rc = -errno;
        close(fds[0]);
        close(fds[1]);
        return err_set(err, rc, "cannot start in the background: %s", strerror(-rc));
    }
    if (child > 0) {
        close(fds[1]);
        wait_for_child(child, fds[0]);
    }
    setsid();
    close_inherited(fds[1]);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    return fds[1];
}

void background_ready(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    if (null > 2)
        close(null);
    if (write(fd, "", 1) < 0) {
        /* The parent was killed: no process waits. */
    }
    close(fd);
}
