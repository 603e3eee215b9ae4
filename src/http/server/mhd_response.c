/* mhd_response.c - headers and bodies: fixed answers, streams, problems. */
#include "http/exchange/etag.h"
#include "http/exchange/readiness.h"
#include "http/request/problem.h"
#include "http/request/router.h"
#include "http/server/mhd_message.h"
#include "http/server/mhd_tls.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void common_headers(struct exchange *x, struct MHD_Connection *c, struct MHD_Response *r)
{
    const char *origin = header_of(c, "Origin");
    MHD_add_response_header(r, "X-Request-Id", x->id);
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", "private, no-cache");
    MHD_add_response_header(r, "Accept-Ranges", "none");
    MHD_add_response_header(r, "Vary", "Accept, Accept-Encoding, Origin");
    if (origin && !x->in.refusal) {
        MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
        MHD_add_response_header(r, "Access-Control-Expose-Headers",
                                "X-Request-Id, X-Dftracer-Generation, X-Dftracer-Complete");
    }
}

static int queue_response(struct exchange *x, struct MHD_Connection *c, int status,
                          struct MHD_Response *r)
{
    x->status = status;
    int rc = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return rc;
}

static void send_raw_problem(struct exchange *x, struct MHD_Connection *c, int status,
                             const char *detail)
{
    struct buf body = {0}, out = {0};
    if (!x->method || strcmp(x->method, "HEAD") != 0)
        problem_write(&body, status, NULL, detail, x->id);
    buf_printf(&out,
               "HTTP/1.1 %d %s\r\nConnection: close\r\nX-Request-Id: %s\r\n"
               "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n\r\n",
               status, problem_reason(status), x->id, body.len);
    buf_append(&out, body.data, body.len);
    x->in.delivered =
        !out.error && !body.error && mhd_send_raw(c, x->fd, (struct text){out.data, out.len});
    x->sent = x->in.delivered ? body.len : 0;
    x->in.refusal = REFUSAL_SENT;
    x->status = status;
    buf_done(&body);
    buf_done(&out);
}

int response_raw(struct exchange *x, struct MHD_Connection *c, int status, const char *detail)
{
    send_raw_problem(x, c, status, detail);
    shutdown(x->fd, SHUT_RDWR);
    return MHD_NO;
}

int response_refuse(struct exchange *x, struct MHD_Connection *c,
                    const struct exchange_refusal *why)
{
    struct buf out = {0};
    if (why->headers_too_large)
        return response_raw(x, c, why->status, why->detail);
    if (why->before_body) {
        /* libmicrohttpd would answer now and close, or read the whole body first. */
        send_raw_problem(x, c, why->status, why->detail);
        x->in.refusal = REFUSAL_DRAINING;
        return MHD_YES;
    }
    x->in.refusal = REFUSAL_QUEUED;
    problem_write(&out, why->status, &why->err, why->detail, x->id);
    size_t len = out.error ? 0 : out.len;
    struct MHD_Response *r = MHD_create_response_from_buffer(
        len, len ? out.data : (void *)"", len ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
    buf_done(&out);
    if (!r)
        return MHD_NO;
    x->sent = x->in.head ? 0 : len;
    common_headers(x, c, r);
    MHD_add_response_header(r, "Content-Type", "application/problem+json");
    if (why->allow)
        MHD_add_response_header(r, "Allow", why->allow);
    if (why->status == 401)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"dftracerd\"");
    if (why->status == 503 || why->status == 429)
        MHD_add_response_header(r, "Retry-After", "1");
    if (why->close)
        MHD_add_response_header(r, "Connection", "close");
    return queue_response(x, c, why->status, r);
}

