/* server.c - libmicrohttpd: daemons, callbacks, start and stop. One daemon for each listening socket. */
#include "server.h"
#include "problem.h"

#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- what exchanges ask of the server ---- */

struct pool *http_pool(struct http *h)
{
    return h->pool;
}

void http_suspend(struct exchange *x)
{
    x->suspended = true;
    MHD_suspend_connection(x->connection);
}

void http_resume(struct exchange *x)
{
    if (!x->suspended || !x->connection)
        return;
    x->suspended = false;
    MHD_resume_connection(x->connection);
}

void http_opened(struct exchange *x)
{
    atomic_fetch_sub(&x->http->opens, 1);
}

/* ---- the table of unfinished requests ---- */

static void table_add(struct exchange *x)
{
    struct http *h = x->http;
    pthread_mutex_lock(&h->table_lock);
    x->next = h->table;
    if (h->table)
        h->table->prev = x;
    h->table = x;
    h->table_count++;
    x->listed = true;
    pthread_mutex_unlock(&h->table_lock);
}

static void table_remove(struct exchange *x)
{
    struct http *h = x->http;
    pthread_mutex_lock(&h->table_lock);
    if (x->listed) {
        *(x->prev ? &x->prev->next : &h->table) = x->next;
        if (x->next)
            x->next->prev = x->prev;
        h->table_count--;
        x->listed = false;
    }
    pthread_mutex_unlock(&h->table_lock);
}

/* ---- a request comes in ---- */

static void *on_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
    (void)c;
    return exchange_new(arg, uri);
}

