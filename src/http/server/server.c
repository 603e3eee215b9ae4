/* server.c - start and stop. */
#include "http/server/server.h"

#include "http/server/context.h"
#include "http/server/mhd_message.h"
#include "http/server/mhd_tls.h"
#include "http/server/site.h"
#include "http/server/sockets.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- start ----------------------------------------------------------------------------------- */

static int add_first_site(struct http *h)
{
    const struct http_options *o = &h->options;
    struct http_site s = {.index = o->index,
                          .root_labels = o->root_labels,
                          .root_paths = o->root_paths,
                          .root_count = o->root_count,
                          .unix_path = o->unix_path,
                          .output_dir = o->output_dir,
                          .scanned_since = o->scanned_since,
                          .scanned_since_arg = o->scanned_since_arg};
    int rc = site_new(h, &s, &h->sites.list[0]);
    if (rc == 0)
        atomic_store(&h->sites.count, 1);
    return rc;
}

static int prepare_server(struct http *h, const struct http_options *o, struct err *err)
{
    unsigned workers = o->workers ? o->workers : cpu_count();
    h->options = *o;
    context_fill_limits(&h->options.limits, workers);
    h->exchanges.transport = &callbacks_transport;
    h->exchanges.limits = &h->options.limits;
    h->exchanges.memory.limit = h->options.limits.total_memory;
    atomic_store(&h->exchanges.last_ns, clock_mono_ns());
    pthread_rwlock_init(&h->access_lock, NULL);
    pthread_mutex_init(&h->exchanges.lock, NULL);
    clock_cond_init(&h->exchanges.left);
    pthread_mutex_init(&h->compressed_lock, NULL);
    pthread_mutex_init(&h->connections_lock, NULL);
    pthread_mutex_init(&h->tick_lock, NULL);
    for (size_t i = 0; i < HTTP_LISTENERS_MAX; i++)
        h->fds[i] = -1;
    h->accept_wake = -1;
    int rc = pool_new(workers, "query", &h->pool);
    if (rc < 0)
        return err_set(err, rc, "cannot start query workers: %s", err_text(rc));
    h->started_ns = clock_mono_ns();
    h->started_real_ns = clock_real_ns();
    h->spools.limit = h->options.limits.spool_bytes;
    h->cache = cache_new(h->options.limits.answer_memory);
    h->exchanges.clients = clients_new(h->options.limits.client_memory, &h->exchanges.memory);
    return h->cache && h->exchanges.clients ? add_first_site(h) : -ENOMEM;
}

/* Starts the I/O threads with or without TLS, if there is a socket for them. On two processors one
 * thread can send as much as the workers compute; of two, one would wait for the other and for the
 * workers, and its clients would come last. */
static int start_io_threads(struct http *h, bool tls, struct err *err)
{
    bool any = false;
    for (size_t i = 0; i < h->listeners; i++)
        any |= h->is_tls[i] == tls;
    unsigned threads = !any ? 0 : pool_threads(h->pool) > 2 ? 2 : 1;
    for (unsigned i = 0; i < threads; i++) {
        struct io_thread *c = &h->io_threads[h->io_thread_count];
        *c = (struct io_thread){.http = h, .tls = tls};
        errno = EIO;
        c->daemon = callbacks_start(c);
        if (!c->daemon) {
            int rc = -errno;
            return err_set(err, rc, "cannot start libmicrohttpd: %s", err_text(rc));
        }
        h->io_thread_count++;
    }
    return 0;
}

int http_start(const struct http_options *options, struct err *err, struct http **ret)
{
    struct http *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(err, -ENOMEM, "out of memory");
    int rc = prepare_server(h, options, err);
    int listening = listen_all(h, err); /* always called, because it closes the inherited sockets */
    if (rc == 0)
        rc = listening;
    if (rc == 0)
        rc = tls_use(&options->tls, err);
    atomic_store(&h->facts.tls_expires, tls_expires());
    if (rc == 0)
        rc = tick_start(h);
    for (int tls = 0; rc == 0 && tls < 2; tls++)
        rc = start_io_threads(h, tls, err);
    if (rc == 0)
        rc = accept_start(h);
    if (rc == 0)
        return *ret = h, 0;
    http_stop(h, 0, 0);
    return err_set(err, rc, "cannot start the HTTP server: %s",
                   err_text(rc)); /* if there is no text yet */
}

size_t http_urls(const struct http *h, const char *const **ret)
{
    *ret = (const char *const *)h->urls;
    return h->url_count;
}

/* ---- while it runs --------------------------------------------------------------------------- */

