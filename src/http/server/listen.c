/* listen.c - listening sockets: loopback by default, one for each address, and a Unix socket for
 * the client script. */
#include "http/server/server.h"
#include "http/server/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The thread that accepts may use it from now on. */
static void publish_listener(struct http *h, int fd, bool is_unix)
{
    size_t n = atomic_load(&h->listeners);
    h->is_tls[n] = !is_unix && h->options.tls.cert;
    h->is_unix[n] = is_unix;
    h->fds[n] = fd;
    atomic_store(&h->listeners, n + 1);
}

static int add_listener(struct http *h, int fd, const char *url, struct err *err)
{
    if (h->listeners == HTTP_FIRST_LISTENERS_MAX)
        return close(fd), err_set_param(err, -E2BIG, "bind", "more than %d listening sockets",
                                        HTTP_FIRST_LISTENERS_MAX);
    char *copy = url ? strdup(url) : NULL;
    if (url && !copy)
        return close(fd), -ENOMEM;
    if (url) {
        /* Without keepalive, a client that follows a quiet index would be kept for long after its
         * machine was switched off. Connections inherit these options from the listener. */
        int on = 1, gap_s = 10, times = 3;
        int idle_s =
            (int)(h->options.limits.idle_ms < 1000       ? 1
                  : h->options.limits.idle_ms > 32767000 ? 32767
                                                         : h->options.limits.idle_ms / 1000);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &gap_s, sizeof gap_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    }
    if (copy)
        h->urls[h->url_count++] = copy;
    publish_listener(h, fd, !url);
    return 0;
}

void listen_add_unix(struct http *h, int fd, const char *path)
{
    h->unlinks[h->listeners] = path;
    publish_listener(h, fd, true);
}

void listen_end_unix(struct http *h, const char *path)
{
    for (size_t i = 0; i < h->listeners; i++) {
        if (h->unlinks[i] != path)
            continue;
        unlink(path);
        h->unlinks[i] = NULL; /* another daemon may bind the name soon */
        atomic_store(&h->closing[i], true);
    }
    accept_wake(h);
}

static int bound_port(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        return -errno;
    return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                        : ((struct sockaddr_in6 *)&a)->sin6_port);
}

static int open_socket(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, 1024) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

static void make_url(const struct http *h, char *url, size_t size, bool v6, const char *host,
                     int port)
{
    snprintf(url, size, v6 ? "http%s://[%s]:%d/" : "http%s://%s:%d/",
             h->options.tls.cert ? "s" : "", host, port);
}

/* Returns the addresses in *new* (freeaddrinfo) if the daemon may listen there. */
static int resolve_address(const struct http_options *o, const char *address, int port,
                           struct addrinfo **ret, struct err *err)
{
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM},
                    *found = NULL;
    int why = getaddrinfo(address, service, &hints, &found);
    if (why)
        return err_set_param(err, -EADDRNOTAVAIL, "bind", "cannot resolve %s: %s", address,
                             gai_strerror(why));
    const char *lacks = access_is_loopback(found->ai_addr) ? NULL : access_lacks_beyond(o);
    if (lacks) {
        freeaddrinfo(found);
        return err_set_param(err, -EPERM, "bind",
                             "%s is not a loopback address: listening beyond loopback requires %s; "
                             "alternatively, use an ssh tunnel",
                             address, lacks);
    }
    *ret = found;
    return 0;
}

int http_check_listeners(const struct http_options *o, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < o->bind_count && !o->no_tcp && rc == 0; i++) {
        struct addrinfo *found = NULL;
        rc = resolve_address(o, o->bind[i], o->port, &found, err);
        if (rc == 0)
            freeaddrinfo(found);
    }
    return rc;
}

/* Binds one address. `port` 0 chooses a free port, which the next addresses then share. */
static int listen_tcp(struct http *h, const char *address, int *port, struct err *err)
{
    char url[128];
    struct addrinfo *found = NULL;
    int rc = resolve_address(&h->options, address, *port, &found, err);
    if (rc < 0)
        return rc;
    bool v6 = found->ai_family == AF_INET6;
    int fd = open_socket(found);
    freeaddrinfo(found);
    if (fd < 0)
        return err_set_param(
            err, fd, "bind", "cannot listen on %s port %d: %s%s", address, *port, strerror(-fd),
            fd == -EADDRINUSE ? " (choose another port with --port; 0 selects a free one)" : "");
    *port = bound_port(fd);
    make_url(h, url, sizeof url, v6, address, *port);
    return add_listener(h, fd, url, err);
}

