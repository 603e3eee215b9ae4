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
    struct connection *connection = connection_of(c);
    if (!connection)
        return;
    atomic_store(&connection->since_ns, clock_mono_ns());
    atomic_store(&connection->state, state);
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
    int64_t known_until = tls_client_expires(x->connection);
    if (known_until < 0)
        return role;
    *until = known_until;
    return ACCESS_READ;
}

enum access_role connection_identify(struct exchange *x, struct connection *connection)
{
    const struct http_options *o = &x->http->options;
    unsigned epoch = atomic_load(&x->http->access_epoch);
    if (connection->peer.lookup_failed) {
        access_peer_find(connection->fd, &connection->peer);
        connection->role = ACCESS_UNKNOWN;
    }
    bool expired =
        connection->role_until < INT64_MAX && (int64_t)time(NULL) > connection->role_until;
    if (connection->role == ACCESS_UNKNOWN || connection->role_epoch != epoch || expired) {
        connection->role = role_of(x, &connection->peer, &connection->role_until);
        viewer_unref(connection->viewer);
        connection->viewer = o->file_permissions ? viewer_of(x->fd, &connection->peer) : NULL;
    }
    connection->role_epoch = epoch;
    x->rq.viewer = viewer_ref(connection->viewer);
    x->rq.client = clients_find(x->http->exchanges.clients, &connection->peer);
    return connection->role;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Counts the connection for its client. Returns false if the client has too many now; admins
 * have no limit. */
static bool count_connection(struct http *h, struct connection *connection)
{
    pthread_rwlock_rdlock(&h->access_lock);
    bool admin = access_peer_role(&connection->peer, &h->options) == ACCESS_ADMIN;
    pthread_rwlock_unlock(&h->access_lock);
    unsigned before =
        connection->client ? atomic_fetch_add(&connection->client->connections, 1) : 0;
    return admin || before < h->options.limits.client_connections;
}

/* Answers without waiting for a request; libmicrohttpd then closes the connection. With TLS there
 * is no answer. */
static void refuse_connection(struct http *h, const struct connection *connection)
{
    static const char text[] =
        "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 1\r\n"
        "Content-Type: application/problem+json\r\nContent-Length: 113\r\n\r\n"
        "{\"type\":\"about:blank\",\"title\":\"Too Many Requests\",\"status\":429,"
        "\"detail\":\"too many connections from this client\"}\n";
    if (!h->options.tls.cert || connection->peer.place == ACCESS_UNIX)
        (void)!send(connection->fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(connection->fd, SHUT_RDWR);
    metrics_connection_refused(connection->site->context.metrics);
}

static void connection_begins(struct io_thread *io_thread, struct MHD_Connection *c, void **context)
{
    struct http *h = io_thread->http;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *connection = calloc(1, sizeof *connection);
    *context = connection;
    if (!connection)
        return;
    connection->fd = info ? info->connect_fd : -1;
    connection->io_thread = io_thread;
    connection->mhd = c;
    connection->site = site_of(h, connection->fd);
    access_peer_find(connection->fd, &connection->peer);
    connection->client = clients_find(h->exchanges.clients, &connection->peer);
    if (!count_connection(h, connection))
        refuse_connection(h, connection);
    atomic_store(&connection->since_ns, clock_mono_ns());
    atomic_store(&connection->state, CONNECTION_ARRIVING);
    pthread_mutex_lock(&h->connections_lock);
    connection->next = h->connections;
    if (h->connections)
        h->connections->prev = connection;
    h->connections = connection;
    pthread_mutex_unlock(&h->connections_lock);
}

static void connection_ends(struct http *h, void **context)
{
    struct connection *connection = *context;
    *context = NULL;
    if (!connection)
        return;
    pthread_mutex_lock(&h->connections_lock);
    *(connection->prev ? &connection->prev->next : &h->connections) = connection->next;
    if (connection->next)
        connection->next->prev = connection->prev;
    pthread_mutex_unlock(&h->connections_lock);
    viewer_unref(connection->viewer);
    if (connection->client)
        atomic_fetch_sub(&connection->client->connections, 1);
    clients_release(h->exchanges.clients, connection->client);
    free(connection);
}

void connection_notify(void *arg, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode code)
{
    struct io_thread *io_thread = arg;
    bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    accept_count(io_thread, info->client_addr->sa_family == AF_UNIX, begins);
    if (begins)
        connection_begins(io_thread, c, context);
    else
        connection_ends(io_thread->http, context);
}
