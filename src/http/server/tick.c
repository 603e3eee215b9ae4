/* tick.c - the timer thread, every 50 ms: disconnected clients, requests that wait for the index,
 * deadlines, late requests.
 *
 * A suspended connection never notices that its client has disconnected, so the sockets of all
 * unfinished requests are polled for POLLRDHUP under the table's lock: a request leaves the table
 * before its socket is closed.
 */
#include "http/access/verdicts.h"
#include "http/metrics/metrics.h"
#include "http/server/server.h"

#include "dftracerd/failpoint.h"
#include "dftracerd/vec.h"

#include <malloc.h>
#include <poll.h>

#define TICK_NS (50 * 1000000ll)
#define SOON_NS (10 * 1000000ll)  /* between two ticks while the index keeps changing */
#define WAKE_NS (100 * 1000000ll) /* minimum time between two notifications of followers... */
#define EACH_NS (5 * 1000000ll)   /* ...and the addition for each unfinished request */
#define DEAD_NS 1000000000ll      /* between two checks of connections; also their minimum age */

/* When followers and parked requests are notified of changes of the index: the more requests there
 * are, the less often. */
struct pace {
    int64_t now, recheck_gap, wake_gap;
};

static void check_unfinished(struct exchange *x, const struct pace *pace)
{
    pthread_mutex_lock(&x->lock);
    enum exchange_phase phase = x->phase;
    int64_t own = x->until_ns, limit = phase == EXCHANGE_PARKED ? 0 : x->rq.budget.deadline_ns;
    pthread_mutex_unlock(&x->lock);
    if (phase == EXCHANGE_STREAMING) {
        exchange_close_cancelled(x, pace->now);
        exchange_wake(x, pace->now, pace->wake_gap);
        if (exchange_trim(x, pace->now))
            x->http->tick_trim = 2;
    }
    if (phase < EXCHANGE_PARKED || phase > EXCHANGE_WORKING)
        return;
    if ((own && pace->now >= own) || (limit && pace->now >= limit))
        exchange_cancel(x, ERR_DEADLINE, false);
    else
        exchange_recheck(x, pace->now, pace->recheck_gap);
}

/* Without memory for all of them this tick does nothing. */
static void tick(struct http *h)
{
    VEC(struct exchange *) all = {0}; /* a reference to each unfinished request */
    VEC(struct pollfd) fds = {0};
    failpoint("http.tick");
    pthread_mutex_lock(&h->exchanges.lock);
    size_t n = h->exchanges.count;
    bool room = vec_reserve(&all, n) == 0 && vec_reserve(&fds, n) == 0;
    for (struct exchange *x = room ? h->exchanges.first : NULL; x; x = x->next) {
        pthread_mutex_lock(&x->lock);
        x->refs++;
        pthread_mutex_unlock(&x->lock);
        all.at[all.count++] = x;
        fds.at[fds.count++] = (struct pollfd){.fd = x->fd, .events = POLLRDHUP};
    }
    bool any = fds.count && poll(fds.at, fds.count, 0) > 0;
    pthread_mutex_unlock(&h->exchanges.lock);
    struct pace pace = {clock_mono_ns(), (int64_t)n * EACH_NS, WAKE_NS + (int64_t)n * EACH_NS};
    for (size_t i = 0; i < all.count; i++) {
        if (any && (fds.at[i].revents & (POLLRDHUP | POLLHUP | POLLERR)))
            exchange_cancel(all.at[i], ERR_CANCELLED, true);
        else
            check_unfinished(all.at[i], &pace);
        exchange_unref(all.at[i]);
    }
    vec_done(&fds);
    vec_done(&all);
}