int http_reload(struct http *h, const struct http_settings *s)
{
    size_t bytes = s->allow_user_count * sizeof *s->allow_users;
    struct arena own = {0};
    struct err ignored = {0};
    const char *token = s->token ? arena_strdup(&own, text_of(s->token)) : NULL;
    const char *admin_token = s->admin_token ? arena_strdup(&own, text_of(s->admin_token)) : NULL;
    uid_t *users = arena_alloc(&own, bytes);
    int rc = own.error;
    if (rc == 0 && h->options.tls.cert && s->tls.cert && tls_use(&s->tls, &ignored) < 0)
        rc = -EINVAL;
    err_done(&ignored);
    if (rc < 0) {
        arena_done(&own);
        return rc;
    }
    if (bytes)
        memcpy(users, s->allow_users, bytes);
    atomic_store(&h->facts.tls_expires, tls_expires());
    pthread_rwlock_wrlock(&h->access_lock);
    arena_done(&h->reloaded);
    h->reloaded = own;
    h->options.token = token;
    h->options.admin_token = admin_token;
    h->options.allow_users = users;
    h->options.allow_user_count = s->allow_user_count;
    atomic_fetch_add(&h->access_epoch, 1);
    pthread_rwlock_unlock(&h->access_lock);
    int64_t query_time_ms = s->query_time_ms ? s->query_time_ms : 300000;
    __atomic_store_n(&h->options.limits.query_time_ms, query_time_ms, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < atomic_load(&h->sites.count); i++)
        site_limit_time(h->sites.list[i], query_time_ms);
    return 0;
}

int64_t http_idle_ns(struct http *h)
{
    return exchanges_any(&h->exchanges, NULL)
               ? 0
               : clock_mono_ns() - atomic_load(&h->exchanges.last_ns);
}

int64_t http_silence_ns(const struct http *h)
{
    int64_t workers = pool_silence_ns(h->pool), tick = pulse_silence_ns(&h->tick_pulse);
    return workers > tick ? workers : tick;
}

/* ---- stop ------------------------------------------------------------------------------------ */

/* True if a client waits to be accepted or for an answer, or has not sent its request yet. */
static bool has_active_clients(struct http *h)
{
    bool any = exchanges_any(&h->exchanges, NULL);
    for (size_t i = 0; i < h->listeners && !any; i++) {
        struct pollfd p = {.fd = h->fds[i], .events = POLLIN};
        any = poll(&p, 1, 0) > 0;
    }
    pthread_mutex_lock(&h->connections_lock);
    for (struct connection *c = h->connections; c && !any; c = c->next)
        any = atomic_load(&c->state) != CONNECTION_IDLE;
    pthread_mutex_unlock(&h->connections_lock);
    return any;
}

void http_finish(struct http *h, int max_ms)
{
    enum { STEP_MS = 5, QUIET = 4 }; /* an accept in progress is not seen for a moment */
    int quiet = 0;
    for (int ms = 0; ms < max_ms && quiet < QUIET; ms += STEP_MS) {
        quiet = has_active_clients(h) ? 0 : quiet + 1;
        usleep(STEP_MS * 1000);
    }
}

void http_stop(struct http *h, int drain_ms, int grace_ms)
{
    if (!h)
        return;
    /* libmicrohttpd aborts the process when it is stopped with suspended connections: accept no
     * more, cancel, let the clients get their answers, cut the rest, and only then stop. No
     * connection can be suspended any more once `stopping` is set and all in the table are cut. */
    accept_stop(h);
    server_end_all(h, NULL, drain_ms, grace_ms);
    tick_stop(h);
    pool_free(h->pool);
    for (size_t i = 0; i < h->io_thread_count; i++)
        MHD_stop_daemon(h->io_threads[i].daemon);
    if (h->accept_wake >= 0)
        close(h->accept_wake);
    for (size_t i = 0; i < atomic_load(&h->sites.count); i++)
        site_free(h->sites.list[i]);
    cache_free(h->cache);
    clients_free(h->exchanges.clients);
    listen_close(h);
    if (h->options.tls.cert)
        tls_use(&(struct http_tls){0}, NULL);
    arena_done(&h->reloaded);
    for (size_t i = 0; i < CODINGS; i++)
        buf_done(&h->compressed[i].bytes);
    pthread_rwlock_destroy(&h->access_lock);
    pthread_cond_destroy(&h->exchanges.left);
    pthread_mutex_destroy(&h->exchanges.lock);
    pthread_mutex_destroy(&h->compressed_lock);
    pthread_mutex_destroy(&h->connections_lock);
    pthread_mutex_destroy(&h->tick_lock);
    free(h);
}