static void answer_headers(struct exchange *x, struct MHD_Connection *c, struct MHD_Response *r)
{
    char number[24];
    const struct request *rq = &x->rq;
    common_headers(x, c, r);
    const char *type = rq->content_type ? rq->content_type : format_content_type(rq->format);
    MHD_add_response_header(r, "Content-Type", x->packed ? "application/gzip" : type);
    if (rq->snapshot) {
        num_format_u64(snapshot_generation(rq->snapshot), number);
        MHD_add_response_header(r, "X-Dftracer-Generation", number);
    }
    if (rq->incomplete)
        MHD_add_response_header(r, "X-Dftracer-Complete", "false");
    if (*x->etag)
        MHD_add_response_header(r, "ETag", x->etag);
    if (x->coding != CODING_IDENTITY && !x->packed)
        MHD_add_response_header(r, "Content-Encoding", coding_name(x->coding));
    if (rq->status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    if (strncmp(type, "text/html", 9) == 0) {
        MHD_add_response_header(
            r, "Content-Security-Policy",
            rq->policy ? rq->policy
                       : "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
        MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    }
}

/* `aborted_in` is the phase in which the request was answered without waiting for its job, to which
 * rq.err still belongs. */
static int answer_problem(struct exchange *x, struct MHD_Connection *c, int code,
                          enum exchange_phase aborted_in)
{
    struct exchange_refusal why = {.status = problem_status(code)};
    char stopped[READINESS_TEXT];
    bool parked = aborted_in == EXCHANGE_PARKED;
    if (aborted_in == EXCHANGE_RECEIVING)
        why.err = x->rq.err;
    if (!why.err.code)
        why.err.code = code;
    if (code == ERR_CANCELLED && x->cancelled_ns) {
        why.status = 499;
        why.detail = "the request was cancelled by POST /cancel";
    } else if (code == ERR_CANCELLED)
        why.detail = "the daemon is stopping";
    else if (code == ERR_MEMORY_LIMIT && atomic_load(&x->rq.budget.share_exceeded)) {
        why.status = 503;
        why.detail = "other queries use all memory for queries; try again later";
    } else if (code == ERR_DEADLINE && parked)
        why.detail = "the index was not ready in time; see /readyz for its progress";
    else if (parked) {
        readiness_stopped(code, stopped, sizeof stopped);
        why.detail = stopped;
    } else if (code == ERR_DEADLINE)
        why.detail = "the request exceeded its time limit (`timeout`, or the daemon's own limit)";
    return response_refuse(x, c, &why);
}

static ssize_t read_nothing(void *arg, uint64_t at, char *out, size_t max)
{
    (void)arg, (void)at, (void)out, (void)max;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Makes an answer without a body whose head describes another one of unknown length. libmicrohttpd
 * 0.9.75 would send `Content-Length: 0` or a final chunk; only for HTTP/1.0 with a closed
 * connection it sends neither. */
static struct MHD_Response *body_omitted(void)
{
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read_nothing, NULL, NULL);
    if (r)
        MHD_set_response_options(r, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    return r;
}

static void release_answer(void *answer)
{
    cache_answer_release(answer);
}

/* The reference becomes owned by the response. For a 304, and for HEAD, only the length is sent. */
static struct MHD_Response *body_of_cached(struct cache_answer *a)
{
    struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
        a->len, a->data ? a->data : (void *)"", release_answer, a);
    if (!r)
        cache_answer_release(a);
    return r;
}

static int answer_not_modified(struct exchange *x, struct MHD_Connection *c)
{
    struct cache_answer *kept = x->shared ? cache_find(x->rq.http->cache, &x->key) : NULL;
    struct MHD_Response *r = kept ? body_of_cached(kept) : body_omitted();
    if (!r)
        return MHD_NO;
    common_headers(x, c, r);
    MHD_add_response_header(r, "ETag", x->etag);
    return queue_response(x, c, 304, r);
}

int response_options(struct exchange *x, struct MHD_Connection *c)
{
    char allow[80];
    struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (!r)
        return MHD_NO;
    router_allow(x->rq.endpoint, allow, sizeof allow);
    common_headers(x, c, r);
    MHD_add_response_header(r, "Allow", allow);
    if (header_of(c, "Access-Control-Request-Method")) {
        MHD_add_response_header(r, "Access-Control-Allow-Methods", allow);
        MHD_add_response_header(r, "Access-Control-Allow-Headers",
                                "Authorization, Content-Type, If-None-Match, X-Request-Id, "
                                "X-Requested-With");
    }
    /* A public page requests a host on a private network:
     * https://wicg.github.io/private-network-access/ */
    if (header_of(c, "Access-Control-Request-Private-Network"))
        MHD_add_response_header(r, "Access-Control-Allow-Private-Network", "true");
    return queue_response(x, c, 204, r);
}

static ssize_t read_more(void *arg, uint64_t at, char *out, size_t max)
{
    struct exchange *x = arg;
    (void)at;
    ssize_t n = exchange_read(x, out, max);
    if (n == -1)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n != -2)
        return n;
    if (x->in.http10) {
        /* Without chunks only a reset shows the client that the answer was cut. SO_LINGER does not
         * help: libmicrohttpd sends a FIN before it closes, and a client that has read everything
         * so far takes that for the end. A Unix socket cannot be reset (EINVAL). */
        const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
        connect(x->fd, &nowhere, sizeof nowhere);
    }
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The answer is complete: a body with a length. No job runs any more. */
static struct MHD_Response *body_of_complete(struct exchange *x)
{
    if (x->whole) {
        x->sent = x->in.head ? 0 : x->whole->len;
        return body_of_cached(cache_answer_ref(x->whole));
    }
    size_t len = x->pending.len;
    char *data = x->pending.data;
    x->pending = (struct buf){0};
    x->sent = x->in.head ? 0 : len;
    struct MHD_Response *r = MHD_create_response_from_buffer(
        len, len ? data : (void *)"", len ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!r || !len)
        free(data);
    return r;
}

static int answer_request(struct exchange *x, struct MHD_Connection *c)
{
    pthread_mutex_lock(&x->lock);
    bool ended = x->output == OUTPUT_ENDED;
    int broken = ended ? x->error : 0;
    enum exchange_phase aborted_in = x->aborted_in;
    pthread_mutex_unlock(&x->lock);
    if (broken)
        return answer_problem(x, c, broken, aborted_in);
    if (x->not_modified || (x->in.if_none_match && strcmp(x->in.if_none_match, "*") == 0))
        return answer_not_modified(x, c);
    struct MHD_Response *r =
        ended ? body_of_complete(x)
        : x->in.head
            ? body_omitted()
            : MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32768, read_more, x, NULL);
    if (!r)
        return MHD_NO;
    answer_headers(x, c, r);
    if (!ended) /* without it nginx keeps rows back until it has many */
        MHD_add_response_header(r, "X-Accel-Buffering", "no");
    return queue_response(x, c, x->rq.status, r);
}

/* The headers are made before STREAMING, because after that a step may change them. */
int response_answer(struct exchange *x, struct MHD_Connection *c)
{
    exchange_answer_joined(x);
    int rc = answer_request(x, c);
    pthread_mutex_lock(&x->lock);
    if (x->phase != EXCHANGE_GONE)
        x->phase = EXCHANGE_STREAMING;
    pthread_mutex_unlock(&x->lock);
    return rc;
}
