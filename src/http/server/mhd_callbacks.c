/* mhd_callbacks.c - the callbacks of libmicrohttpd: a request's first line, its headers and body,
 * its end. */
#include "http/endpoints/endpoints.h"
#include "http/exchange/etag.h"
#include "http/exchange/readiness.h"
#include "http/exchange/steps.h"
#include "http/metrics/metrics.h"
#include "http/server/mhd_connection.h"
#include "http/server/mhd_message.h"
#include "http/server/mhd_tls.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>

#define BODY_IGNORED_MAX \
    (16u << 20) /* bytes of a too long body that are read before the connection is closed */

#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* ---- begin of a request ---------------------------------------------------------------------- */

static void set_id(struct exchange *x, const char *given)
{
    static _Thread_local uint64_t thread[2];
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
    size_t n = given ? strlen(given) : 0;
    if (n >= 1 && n <= 64 && strspn(given, allowed) == n) {
        memcpy(x->id, given, n + 1);
        return;
    }
    /* Unique but not secret: a random number for each thread, and a counter. */
    if (!thread[0] && getrandom(thread, sizeof thread, 0) != (ssize_t)sizeof thread)
        thread[0] = (uint64_t)clock_mono_ns() << 1 | 1;
    thread[1]++;
    hash128_hex(text_hash128((struct text){(const char *)thread, sizeof thread}), x->id);
}

/* libmicrohttpd has replaced the blank between method and URI by NUL, and passes only the URI. The
 * method is at the begin of the connection's memory, which consists of whole pages, or follows a
 * line, so nothing before the page is read. Returns NULL for an unknown method. */
static const char *method_before(const char *uri)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "OPTIONS", "DELETE"};
    const size_t room = (uintptr_t)uri % 4096;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        size_t n = strlen(methods[i]);
        if (room >= n + 1 && memcmp(uri - n - 1, methods[i], n + 1) == 0 &&
            (room == n + 1 || uri[-(ptrdiff_t)n - 2] == '\n'))
            return methods[i];
    }
    return NULL;
}

/* Refuses a request while libmicrohttpd is still reading its head. */
static void refuse_early(struct exchange *x, struct connection *connection, int status,
                         const char *detail)
{
    x->connection = connection->mhd;
    x->fd = connection->fd;
    connection->arriving = NULL;
    metrics_begun(x->site->context.metrics);
    if (!*x->id)
        set_id(x, NULL);
    response_raw(x, connection->mhd, status, detail);
}

static void *on_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
    struct connection *connection = connection_of(c);
    struct exchange *x = exchange_new(arg, uri);
    char *query = strchr((char *)(uintptr_t)uri, '?');
    connection_set_state(c, CONNECTION_ARRIVING);
    /* libmicrohttpd would parse the parameters into 64 bytes of the connection's memory each, and
     * answer nothing if that is too small. */
    if (query)
        query[1] = '\0';
    if (x) {
        x->site = connection ? connection->site : x->http->sites.list[0];
        x->rq.http = &x->site->context;
        site_enter(x->site); /* until x is freed */
    }
    if (!x || !connection)
        return x;
    x->method = method_before(uri);
    connection->arriving = x;
    if (strlen(x->uri) > 2 * HTTP_URI_MAX)
        refuse_early(x, connection, 414,
                     "the URL is longer than 16 KiB; send long queries by POST");
    return x;
}

static int refuse_unavailable(struct exchange *x, struct MHD_Connection *c, int code,
                              const char *detail)
{
    const struct exchange_refusal why = {
        .status = 503, .close = true, .detail = detail, .err = {.code = code}};
    return response_refuse(x, c, &why);
}

static int begin_message(struct exchange *x, struct MHD_Connection *c, const char *method,
                         const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct exchange_refusal why = {0};
    struct connection *connection = connection_of(c);
    x->connection = c;
    if (connection)
        connection->arriving = NULL;
    metrics_begun(x->site->context.metrics);
    x->method = method;
    x->fd = info ? info->connect_fd : -1;
    set_id(x, header_of(c, "X-Request-Id"));
    if (atomic_load(&x->site->ended))
        return refuse_unavailable(x, c, ERR_CANCELLED, "the daemon is stopping");
    enum access_role role = connection ? connection_identify(x, connection) : ACCESS_NONE;
    if (!x->rq.client)
        return refuse_unavailable(x, c, -ENOMEM, "out of memory");
    if (!request_check(x, c, version, role, &why))
        return why.status == 401 && connection->peer.lookup_failed
                   ? refuse_unavailable(x, c, 0, "out of file descriptors")
                   : response_refuse(x, c, &why);
    x->rq.budget.memory_limit = x->http->options.limits.query_memory;
    x->rq.budget.share = x->rq.admin ? &x->http->exchanges.memory : &x->rq.client->memory;
    return MHD_YES;
}

