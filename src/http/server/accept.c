/* accept.c - one thread accepts the connections of all sockets and passes each to the libmicrohttpd
 * thread that has the fewest.
 *
 * libmicrohttpd's own threads would all wait for the same socket. The first that wakes accepts
 * about ten at once, so one thread may get most connections of a burst, and the last of them waits
 * twice as long.
 */
#include "http/server/server.h"
#include "http/server/sockets.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PAUSE_MS = 20,    /* time until the next try, if there is no space or no descriptor */
    LOST_PAUSES = 50, /* a connection that has not begun after this number of pauses never will */
    STEP_MS = 2,      /* interval at which a stop checks whether all connections have begun */
    AT_ONCE = 64,     /* connections of one socket before it is the next one's turn */
};

static unsigned load_of(const struct io_thread *c, bool local)
{
    return c->begun[local] + c->handed[local];
}

/* Reserves a connection at the I/O thread with the fewest, or returns NULL if the limit is reached.
 * TCP and Unix sockets have separate limits, so the daemon's user always gets in. */
static struct io_thread *reserve_connection(struct http *h, bool tls, bool local)
{
    size_t total = 0;
    unsigned least = UINT_MAX;
    struct io_thread *best = NULL;
    pthread_mutex_lock(&h->connections_lock);
    for (struct io_thread *c = h->io_threads; c < h->io_threads + h->io_thread_count; c++) {
        unsigned load = load_of(c, false) + load_of(c, true);
        total += load_of(c, local);
        if (c->tls == tls && load < least)
            best = c, least = load;
    }
    if (total >= h->options.limits.connections)
        best = NULL;
    if (best)
        best->handed[local]++;
    pthread_mutex_unlock(&h->connections_lock);
    return best;
}

void accept_count(struct io_thread *c, bool local, bool begins)
{
    pthread_mutex_lock(&c->http->connections_lock);
    c->begun[local] += begins ? 1u : -1u;
    if (begins && c->handed[local])
        c->handed[local]--;
    atomic_fetch_add(&c->http->facts.connections, begins ? 1u : -1u);
    pthread_mutex_unlock(&c->http->connections_lock);
}

/* Returns the number of connections passed to I/O threads that have not begun. */
static unsigned count_handed(struct http *h)
{
    unsigned sum = 0;
    pthread_mutex_lock(&h->connections_lock);
    for (const struct io_thread *c = h->io_threads; c < h->io_threads + h->io_thread_count; c++)
        sum += c->handed[false] + c->handed[true];
    pthread_mutex_unlock(&h->connections_lock);
    return sum;
}

/* libmicrohttpd drops a connection silently if it has no memory for it. */
static void forget_lost(struct http *h)
{
    pthread_mutex_lock(&h->connections_lock);
    for (size_t i = 0; i < h->io_thread_count; i++)
        h->io_threads[i].handed[false] = h->io_threads[i].handed[true] = 0;
    pthread_mutex_unlock(&h->connections_lock);
}

/* Returns 1 if there may be more, 0 if no client waits, <0 if none can be accepted for now. */
static int accept_one(struct http *h, size_t listener)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    bool local = h->is_unix[listener];
    struct io_thread *c = reserve_connection(h, h->is_tls[listener], local);
    if (!c)
        return -EAGAIN;
    int fd = accept4(h->fds[listener], (struct sockaddr *)&a, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int why = fd < 0 ? errno : 0;
    if (fd < 0 || MHD_add_connection(c->daemon, fd, (struct sockaddr *)&a, n) != MHD_YES) {
        pthread_mutex_lock(&c->http->connections_lock);
        if (c->handed[local])
            c->handed[local]--;
        pthread_mutex_unlock(&c->http->connections_lock);
    }
    if (why == EAGAIN)
        return 0;
    /* Aborted connections are skipped; EMFILE and ENOMEM need a pause. */
    return !why || why == ECONNABORTED || why == EINTR ? 1 : -why;
}

/* Returns <0 if no connection can be accepted for now. */
static int accept_some(struct http *h, size_t listener)
{
    int rc = 1;
    for (int i = 0; i < AT_ONCE && rc > 0; i++)
        rc = accept_one(h, listener);
    return rc;
}

static void *accept_loop(void *arg)
{
    struct http *h = arg;
    struct pollfd fds[HTTP_LISTENERS_MAX + 1] = {{.fd = h->accept_wake, .events = POLLIN}};
    unsigned pauses = 0;
    eventfd_t woken;
    pthread_setname_np(pthread_self(), "dft-accept");
    while (!atomic_load(&h->accept_ends)) {
        size_t n = atomic_load(&h->listeners);
        for (size_t i = 0; i < n; i++) {
            if (atomic_exchange(&h->closing[i], false))
                close(atomic_exchange(&h->fds[i], -1));
        }
        for (size_t i = 0; i < n; i++) /* poll ignores an fd of -1 */
            fds[i + 1] = (struct pollfd){.fd = h->fds[i], .events = POLLIN};
        if (poll(fds, pauses ? 1 : n + 1, pauses ? PAUSE_MS : -1) < 0)
            continue;
        if (fds[0].revents)
            eventfd_read(h->accept_wake, &woken);
        bool refused = false;
        for (size_t i = 0; i < n && !atomic_load(&h->accept_ends); i++)
            refused |=
                fds[i + 1].fd >= 0 && (pauses || fds[i + 1].revents) && accept_some(h, i) < 0;
        pauses = refused ? pauses + 1 : 0;
        if (pauses % LOST_PAUSES == LOST_PAUSES - 1)
            forget_lost(h);
    }
    return NULL;
}

int accept_start(struct http *h)
{
    h->accept_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (h->accept_wake < 0)
        return -errno;
    int rc = pthread_create(&h->acceptor, NULL, accept_loop, h);
    h->accepting = rc == 0;
    return -rc;
}

void accept_wake(struct http *h)
{
    eventfd_write(h->accept_wake, 1);
}

/* libmicrohttpd closes connections that it has not read yet without taking a lock, and their
 * clients would get no answer. So wait until all have begun. */
void accept_stop(struct http *h)
{
    if (!h->accepting)
        return;
    h->accepting = false;
    atomic_store(&h->accept_ends, true);
    accept_wake(h);
    pthread_join(h->acceptor, NULL);
    for (int ms = 0; ms < LOST_PAUSES * PAUSE_MS && count_handed(h); ms += STEP_MS)
        usleep(STEP_MS * 1000);
}
