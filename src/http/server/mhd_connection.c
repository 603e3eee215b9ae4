/* mhd_connection.c - connections: the peer, what they do now, and the limit for one client. */
#include "http/server/mhd_connection.h"

#include "http/access/viewer.h"
#include "http/metrics/metrics.h"
#include "http/server/mhd_tls.h"
#include "http/server/server.h"
#include "http/server/site.h"
#include "http/server/sockets.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct connection *connection_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void connection_set_state(struct MHD_Connection *c, enum connection_state state)
{
    struct connection *known = connection_of(c);
    if (!known)
        return;
    atomic_store(&known->since_ns, clock_mono_ns());
    atomic_store(&known->state, state);
}

/* ---- the peer -------------------------------------------------------------------------------- */

static enum access_role role_of(struct exchange *x, const struct access_peer *peer, int64_t *until)
{
    const struct http_options *o = &x->http->options;
    pthread_rwlock_rdlock(&x->http->access_lock);
    enum access_role role = access_peer_role(peer, o);
    pthread_rwlock_unlock(&x->http->access_lock);
    *until = INT64_MAX;
    if (role >= ACCESS_READ || !o->tls.client_ca)
        return role;
    int64_t known_until = tls_knows_client(x->connection);
    if (known_until < 0)
        return role;
    *until = known_until;
    return ACCESS_READ;
}

enum access_role connection_meet(struct exchange *x, struct connection *known)
{
    const struct http_options *o = &x->http->options;
    unsigned epoch = atomic_load(&x->http->access_epoch);
    if (known->peer.lookup_failed) {
        access_peer_find(known->fd, &known->peer);
        known->role = ACCESS_UNKNOWN;
    }
    bool expired = known->role_until < INT64_MAX && (int64_t)time(NULL) > known->role_until;
    if (known->role == ACCESS_UNKNOWN || known->role_epoch != epoch || expired) {
        known->role = role_of(x, &known->peer, &known->role_until);
        viewer_unref(known->viewer);
        known->viewer = o->file_permissions ? viewer_of(x->fd, &known->peer) : NULL;
    }
    known->role_epoch = epoch;
    x->rq.viewer = viewer_ref(known->viewer);
    x->rq.client = clients_find(x->http->exchanges.clients, &known->peer);
    return known->role;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* True for a client that has reached its limit and is no admin. */
static bool is_too_many(struct http *h, struct connection *known)
{
    pthread_rwlock_rdlock(&h->access_lock);
    bool admin = access_peer_role(&known->peer, &h->options) == ACCESS_ADMIN;
    pthread_rwlock_unlock(&h->access_lock);
    unsigned before = known->client ? atomic_fetch_add(&known->client->connections, 1) : 0;
    return !admin && before >= h->options.limits.client_connections;
}

/* Answers without waiting for a request; libmicrohttpd then closes the connection. With TLS there
 * is no answer. */
static void turn_away(struct http *h, const struct connection *known)
{
    static const char text[] =
        "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 1\r\n"
        "Content-Type: application/problem+json\r\nContent-Length: 113\r\n\r\n"
        "{\"type\":\"about:blank\",\"title\":\"Too Many Requests\",\"status\":429,"
        "\"detail\":\"too many connections from this client\"}\n";
    if (!h->options.tls.cert || known->peer.place == ACCESS_UNIX)
        (void)!send(known->fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(known->fd, SHUT_RDWR);
    metrics_turned_away(known->site->context.metrics);
}

static void connection_begins(struct io_thread *io_thread, struct MHD_Connection *c, void **context)
{
    struct http *h = io_thread->http;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *known = calloc(1, sizeof *known);
    *context = known;
    if (!known)
        return;
    known->fd = info ? info->connect_fd : -1;
    known->io_thread = io_thread;
    known->mhd = c;
    known->site = site_of(h, known->fd);
    access_peer_find(known->fd, &known->peer);
    known->client = clients_find(h->exchanges.clients, &known->peer);
    if (is_too_many(h, known))
        turn_away(h, known);
    atomic_store(&known->since_ns, clock_mono_ns());
    atomic_store(&known->state, CONNECTION_ARRIVING);
    pthread_mutex_lock(&h->connections_lock);
    known->next = h->connections;
    if (h->connections)
        h->connections->prev = known;
    h->connections = known;
    pthread_mutex_unlock(&h->connections_lock);
}

static void connection_ends(struct http *h, void **context)
{
    struct connection *known = *context;
    *context = NULL;
    if (!known)
        return;
    pthread_mutex_lock(&h->connections_lock);
    *(known->prev ? &known->prev->next : &h->connections) = known->next;
    if (known->next)
        known->next->prev = known->prev;
    pthread_mutex_unlock(&h->connections_lock);
    viewer_unref(known->viewer);
    if (known->client)
        atomic_fetch_sub(&known->client->connections, 1);
    clients_release(h->exchanges.clients, known->client);
    free(known);
}

void connection_notify(void *arg, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode code)
{
    struct io_thread *io_thread = arg;
    bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    accept_note(io_thread, info->client_addr->sa_family == AF_UNIX, begins);
    if (begins)
        connection_begins(io_thread, c, context);
    else
        connection_ends(io_thread->http, context);
}