/* After each of these bytes of an upload, the time that a request has to arrive begins again. */
#define UPLOAD_PACE (1u << 20)

/* Bytes that do not fit are discarded, as those of a body that is too long. */
static int receive_upload(struct exchange *x, struct MHD_Connection *c, const char *data, size_t n)
{
    if (x->in.upload_error)
        return (x->in.body_bytes += n) <= BODY_IGNORED_MAX ? MHD_YES : MHD_NO;
    uint64_t before = spool_size(x->rq.upload);
    x->in.upload_error = spool_write(x->rq.upload, (struct text){data, n}, &x->rq.err);
    if (x->in.upload_error)
        spool_clear(x->rq.upload);
    else if (before / UPLOAD_PACE != (before + n) / UPLOAD_PACE)
        connection_set_state(c, CONNECTION_ARRIVING);
    return MHD_YES;
}

/* Memory for the body is charged to its client. */
static void keep_body(struct exchange *x, const char *data, size_t n)
{
    if (x->in.body_refused)
        return;
    if (budget_charge(&x->rq.budget, n) == 0) {
        buf_append(&x->in.body, data, n);
        return;
    }
    const struct budget_share *share = &x->rq.client->memory;
    bool own = !x->rq.admin && atomic_load(&share->used) + n > share->limit;
    x->in.body_refused = !atomic_load(&x->rq.budget.share_exceeded) ? 413 : own ? 429 : 503;
    budget_release(&x->rq.budget, x->in.body.len);
    buf_done(&x->in.body);
}

/* The request was answered before its body. A client that is still sending would not read the
 * answer if the connection was closed. */
static int drain_body(struct exchange *x, size_t *len)
{
    bool more = *len > 0;
    x->in.body_bytes += *len;
    *len = 0;
    return more && x->in.body_bytes <= BODY_IGNORED_MAX ? MHD_YES : MHD_NO;
}

/* A body that is too long is read and discarded up to a limit, for the same reason. */
static int receive_body(struct exchange *x, struct MHD_Connection *c, const char *data, size_t *len)
{
    size_t n = *len;
    *len = 0;
    if (x->rq.upload && !x->in.refusal)
        return receive_upload(x, c, data, n);
    x->in.body_bytes += n;
    if (x->in.body_bytes <= HTTP_BODY_MAX && !x->in.refusal)
        keep_body(x, data, n);
    return x->in.body_bytes <= BODY_IGNORED_MAX ? MHD_YES : MHD_NO;
}

static void read_if_none_match(struct exchange *x, struct MHD_Connection *c)
{
    const char *given = header_of(c, "If-None-Match");
    if (given && (x->in.head || strcmp(x->method, "GET") == 0))
        x->in.if_none_match = arena_strdup(&x->rq.arena, text_of(given));
}

static int compress_text(enum coding coding, struct text text, struct buf *out)
{
    struct encoder *e = NULL;
    int rc = encoder_new(coding, ENCODER_LEVEL, &e);
    if (rc == 0)
        rc = encoder_put(e, text, ENCODE_FINISH, out);
    encoder_free(e);
    return rc < 0 ? rc : out->error;
}

/* Compressing takes longer than the rest of the answer, and anybody may request it, so the result
 * is kept. Appends a copy. */
static int put_compressed(struct http *h, enum coding coding, struct text text, struct buf *out)
{
    struct compressed *p = &h->compressed[coding];
    pthread_mutex_lock(&h->compressed_lock);
    if (p->of != text.ptr) {
        buf_done(&p->bytes);
        p->of = compress_text(coding, text, &p->bytes) == 0 ? text.ptr : NULL;
    }
    int rc = p->of ? 0 : -ENOMEM;
    if (rc == 0)
        buf_append(out, p->bytes.data, p->bytes.len);
    pthread_mutex_unlock(&h->compressed_lock);
    return rc < 0 ? rc : out->error;
}

/* Prepares an answer that is the same for all: a 304 if the client has it, and compression. */
static void compress_fixed(struct exchange *x, struct MHD_Connection *c)
{
    etag_of_text(x, x->rq.fixed);
    read_if_none_match(x, c);
    x->not_modified = etag_matches(x->in.if_none_match, x->etag);
    if (x->not_modified || x->coding == CODING_IDENTITY)
        return;
    buf_done(&x->pending);
    x->error = put_compressed(x->http, x->coding, x->rq.fixed, &x->pending);
}