static void set_id(struct exchange *x, const char *given)
{
    static const char sane[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
    size_t n = given ? strlen(given) : 0;
    if (n >= 1 && n <= 64 && strspn(given, sane) == n) {
        memcpy(x->id, given, n + 1);
        return;
    }
    uint64_t r[2] = {0};
    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
        r[0] = (uint64_t)clock_mono_ns();
    snprintf(x->id, sizeof x->id, "%016llx%016llx", (unsigned long long)r[0], (unsigned long long)r[1]);
}

/* Who the peer is, found out once a connection. */
static enum access_peer peer_of(struct exchange *x, struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    enum access_peer *known = info ? info->socket_context : NULL;
    if (!known)
        return access_peer_of(x->fd, &x->http->options);
    if (*known == ACCESS_UNKNOWN)
        *known = access_peer_of(x->fd, &x->http->options);
    return *known;
}

static int begin(struct exchange *x, struct MHD_Connection *c, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct exchange_refusal why = {0};
    x->connection = c;
    x->method = method;
    x->fd = info ? info->connect_fd : -1;
    x->rq.http = &x->http->context;
    set_id(x, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Request-Id"));
    if (!request_check(x, c, version, peer_of(x, c), &why))
        return response_refuse(x, c, &why);
    return MHD_YES;
}

static int take_body(struct exchange *x, const char *data, size_t *len)
{
    if (!x->refused && x->body.len + *len <= HTTP_BODY_MAX)
        buf_append(&x->body, data, *len);
    else if (!x->refused)
        x->body.len = HTTP_BODY_MAX + 1;           /* told when all of it has come */
    *len = 0;
    return MHD_YES;
}

static int answer_options(struct exchange *x, struct MHD_Connection *c)
{
    char allow[80];
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (!r)
        return MHD_NO;
    router_allow(x->rq.endpoint, allow, sizeof allow);
    MHD_add_response_header(r, "Allow", allow);
    MHD_add_response_header(r, "X-Request-Id", x->id);
    x->status = 204;
    int rc = MHD_queue_response(c, 204, r);
    MHD_destroy_response(r);
    return rc;
}

/* Cheap endpoints: made here and now. */
static int answer_now(struct exchange *x, struct MHD_Connection *c)
{
    int rc = x->rq.endpoint->open(&x->rq);
    while (rc == 0)
        rc = x->rq.endpoint->next(&x->rq, &x->pending);
    x->ended = true;
    x->error = rc == ERR_END ? x->pending.error : rc;
    x->coding = CODING_IDENTITY;
    return response_answer(x, c);
}

static bool admit(struct http *h)
{
    unsigned most = h->options.limits.requests + h->options.limits.queue;
    if (atomic_fetch_add(&h->opens, 1) < most && !atomic_load(&h->stopping))
        return true;
    atomic_fetch_sub(&h->opens, 1);
    return false;
}

static void set_budget(struct exchange *x)
{
    const struct http_limits *l = &x->http->options.limits;
    const struct param *timeout = request_param(&x->rq, "timeout");
    int64_t ns = l->query_time_ms * 1000000;
    if (timeout && timeout->set && timeout->ns < ns)
        ns = timeout->ns;
    x->rq.budget.deadline_ns = clock_mono_ns() + ns;
    x->rq.budget.memory_limit = l->query_memory;
}

/* The message is whole and good: to a worker, or aside until the index is ready. */
static int dispatch(struct exchange *x, struct MHD_Connection *c)
{
    const char *wait = request_text(&x->rq, "wait");
    bool park = wait && strcmp(wait, "ready") == 0 && !tick_index_ready(x->http);
    set_budget(x);
    if (!park) {
        x->rq.snapshot = index_snapshot(x->http->options.index);
        int rc = response_not_modified(x, c);
        if (rc != -ENOENT)
            return rc;
    }
    if (!admit(x->http)) {
        struct exchange_refusal why = {.status = 503, .detail = "too many requests are waiting; try again"};
        return response_refuse(x, c, &why);
    }
    pthread_mutex_lock(&x->lock);
    x->phase = EXCHANGE_PARKED;
    int rc = park ? 0 : exchange_submit_open(x);
    if (rc == 0)
        http_suspend(x);
    pthread_mutex_unlock(&x->lock);
    if (rc < 0)
        return http_opened(x), MHD_NO;
    table_add(x);
    return MHD_YES;
}

static int finish_message(struct exchange *x, struct MHD_Connection *c)
{
    struct exchange_refusal why = {0};
    if (x->body.len > HTTP_BODY_MAX) {
        why = (struct exchange_refusal){.status = 413, .detail = "the body is longer than 1 MiB"};
        return response_refuse(x, c, &why);
    }
    if (strcmp(x->method, "OPTIONS") == 0)
        return answer_options(x, c);
    if (!request_parse(x, c, &why))
        return response_refuse(x, c, &why);
    return x->rq.endpoint->immediate ? answer_now(x, c) : dispatch(x, c);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *len, void **state)
{
    struct exchange *x = *state;
    (void)arg, (void)url;
    if (!x)
        return MHD_NO;
    if (!x->connection)
        return (enum MHD_Result)begin(x, c, method, version);
    if (*len)
        return (enum MHD_Result)take_body(x, data, len);
    if (x->refused)
        return MHD_YES;
    pthread_mutex_lock(&x->lock);
    enum exchange_phase phase = x->phase;
    bool gone = x->gone;
    pthread_mutex_unlock(&x->lock);
    if (gone)
        return MHD_NO;
    if (phase == EXCHANGE_READY)
        return (enum MHD_Result)response_answer(x, c);
    return phase == EXCHANGE_RECEIVING ? (enum MHD_Result)finish_message(x, c) : MHD_YES;
}

/* ---- a request or a connection is over ---- */

static void log_access(struct exchange *x, enum MHD_RequestTerminationCode why)
{
    const struct http_options *o = &x->http->options;
    if (!o->log)
        return;
    struct buf line = {0};
    double ms = (double)(clock_mono_ns() - x->rq.started_ns) / 1e6;
    buf_printf(&line, "request id=%s method=%s path=", x->id, x->method ? x->method : "-");
    jw_escape(&line, text_of(x->path ? x->path : x->uri));
    buf_printf(&line, " status=%d bytes=%llu ms=%.1f%s", x->status, (unsigned long long)x->sent, ms,
               why == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "" : " cut=true");
    buf_putc(&line, '\0');
    if (!line.error)
        o->log(o->log_arg, 6, line.data);
    buf_done(&line);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *state;
    (void)arg, (void)c;
    if (!x)
        return;
    *state = NULL;
    table_remove(x);
    budget_cancel(&x->rq.budget, ERR_CANCELLED);
    pthread_mutex_lock(&x->lock);
    bool parked = x->phase == EXCHANGE_PARKED;
    x->phase = parked ? EXCHANGE_READY : x->phase;
    x->connection = NULL;
    pthread_mutex_unlock(&x->lock);
    if (parked)
        http_opened(x);
    log_access(x, why);
    exchange_unref(x);
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode code)
{
    (void)arg, (void)c;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = calloc(1, sizeof(enum access_peer));
    } else {
        free(*context);
        *context = NULL;
    }
}

/* The raw URI is taken apart by params.c; libmicrohttpd's own decoding is not used. */
static size_t keep_escapes(void *arg, struct MHD_Connection *c, char *s)
{
    (void)arg, (void)c;
    return strlen(s);
}

static void quiet(void *arg, const char *fmt, va_list ap)
{
    (void)arg, (void)fmt, (void)ap;
}

/* ---- start and stop ---- */

static struct MHD_Daemon *start_daemon(struct http *h, int fd)
{
    unsigned threads = pool_threads(h->pool) > 1 ? 2 : 1;
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request,
        h, MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, threads,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)40 << 10, MHD_OPTION_CONNECTION_TIMEOUT, 120u,
        MHD_OPTION_CONNECTION_LIMIT, h->options.limits.connections, MHD_OPTION_END);
}