/* Removes a socket file on which nobody listens: a daemon that was killed left it. Any other file
 * is left alone. */
static int remove_stale(const struct sockaddr_un *a)
{
    struct stat st;
    if (lstat(a->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int rc = connect(fd, (const struct sockaddr *)a, sizeof *a);
    int why = errno;
    close(fd);
    if (rc == 0)
        return -EADDRINUSE;
    if (why == ECONNREFUSED)
        unlink(a->sun_path);
    return 0;
}

/* The file gets the mode of the descriptor; umask() would affect all threads. */
int listen_unix(const char *path, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        return err_set_param(err, -ENAMETOOLONG, "unix",
                             "the socket path %s is longer than %zu bytes", path,
                             sizeof a.sun_path - 1);
    memcpy(a.sun_path, path, strlen(path) + 1);
    int rc = remove_stale(&a), fd = -1;
    if (rc == 0) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
            listen(fd, 1024) < 0)
            rc = -errno;
    }
    if (rc == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return err_set_param(err, rc, "unix", "cannot listen on %s: %s", path, strerror(-rc));
}

/* Adds a socket that was bound by systemd or another parent, under the same rules. */
static int listen_inherited(struct http *h, int fd, struct err *err)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a, m = sizeof(int);
    int type = 0, listening = 0;
    char host[64] = "", url[128];
    bool ok = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) == 0 && type == SOCK_STREAM &&
              getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &m) == 0 && listening &&
              getsockname(fd, (struct sockaddr *)&a, &n) == 0;
    if (!ok)
        return close(fd), err_set(err, -EINVAL, "file descriptor %d is not a listening socket", fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (a.ss_family == AF_UNIX)
        return add_listener(h, fd, NULL, err);
    const char *lacks =
        access_is_loopback((struct sockaddr *)&a) ? NULL : access_lacks_beyond(&h->options);
    if (lacks)
        return close(fd),
               err_set(err, -EPERM,
                       "the inherited socket %d is not bound to loopback: this requires %s", fd,
                       lacks);
    getnameinfo((struct sockaddr *)&a, n, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    make_url(h, url, sizeof url, a.ss_family == AF_INET6, host, bound_port(fd));
    return add_listener(h, fd, url, err);
}

/* After an error the others are closed: the server owns all of them. */
static int listen_all_inherited(struct http *h, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < h->options.inherited_count; i++) {
        int fd = h->options.inherited[i];
        if (rc == 0)
            rc = listen_inherited(h, fd, err);
        else
            close(fd);
    }
    return rc;
}

int listen_all(struct http *h, struct err *err)
{
    static const char *const loopback[] = {"127.0.0.1", "::1"};
    const struct http_options *o = &h->options;
    bool chosen = o->bind_count > 0;
    const char *const *addresses = chosen ? o->bind : loopback;
    size_t n = chosen ? o->bind_count : 2;
    if (o->no_tcp || (o->inherited_count && !chosen))
        n = 0;
    int port = o->port, rc = listen_all_inherited(h, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct err quiet = {0};
        /* If IPv6 is switched off, 127.0.0.1 suffices. */
        rc = listen_tcp(h, addresses[i], &port, !chosen && i > 0 ? &quiet : err);
        if (rc < 0 && !chosen && i > 0)
            rc = 0;
        err_done(&quiet);
    }
    if (rc == 0 && o->unix_path) {
        int fd = listen_unix(o->unix_path, err);
        rc = fd < 0 ? fd : 0;
        if (rc == 0)
            listen_add_unix(h, fd, o->unix_path);
    }
    if (rc == 0 && !h->listeners)
        rc = err_set(err, -EINVAL, "nothing to listen on: --no-tcp requires --unix");
    return rc;
}

void listen_close(struct http *h)
{
    for (size_t i = 0; i < h->listeners; i++) {
        if (h->fds[i] >= 0)
            close(h->fds[i]);
        free(h->urls[i]);
        if (h->unlinks[i])
            unlink(h->unlinks[i]);
    }
}
