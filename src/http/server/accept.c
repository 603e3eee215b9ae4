/* accept.c - one thread takes the connections of all sockets in and gives each to the thread of
 * libmicrohttpd that has fewest.
 *
 * libmicrohttpd's own threads would all wait for the same socket; the first that wakes takes some
 * ten at once, so one may have most of those who came together, and the last of them waits for
 * twice its work. */
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
    REST_MS = 20,    /* until it is tried again, where there is no room or no descriptor */
    LOST_RESTS = 50, /* what was handed over before so many has begun, or never will */
    STEP_MS = 2,     /* when a stop looks whether all that was handed over has begun */
    AT_ONCE = 64,    /* of one socket, before the next one's turn */
};

static unsigned load_of(const struct carrier *c, bool local)
{
    return c->begun[local] + c->handed[local];
}

/* The place of one connection, or NULL: there is no room. TCP does not take that of unix sockets:
 * the daemon's user gets in. */
static struct carrier *take_place(struct http *h, bool tls, bool local)
{
    size_t all = 0;
    unsigned least = UINT_MAX;
    struct carrier *best = NULL;
    pthread_mutex_lock(&h->connections_lock);
    for (struct carrier *c = h->carriers; c < h->carriers + h->carrier_count; c++) {
        unsigned load = load_of(c, false) + load_of(c, true);
        all += load_of(c, local);
        if (c->tls == tls && load < least)
            best = c, least = load;
    }
    if (all >= h->options.limits.connections)
        best = NULL;
    if (best)
        best->handed[local]++;
    pthread_mutex_unlock(&h->connections_lock);
    return best;
}

void accept_note(struct carrier *c, bool local, bool begins)
{
    pthread_mutex_lock(&c->http->connections_lock);
    c->begun[local] += begins ? 1u : -1u;
    if (begins && c->handed[local])
        c->handed[local]--;
    atomic_fetch_add(&c->http->facts.connections, begins ? 1u : -1u);
    pthread_mutex_unlock(&c->http->connections_lock);
}

/* By all carriers. */
static unsigned count_handed(struct http *h)
{
    unsigned sum = 0;

    pthread_mutex_lock(&h->connections_lock);
    for (const struct carrier *c = h->carriers; c < h->carriers + h->carrier_count; c++)
        sum += c->handed[false] + c->handed[true];
    pthread_mutex_unlock(&h->connections_lock);
    return sum;
}

/* libmicrohttpd drops a connection without a word when it has no memory for it. */
static void forget_lost(struct http *h)
{
    pthread_mutex_lock(&h->connections_lock);
    for (size_t i = 0; i < h->carrier_count; i++)
        h->carriers[i].handed[false] = h->carriers[i].handed[true] = 0;
    pthread_mutex_unlock(&h->connections_lock);
}

/* 1: there may be more, 0: nobody waits, <0: nobody can be let in for now. */
static int accept_one(struct http *h, size_t listener)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    bool local = h->is_unix[listener];
    struct carrier *c = take_place(h, h->is_tls[listener], local);
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
    /* Who has gone already is nobody's concern; all else lasts longer: no descriptors, no memory.
 */
    return !why || why == ECONNABORTED || why == EINTR ? 1 : -why;
}

/* <0: nobody can be let in for now. */
static int accept_some(struct http *h, size_t listener)
{
    int rc = 1;
    for (int i = 0; i < AT_ONCE && rc > 0; i++)
        rc = accept_one(h, listener);
    return rc;
}

static void *run(void *arg)
{
    struct http *h = arg;
    struct pollfd fds[HTTP_LISTENERS_MAX + 1] = {{.fd = h->accept_wake, .events = POLLIN}};
    unsigned rests = 0;
    eventfd_t woken;
    pthread_setname_np(pthread_self(), "dft-accept");
    while (!atomic_load(&h->accept_ends)) {
        size_t n = atomic_load(&h->listeners);
        for (size_t i = 0; i < n; i++) {
            if (atomic_exchange(&h->closing[i], false))
                close(atomic_exchange(&h->fds[i], -1));
        }
        for (size_t i = 0; i < n; i++) /* poll ignores -1 */
            fds[i + 1] = (struct pollfd){.fd = h->fds[i], .events = POLLIN};
        if (poll(fds, rests ? 1 : n + 1, rests ? REST_MS : -1) < 0)
            continue;
        if (fds[0].revents)
            eventfd_read(h->accept_wake, &woken);
        bool refused = false;
        for (size_t i = 0; i < n && !atomic_load(&h->accept_ends); i++)
            refused |= fds[i + 1].fd >= 0 && (rests || fds[i + 1].revents) && accept_some(h, i) < 0;
        rests = refused ? rests + 1 : 0;
        if (rests % LOST_RESTS == LOST_RESTS - 1)
            forget_lost(h);
    }
    return NULL;
}

int accept_start(struct http *h)
{
    h->accept_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (h->accept_wake < 0)
        return -errno;
    int rc = pthread_create(&h->acceptor, NULL, run, h);
    h->accepting = rc == 0;
    return -rc;
}

void accept_wake(struct http *h)
{
    eventfd_write(h->accept_wake, 1);
}

/* libmicrohttpd closes what it was given and has not looked at yet without a lock, and its client
 * would hear nothing. */
void accept_stop(struct http *h)
{
    if (!h->accepting)
        return;
    h->accepting = false;
    atomic_store(&h->accept_ends, true);
    accept_wake(h);
    pthread_join(h->acceptor, NULL);
    for (int ms = 0; ms < LOST_RESTS * REST_MS && count_handed(h); ms += STEP_MS)
        usleep(STEP_MS * 1000);
}
