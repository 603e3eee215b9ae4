/* notify.c - sd_notify(3) and sd_listen_fds(3), as their manual pages describe the protocols. */
#include "daemon/notify.h"

#include "dftracerd/base.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3

void notify_send(const char *fmt, ...)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char message[512];
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof a.sun_path)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    memcpy(a.sun_path, path, strlen(path));
    if (path[0] == '@') /* an abstract socket */
        a.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&a, n);
    close(fd);
}

static bool number_of(const char *variable, uint64_t *ret)
{
    const char *text = getenv(variable);
    return text && num_parse_u64(text_of(text), ret) == 0;
}

uint64_t notify_watchdog_us(void)
{
    uint64_t us, pid;
    if (!number_of("WATCHDOG_USEC", &us) ||
        (number_of("WATCHDOG_PID", &pid) && pid != (uint64_t)getpid()))
        return 0;
    return us;
}

size_t notify_inherited(int *ret, size_t max)
{
    uint64_t pid, count = 0;
    if (!number_of("LISTEN_PID", &pid) || pid != (uint64_t)getpid() ||
        !number_of("LISTEN_FDS", &count))
        count = 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (count > max)
        count = max;
    for (size_t i = 0; i < count; i++) {
        ret[i] = FIRST_FD + (int)i;
        fcntl(ret[i], F_SETFD, FD_CLOEXEC);
    }
    return (size_t)count;
}