static bool is_closed_by_peer(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* libmicrohttpd reports a first line only when it is complete. Until then a connection that has
 * answered a request looks like one that waits for the next; libmicrohttpd itself closes
 * connections that sent nothing within their time. */
static bool is_late(const struct connection *c, int64_t age, const struct http_limits *l)
{
    int64_t arrival = l->arrival_ms * 1000000, idle = l->idle_ms * 1000000 + DEAD_NS;
    int state = atomic_load(&c->state);
    return (state == CONNECTION_ARRIVING && age > arrival) ||
           (state == CONNECTION_IDLE && age > idle + arrival);
}

/* libmicrohttpd keeps two kinds of dead connections: those of clients that send a byte now and then
 * (each restarts its timeout), and those whose end arrived together with the last bytes (it reads
 * edge-triggered and does not check again). Shutting the socket down makes it close the connection.
 */
static void cut_dead_connections(struct http *h)
{
    int64_t now = clock_mono_ns();
    pthread_mutex_lock(&h->connections_lock);
    for (struct connection *c = h->connections; c; c = c->next) {
        int state = atomic_load(&c->state);
        int64_t age = now - atomic_load(&c->since_ns);
        if (state == CONNECTION_BUSY || age < DEAD_NS)
            continue;
        if (is_late(c, age, &h->options.limits) || is_closed_by_peer(c->fd))
            shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&h->connections_lock);
}

/* Returns memory that streams gave back to the system once a second; otherwise malloc would keep it
 * in the arenas of threads. */
static void trim_memory(struct http *h)
{
    if (!h->tick_trim || --h->tick_trim)
        return;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Waits for the next tick; returns false at the end. Caller holds tick_lock. */
static bool wait_for_tick(struct http *h, int64_t ticked_ns)
{
    while (!h->tick_stop) {
        int64_t due = ticked_ns + (h->tick_now ? SOON_NS : TICK_NS);
        if (clock_mono_ns() >= due)
            return true;
        clock_cond_wait(&h->tick_wake, &h->tick_lock, due);
    }
    return false;
}

static void tick_sites(struct http *h, int64_t now_ns)
{
    for (size_t i = 0; i < atomic_load(&h->sites.count); i++) {
        struct site *s = h->sites.list[i];
        if (site_enter(s)) {
            rate_tick(&s->context.metrics->rate, s->options.index, now_ns);
            verdicts_tidy(s->context.verdicts, now_ns);
        }
        site_leave(s);
    }
}

static void *tick_loop(void *arg)
{
    struct http *h = arg;
    int64_t ticked_ns = 0, checked_ns = 0;
    pulse_own(&h->tick_pulse);
    pthread_mutex_lock(&h->tick_lock);
    while (wait_for_tick(h, ticked_ns)) {
        h->tick_now = false;
        pthread_mutex_unlock(&h->tick_lock);
        ticked_ns = clock_mono_ns();
        pulse_beat_at(ticked_ns);
        tick(h);
        tick_sites(h, ticked_ns);
        if (ticked_ns - checked_ns > DEAD_NS) {
            cut_dead_connections(h);
            trim_memory(h);
            checked_ns = ticked_ns;
        }
        pthread_mutex_lock(&h->tick_lock);
    }
    pthread_mutex_unlock(&h->tick_lock);
    return NULL;
}

int tick_start(struct http *h)
{
    clock_cond_init(&h->tick_wake);
    int rc = pthread_create(&h->ticker, NULL, tick_loop, h);
    h->ticking = rc == 0;
    return -rc;
}

void tick_stop(struct http *h)
{
    if (!h->ticking)
        return;
    pthread_mutex_lock(&h->tick_lock);
    h->tick_stop = true;
    pthread_cond_signal(&h->tick_wake);
    pthread_mutex_unlock(&h->tick_lock);
    pthread_join(h->ticker, NULL);
}

void http_index_changed(struct http *h)
{
    atomic_fetch_add(&h->exchanges.changes, 1);
    pthread_mutex_lock(&h->tick_lock);
    h->tick_now = true;
    pthread_cond_signal(&h->tick_wake);
    pthread_mutex_unlock(&h->tick_lock);
}