/* Answers a cheap endpoint on this thread. */
static int answer_now(struct exchange *x, struct MHD_Connection *c)
{
    int rc = steps_open(&x->rq);
    while (rc == 0)
        rc = x->rq.endpoint->next(&x->rq, &x->pending);
    x->output = OUTPUT_ENDED;
    x->error = rc == ERR_END ? x->pending.error : rc;
    if (x->rq.fixed.len && !x->error)
        compress_fixed(x, c);
    else
        x->coding = CODING_IDENTITY;
    return response_answer(x, c);
}

static int refuse_busy(struct exchange *x, struct MHD_Connection *c, int status, int code)
{
    struct exchange_refusal why = {.status = status, .err = {.code = code}};
    why.detail = status == 429
                     ? "this client has reached its limit of requests or memory; try again later"
                 : status == 413 ? "the body exceeds the memory limit of a query"
                 : code          ? "the daemon is stopping"
                                 : "too many requests are waiting; try again later";
    return response_refuse(x, c, &why);
}

/* The message is complete and valid: submit it to a worker, unless the answer is cached. */
static int dispatch(struct exchange *x, struct MHD_Connection *c)
{
    const struct param *timeout = request_param(&x->rq, "timeout");
    const char *wait = request_text(&x->rq, "wait");
    int64_t now = clock_mono_ns();
    read_if_none_match(x, c);
    if (timeout && timeout->set)
        x->until_ns = timeout->ns < INT64_MAX - now ? now + timeout->ns : INT64_MAX;
    /* True if a worker must first examine files, or check whether the index is ready. */
    bool park = x->rq.viewer != NULL;
    if (!park) {
        exchange_pin(x);
        bool ready = wait && strcmp(wait, "ready") == 0;
        park = (ready && !readiness_is_known(x->site, x->rq.snapshot)) ||
               readiness_wants_fresh(&x->rq);
        if (park)
            exchange_unpin(x);
    }
    if (!park && exchange_validate(x))
        return response_answer(x, c);
    if (!park && exchange_find(x))
        return exchanges_send(x) ? response_answer(x, c) : refuse_busy(x, c, 503, ERR_CANCELLED);
    int refused = exchanges_admit(x);
    if (refused)
        return refuse_busy(x, c, refused, 0);
    if (!park)
        exchange_set_deadline(x);
    if (!exchanges_start(x, park))
        return refuse_busy(x, c, 503, ERR_CANCELLED);
    return MHD_YES;
}

static int finish_message(struct exchange *x, struct MHD_Connection *c)
{
    struct exchange_refusal why = {0};
    if (x->in.body_bytes > HTTP_BODY_MAX && !x->rq.upload) {
        why = (struct exchange_refusal){.status = 413, .detail = "the body is longer than 1 MiB"};
        return response_refuse(x, c, &why);
    }
    if (x->in.body_refused)
        return refuse_busy(x, c, x->in.body_refused, 0);
    if (strcmp(x->method, "OPTIONS") == 0)
        return response_options(x, c);
    if (!request_parse(x, c, &why))
        return response_refuse(x, c, &why);
    /* /index iterates over all files, and locks the index for each one to reindex. */
    bool walks_files = x->rq.endpoint == &endpoint_index;
    bool now = x->rq.endpoint->immediate && !request_flag(&x->rq, "follow") && !walks_files;
    return now ? answer_now(x, c) : dispatch(x, c);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **state)
{
    struct exchange *x = *state;
    (void)arg, (void)url;
    if (x && x->in.refusal == REFUSAL_DRAINING)
        return (enum MHD_Result)drain_body(x, len);
    if (!x || x->in.refusal == REFUSAL_SENT)
        return MHD_NO;
    if (!x->connection)
        return (enum MHD_Result)begin_message(x, c, method, version);
    if (*len)
        return (enum MHD_Result)receive_body(x, c, data, len);
    connection_set_state(c, CONNECTION_BUSY);
    if (x->in.refusal)
        return MHD_YES;
    pthread_mutex_lock(&x->lock);
    enum exchange_phase phase = x->phase;
    pthread_mutex_unlock(&x->lock);
    switch (phase) {
    case EXCHANGE_RECEIVING:
        return (enum MHD_Result)finish_message(x, c);
    case EXCHANGE_READY:
        return (enum MHD_Result)response_answer(x, c);
    case EXCHANGE_GONE:
        return MHD_NO;
    default:
        return MHD_YES;
    }
}

/* ---- end of a request ------------------------------------------------------------------------ */