static void fill_limits(struct http_limits *l, unsigned workers)
{
    l->requests = l->requests ? l->requests : 2 * workers;
    l->queue = l->queue ? l->queue : 256;
    l->query_time_ms = l->query_time_ms ? l->query_time_ms : 300000;
    l->query_memory = l->query_memory ? l->query_memory : (size_t)1 << 30;
    l->total_memory = l->total_memory ? l->total_memory : (size_t)4 << 30;
    l->connections = l->connections ? l->connections : 10000;
}

static int prepare(struct http *h, const struct http_options *o, struct err *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned workers = o->workers ? o->workers : cpus > 0 ? (unsigned)cpus : 1;
    h->options = *o;
    fill_limits(&h->options.limits, workers);
    pthread_mutex_init(&h->table_lock, NULL);
    pthread_mutex_init(&h->tick_lock, NULL);
    for (size_t i = 0; i < HTTP_LISTENERS_MAX; i++)
        h->fds[i] = -1;
    int rc = pool_new(workers, "query", &h->pool);
    if (rc < 0)
        return err_set(err, rc, "cannot start query workers: %s", err_text(rc));
    h->context = (struct http_context){
        .options = &h->options,
        .env = {.index = o->index, .pool = h->pool, .root_paths = o->root_paths, .root_labels = o->root_labels, .root_count = o->root_count},
        .started_ns = clock_mono_ns(),
    };
    return 0;
}

int http_start(const struct http_options *options, struct err *err, struct http **ret)
{
    struct http *h = calloc(1, sizeof *h);
    if (!h)
        return -ENOMEM;
    int rc = prepare(h, options, err);
    if (rc == 0)
        rc = listen_all(h, err);
    if (rc == 0)
        rc = tick_start(h);
    for (size_t i = 0; rc == 0 && i < h->listeners; i++) {
        h->daemons[i] = start_daemon(h, h->fds[i]);
        if (!h->daemons[i])
            rc = err_set(err, -EIO, "libmicrohttpd cannot start");
    }
    if (rc < 0)
        http_stop(h, 0);
    else
        *ret = h;
    return rc;
}

size_t http_urls(const struct http *h, const char *const **ret)
{
    *ret = (const char *const *)h->urls;
    return h->url_count;
}

static void cancel_all(struct http *h)
{
    pthread_mutex_lock(&h->table_lock);
    atomic_store(&h->stopping, true);
    for (struct exchange *x = h->table; x; x = x->next)
        exchange_cancel(x, ERR_CANCELLED, false);
    pthread_mutex_unlock(&h->table_lock);
}

static bool table_empty(struct http *h)
{
    pthread_mutex_lock(&h->table_lock);
    bool empty = h->table_count == 0;
    pthread_mutex_unlock(&h->table_lock);
    return empty;
}

void http_stop(struct http *h, int grace_ms)
{
    if (!h)
        return;
    /* libmicrohttpd aborts the process when it is stopped with suspended connections: quiesce, cancel, resume, wait. */
    for (size_t i = 0; i < h->listeners; i++)
        if (h->daemons[i])
            MHD_quiesce_daemon(h->daemons[i]);
    cancel_all(h);
    for (int ms = 0; ms < grace_ms && !table_empty(h); ms += 5)
        usleep(5000);
    pthread_mutex_lock(&h->table_lock);
    for (struct exchange *x = h->table; x; x = x->next)
        exchange_cancel(x, ERR_CANCELLED, true);
    pthread_mutex_unlock(&h->table_lock);
    pool_free(h->pool);
    tick_stop(h);
    for (size_t i = 0; i < h->listeners; i++)
        if (h->daemons[i])
            MHD_stop_daemon(h->daemons[i]);
    listen_close(h);
    pthread_mutex_destroy(&h->table_lock);
    pthread_mutex_destroy(&h->tick_lock);
    free(h);
}