static void on_completed(void *arg, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *state;
    struct connection *connection = connection_of(c);
    (void)arg;
    connection_set_state(c, CONNECTION_IDLE);
    if (connection)
        connection->arriving = NULL;
    if (!x)
        return;
    *state = NULL;
    exchanges_remove(x);
    bool raw = x->in.refusal >= REFUSAL_SENT;
    bool cut = raw ? !x->in.delivered : why != MHD_REQUEST_TERMINATED_COMPLETED_OK;
    pthread_mutex_lock(&x->lock);
    if (!x->connection && x->in.own_status) {
        x->status = (int)x->in.own_status;
        cut = false;
    }
    if (x->connection)
        metrics_completed(x->site->context.metrics, x->rq.endpoint, x->status,
                          clock_mono_ns() - x->rq.started_ns, x->sent, cut);
    exchange_completed(x);
    access_log(x, cut);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

/* ---- callbacks and options ------------------------------------------------------------------- */

/* True if the headers have arrived and exceed the limit. */
static bool is_head_too_large(const struct connection *k)
{
    size_t weight = 0;
    MHD_get_connection_values(k->mhd, MHD_HEADER_KIND, request_weigh_header, &weight);
    return weight > HTTP_HEAD_MAX;
}

/* Returns the status with which libmicrohttpd refuses the request's length, or 0. */
static int refuses_length(const struct connection *k)
{
    uint64_t length;
    const char *given = header_of(k->mhd, "Content-Length");
    if (!given)
        return 0;
    if (!*given || given[strspn(given, "0123456789")])
        return 400;
    return num_parse_u64(text_of(given), &length) < 0 ? 413 : 0;
}

static struct connection *find_refused(struct io_thread *io_thread, int *ret_status,
                                       const char **ret_detail)
{
    struct http *h = io_thread->http;
    struct connection *k;
    pthread_mutex_lock(&h->connections_lock);
    for (k = h->connections; k; k = k->next) {
        if (k->io_thread != io_thread || !k->arriving)
            continue;
        bool heavy = is_head_too_large(k);
        *ret_status = heavy ? 431 : refuses_length(k);
        *ret_detail = heavy                ? "the headers are longer than 36 KiB"
                      : *ret_status == 400 ? "Content-Length must be a decimal number"
                                           : "the body is longer than 1 MiB";
        if (*ret_status)
            break;
    }
    pthread_mutex_unlock(&h->connections_lock);
    return k;
}

static void record_own_status(struct io_thread *io_thread, unsigned status)
{
    struct http *h = io_thread->http;
    struct exchange *found = NULL;
    unsigned count = 0;
    pthread_mutex_lock(&h->connections_lock);
    for (struct connection *k = h->connections; k && count < 2; k = k->next) {
        if (k->io_thread != io_thread || !k->arriving)
            continue;
        found = k->arriving;
        count++;
    }
    pthread_mutex_unlock(&h->connections_lock);
    if (count == 1)
        found->in.own_status = status;
}

/* libmicrohttpd's log messages are not logged, but they show that it is about to answer without
 * calling back. If it has no memory to copy a cookie, or cannot parse Content-Length, 0.9.75 sends
 * two heads or nothing, so that request is answered here before. The message does not identify it;
 * any other request on this thread in the same state would be refused for the same reason. */
static void on_message(void *arg, const char *format, va_list values)
{
    static const char answers[] = "Error processing request (HTTP response code is %u";
    struct connection *k;
    const char *detail;
    int status;
    bool any = false;
    if (strncmp(format, answers, sizeof answers - 1) != 0)
        return;
    for (; (k = find_refused(arg, &status, &detail)); any = true)
        refuse_early(k->arriving, k, status, detail);
    if (!any)
        record_own_status(arg, va_arg(values, unsigned));
}

static void suspend_connection(void *connection)
{
    MHD_suspend_connection(connection);
}

static void resume_connection(void *connection)
{
    MHD_resume_connection(connection);
}

const struct transport callbacks_transport = {.suspend = suspend_connection,
                                              .resume = resume_connection};

/* params.c decodes the raw URI; libmicrohttpd's own decoding is not used. */
static size_t keep_escapes(void *arg, struct MHD_Connection *c, char *s)
{
    (void)arg, (void)c;
    return strlen(s);
}

/* A connection's memory holds the longest URI and headers; more memory would cost speed, because it
 * is cleared for each request. The timeout is for connections without progress: a slow reader makes
 * some now and then. The number of connections is limited where they are accepted. */
struct MHD_Daemon *callbacks_start(struct io_thread *c)
{
    struct http *h = c->http;
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, tls_certificate_callback},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
        {MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)h->options.tls.client_ca},
        {MHD_OPTION_END, 0, NULL}};
    if (!h->options.tls.client_ca)
        secure[2].option = MHD_OPTION_END;
    if (!c->tls)
        secure[0].option = MHD_OPTION_END;
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ITC | MHD_USE_ERROR_LOG | (c->tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, on_message, c,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, connection_notify, c, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)((h->options.limits.idle_ms + 999) / 1000),
        MHD_OPTION_CONNECTION_LIMIT, UINT_MAX, MHD_OPTION_ARRAY, secure, MHD_OPTION_END);
}
