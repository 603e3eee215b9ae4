/* mhd_request.c - checks the message of a request. Messages that libmicrohttpd 0.9.75 accepts
 * although they are invalid (duplicate Host, two lengths, NULs, unknown methods ...) are refused
 * here (RFC 9112, RFC 9110). */
#include "http/access/stored.h"
#include "http/access/viewer.h"
#include "http/endpoints/endpoints.h"
#include "http/request/problem.h"
#include "http/request/read.h"
#include "http/request/router.h"
#include "http/server/mhd_message.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Counts the headers that must not occur twice, and others that matter. */
struct headers {
    unsigned hosts, lengths, encodings;
    size_t bytes; /* bytes of the connection's memory, in addition to the head as it was sent */
    bool bad_name, bad_value;
    unsigned once[3];       /* indexed like once_names */
    const char *end, *head; /* end of the checked part of the head as it was sent; its end */
    const char *host, *length, *encoding;
};

/* libmicrohttpd does not treat "Transfer-Encoding : chunked" as that header, but a proxy may. */
static bool is_header_name(const char *name)
{
    const char *s = name;
    while (isalnum((unsigned char)*s) || (*s && strchr("!#$%&'*+-.^_`|~", *s)))
        s++;
    return s > name && !*s;
}

static bool is_header_value(const char *value)
{
    for (; *value; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

/* "localhost\0.example" is localhost for libmicrohttpd, which reads C strings, and another name for
 * a proxy. libmicrohttpd passes no lengths, but it leaves names and values where they arrived, with
 * NULs at the line ends. If there is anything else between two of them, some of it was not seen.
 * (Continuation lines are copied elsewhere; RFC 9112, 5.2 requires them to be refused, too.) */
static bool ends_line(const char *from, const char *to)
{
    while (from < to && (!*from || strchr(" \t\r\n", *from)))
        from++;
    return from == to;
}

/* If one of these occurs twice, the daemon would use the first, and a proxy before it perhaps the
 * second. */
static const char *const once_names[3] = {"Authorization", "Content-Type", "Origin"};

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct headers *h = arg;
    h->bytes += HTTP_HEADER_COSTS;
    if (kind == MHD_COOKIE_KIND)
        return MHD_YES;
    h->bad_name |= !is_header_name(name);
    h->bad_value |= !is_header_value(value) || name >= h->head || !ends_line(h->end, name);
    h->end = value + strlen(value);
    for (size_t i = 0; i < 3; i++)
        h->once[i] += strcasecmp(name, once_names[i]) == 0;
    if (strcasecmp(name, "Cookie") == 0)
        h->bytes += strlen(value); /* libmicrohttpd parses a copy */
    if (strcasecmp(name, "Host") == 0) {
        h->hosts++;
        h->host = value;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        h->lengths++;
        h->length = value;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        h->encodings++;
        h->encoding = value;
    }
    return MHD_YES;
}

static bool refuse(struct exchange_refusal *r, int status, int code, const char *detail)
{
    r->status = status;
    r->detail = detail;
    r->err.code = code;
    return false;
}

static bool refuse_closing(struct exchange_refusal *r, int status, const char *detail)
{
    r->close = true;
    return refuse(r, status, 0, detail);
}

enum MHD_Result request_weigh_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    size_t *weight = arg, n = value ? strlen(value) : 0;
    (void)kind;
    *weight += HTTP_HEADER_COSTS + strlen(name) + n;
    if (value && strcasecmp(name, "Cookie") == 0) { /* libmicrohttpd parses a copy */
        *weight += n + HTTP_HEADER_COSTS;
        for (; *value; value++)
            *weight += *value == ';' ? HTTP_HEADER_COSTS : 0;
    }
    return MHD_YES;
}

/* Trailers after a chunked body are stored in addition to the head. */
static bool check_trailers(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *r)
{
    MHD_get_connection_values(c, MHD_FOOTER_KIND, request_weigh_header, &x->in.head_bytes);
    r->headers_too_large = x->in.head_bytes > HTTP_HEAD_MAX;
    return !r->headers_too_large ||
           refuse_closing(r, 431, "headers and trailers are longer than 36 KiB");
}

static bool check_framing(const struct headers *h, bool http10, struct exchange_refusal *r)
{
    if (h->bad_name)
        return refuse_closing(r, 400, "a header name contains an invalid character");
    if (h->bad_value)
        return refuse_closing(r, 400,
                              "a header contains a control character, or is folded over two lines: "
                              "obsolete header line folding is not allowed");
    if (h->once[0] > 1 || h->once[1] > 1 || h->once[2] > 1)
        return refuse_closing(r, 400,
                              "Authorization, Content-Type and Origin may be sent only once");
    if (h->hosts > 1 || (h->hosts == 0 && !http10))
        return refuse_closing(r, 400, "exactly one Host header is required");
    if (h->lengths > 1 || (h->lengths && h->encodings))
        return refuse_closing(r, 400, "the length of the body is given more than once");
    if (h->encodings &&
        (h->encodings > 1 || !h->encoding || strcasecmp(h->encoding, "chunked") != 0))
        return refuse_closing(r, 501, "chunked is the only supported transfer coding");
    return true;
}

/* A NUL in the request line truncates it for all that read C strings. libmicrohttpd leaves URI and
 * version in one buffer, with one blank between them. */
static bool has_nul(const struct exchange *x, const char *version)
{
    return (size_t)(version - x->in.uri_at) != strlen(x->uri) + 1;
}

/* The standard allows `http://host/path`; its authority then replaces Host. */
static const char *strip_authority(char *uri, char *authority, size_t size)
{
    if (strncasecmp(uri, "http://", 7) != 0)
        return uri;
    size_t n = strcspn(uri + 7, "/?");
    snprintf(authority, size, "%.*s", n ? (int)n : 1, n ? uri + 7 : "/"); /* "/" is no valid host */
    return uri[7 + n] ? uri + 7 + n : "/";
}

static bool decode_path(struct exchange *x, const char *target, struct exchange_refusal *r)
{
    struct text raw = {target, strcspn(target, "?")}, path;
    for (const char *c = target; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return refuse_closing(r, 400,
                                  "the request target contains a space or control character");
    if (raw.len == 0 || raw.ptr[0] != '/')
        return refuse_closing(r, 400, "the request target must be a path");
    int rc = params_decode(&x->rq.arena, raw, false, &path);
    if (rc == -ENOMEM)
        return refuse(r, 503, -ENOMEM, "out of memory");
    if (rc < 0)
        return refuse(r, 400, ERR_PARAM, "the path contains an invalid %-escape or a NUL byte");
    x->path = path.ptr;
    /* An encoded slash is not a separator: no endpoint has such a path. */
    for (size_t i = 0; i + 2 < raw.len; i++)
        if (raw.ptr[i] == '%' && raw.ptr[i + 1] == '2' && (raw.ptr[i + 2] | 0x20) == 'f')
            return refuse(r, 404, ERR_NOT_FOUND, "no such endpoint");
    return true;
}

static const struct {
    const char *name;
    unsigned bit;
} methods[] = {
    {"GET", METHOD_GET},
    {"HEAD", METHOD_HEAD},
    {"POST", METHOD_POST},
    {"OPTIONS", METHOD_OPTIONS},
    {"DELETE", METHOD_DELETE},
    {"PUT", 0},
    {"PATCH", 0},
    {"TRACE", 0},
    {"CONNECT", 0},
};

static bool refuse_path(const struct exchange *x, struct exchange_refusal *r)
{
    static _Thread_local char detail[200];
    router_missing(x->path, detail, sizeof detail);
    return refuse(r, 404, ERR_NOT_FOUND, detail);
}

static bool check_method(struct exchange *x, struct exchange_refusal *r)
{
    static _Thread_local char allow[80];
    const struct endpoint *e = x->rq.endpoint;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(x->method, methods[i].name) != 0)
            continue;
        unsigned served = e->methods | METHOD_OPTIONS | (e->methods & METHOD_GET ? METHOD_HEAD : 0);
        x->in.head = methods[i].bit == METHOD_HEAD;
        if (served & methods[i].bit)
            return true;
        router_allow(e, allow, sizeof allow);
        r->allow = allow;
        return refuse(r, 405, 0, "this endpoint does not support that method");
    }
    return refuse_closing(r, 501, "unknown method");
}

static bool refuse_err(struct exchange *x, struct exchange_refusal *r, int rc)
{
    r->status = problem_status(rc);
    r->err = x->rq.err;
    if (!r->err.code)
        r->err.code = rc;
    return false;
}

/* Compares Content-Type without its parameters, such as charset. */
static bool is_content_type(struct MHD_Connection *c, const char *type)
{
    const char *given = header_of(c, "Content-Type");
    size_t n = given ? strcspn(given, "; ") : 0;
    return given && n == strlen(type) && strncasecmp(given, type, n) == 0;
}

static bool is_upload(const struct exchange *x, struct MHD_Connection *c)
{
    return x->rq.endpoint->takes_tar && strcmp(x->method, "POST") == 0 &&
           is_content_type(c, "application/x-tar");
}

/* The bytes are written to disk as they arrive. */
static bool open_upload(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *r)
{
    const struct http_context *h = x->rq.http;
    if (!is_upload(x, c))
        return true;
    int rc = spool_new(index_path(h->options->index), h->spools, &x->rq.err, &x->rq.upload);
    return rc == 0 || refuse_err(x, r, rc);
}

/* Checks the body before it arrives; a client that sends `Expect` first does not have to send it.
 */
static bool check_body(struct exchange *x, struct MHD_Connection *c, const struct headers *h,
                       struct exchange_refusal *r)
{
    const char *expect = header_of(c, "Expect");
    const char *coding = header_of(c, "Content-Encoding");
    uint64_t length = 0;
    bool tar = is_upload(x, c);
    uint64_t most = tar ? x->http->spools.limit : HTTP_BODY_MAX;
    bool too_long =
        h->length && (num_parse_u64(text_of(h->length), &length) < 0 || (most && length > most));
    r->before_body = too_long && !expect;
    if (too_long && tar)
        return refuse_closing(r, 413,
                              "the tar archive exceeds the disk space that the daemon may use for "
                              "it (option spool-size)");
    if (too_long)
        return refuse_closing(r, 413, "the body is longer than 1 MiB");
    if (coding && strcasecmp(coding, "identity") != 0)
        return refuse_closing(r, 415, "a request body must not have a Content-Encoding");
    return true;
}

static bool is_header(struct MHD_Connection *c, const char *name, const char *value)
{
    const char *given = header_of(c, name);
    return given && strcmp(given, value) == 0;
}

/* Browsers name the origin of a page in Origin, but not in requests for embedded images or scripts.
 * For those they report that another site embeds them (https://www.w3.org/TR/fetch-metadata/);
 * following a link is allowed. */
static bool check_page(struct exchange *x, struct MHD_Connection *c, const char *host,
                       struct exchange_refusal *r)
{
    const char *origin = header_of(c, "Origin");
    bool foreign =
        is_header(c, "Sec-Fetch-Site", "cross-site") || is_header(c, "Sec-Fetch-Site", "same-site");
    if (host && !access_host_ok(host, &x->http->options))
        return refuse(r, 421, 0, "this server does not serve that host name");
    if (!access_origin_ok(origin, host, &x->http->options))
        return refuse(r, 403, 0, "requests from that origin are not allowed");
    if (!origin && foreign && !is_header(c, "Sec-Fetch-Mode", "navigate"))
        return refuse(r, 403, 0,
                      "another site may link to this server, but must not embed its responses");
    return true;
}

/* A browser sends OPTIONS first, without the token, to find out whether it may send one. */
static bool is_preflight(const struct exchange *x, struct MHD_Connection *c)
{
    return strcmp(x->method, "OPTIONS") == 0 && header_of(c, "Origin") &&
           header_of(c, "Access-Control-Request-Method");
}

static bool check_access(struct exchange *x, struct MHD_Connection *c, enum access_role peer,
                         struct exchange_refusal *r)
{
    const char *given = header_of(c, "Authorization"), *origin = header_of(c, "Origin"),
               *host = header_of(c, "Host");
    pthread_rwlock_rdlock(&x->http->access_lock);
    enum access_role role = access_token_role(given, &x->http->options);
    pthread_rwlock_unlock(&x->http->access_lock);
    /* Pages of other sites do not inherit the role of the browser's user: they may only use what
     * any user may, unless they have a token. */
    if (origin && !access_origin_own(origin, host) && peer > ACCESS_READ)
        peer = ACCESS_READ;
    role = role > peer ? role : peer;
    x->rq.admin = role == ACCESS_ADMIN && !x->rq.stored;
    if (x->rq.admin) {
        viewer_unref(x->rq.viewer);
        x->rq.viewer = NULL;
    }
    if (role >= ACCESS_READ || x->rq.stored || (x->rq.endpoint && x->rq.endpoint->public) ||
        is_preflight(x, c))
        return true;
    return refuse(r, 401, 0,
                  "this daemon serves the user that runs it; other clients need `Authorization: "
                  "Bearer TOKEN`");
}

static bool is_stored_path(const struct exchange *x)
{
    return x->rq.endpoint == &endpoint_stored || x->rq.endpoint == &endpoint_open;
}

/* Finds the stored query that the path names; whoever knows its id may run it. */
static bool find_stored(struct exchange *x, struct exchange_refusal *r)
{
    struct text rest = text_of(x->path), id, name;
    if (!is_stored_path(x))
        return true;
    for (int i = 0; i < 3; i++) /* "", "q", id */
        text_split(&rest, '/', &id);
    struct stored_query *q = arena_alloc(&x->rq.arena, sizeof *q);
    int rc = q ? stored_find(x->rq.http->stored, id, &x->rq.arena, q) : -ENOMEM;
    if (rc == -ENOMEM)
        return refuse(r, 503, -ENOMEM, "out of memory");
    if (rc < 0)
        return true;
    bool named = !text_split(&rest, '/', &name) || text_eq(name, text_of(q->name));
    x->rq.stored = named ? q : NULL;
    /* A stored query runs with the permissions of the user that stored it. */
    viewer_unref(named ? x->rq.viewer : q->viewer);
    x->rq.viewer = named ? q->viewer : x->rq.viewer;
    return true;
}

/* From here on the request is the stored query itself. The log must not contain the id. */
static bool become_stored(struct exchange *x, struct exchange_refusal *r)
{
    const struct stored_query *q = x->rq.stored;
    if (!is_stored_path(x) || strcmp(x->method, "OPTIONS") == 0)
        return true;
    if (!q)
        return refuse(r, 404, ERR_NOT_FOUND,
                      "no query is stored under this path, or it has expired");
    if (strchr(x->uri, '?'))
        return refuse(r, 400, ERR_PARAM, "a stored query takes no further parameters");
    bool page = x->rq.endpoint == &endpoint_open;
    struct text target = {q->query, strcspn(q->query, "?")};
    x->path = page ? "/open" : arena_strdup(&x->rq.arena, target);
    if (!x->path)
        return refuse(r, 503, -ENOMEM, "out of memory");
    if (page)
        return true;
    x->rq.endpoint = router_find(x->rq.http->endpoints, target);
    x->packed = text_ends(text_of(q->name), TEXT(".gz"));
    return true;
}

bool request_check(struct exchange *x, struct MHD_Connection *c, const char *version,
                   enum access_role peer, struct exchange_refusal *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const size_t head_size = info ? info->header_size : 0;
    const char *end = version + strlen(version), *begin = x->in.uri_at - strlen(x->method) - 1;
    struct headers h = {.end = end, .head = head_size ? begin + head_size : end};
    char authority[256] = "";
    MHD_get_connection_values(c, MHD_HEADER_KIND | MHD_COOKIE_KIND, note_header, &h);
    h.bad_value |= !ends_line(h.end, h.head);
    /* The rest of the connection's memory must suffice for the head of any answer. */
    x->in.head_bytes = head_size + h.bytes;
    r->headers_too_large = x->in.head_bytes > HTTP_HEAD_MAX;
    if (r->headers_too_large)
        return refuse_closing(r, 431, "the headers are longer than 36 KiB");
    x->in.http10 = strcmp(version, "HTTP/1.0") == 0;
    if (strncmp(version, "HTTP/1.", 7) != 0)
        return refuse_closing(r, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
    if (!check_framing(&h, x->in.http10, r))
        return false;
    if (has_nul(x, version))
        return refuse_closing(r, 400, "the request line contains a NUL byte");
    if (strlen(x->uri) > HTTP_URI_MAX)
        return refuse_closing(r, 414, "the URL is longer than 16 KiB; send long queries by POST");
    const char *target = strip_authority(x->uri, authority, sizeof authority);
    if (!decode_path(x, target, r))
        return false;
    x->rq.endpoint = router_find(x->rq.http->endpoints, text_of(x->path));
    if (!find_stored(x, r))
        return false;
    if (!check_page(x, c, *authority ? authority : h.host, r) || !check_access(x, c, peer, r))
        return false;
    if (!x->rq.endpoint)
        return refuse_path(x, r);
    return check_method(x, r) && check_body(x, c, &h, r) && become_stored(x, r) &&
           open_upload(x, c, r);
}

/* Adds the parameters of a POST: a form (as curl sends) or a JSON object. */
static int add_body(struct exchange *x, struct MHD_Connection *c)
{
    struct text body = {x->in.body.data, x->in.body.len};
    if (x->rq.upload)
        return x->in.upload_error;
    /* If the Content-Type only says that the body is no form, the parameters may be in the URL. */
    if (!body.len && (!header_of(c, "Content-Type") || x->rq.endpoint->changes))
        return 0;
    if (is_content_type(c, "application/x-www-form-urlencoded"))
        return params_add_form(&x->rq, body);
    if (is_content_type(c, "application/json"))
        return params_add_json(&x->rq, body);
    return -EPROTOTYPE;
}

/* A page of another site can make a browser post a form, but neither JSON or a tar nor a header of
 * its own: for those, browsers send OPTIONS first
 * (https://fetch.spec.whatwg.org/#cors-safelisted-request-header). So requests that change
 * something require one of them. */
static bool is_deliberate(struct MHD_Connection *c)
{
    return is_content_type(c, "application/json") || is_content_type(c, "application/x-tar") ||
           header_of(c, "X-Requested-With");
}

/* Checked after the parameters are known, because some of them make a query one that changes
 * something. */
static bool check_changes(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *r)
{
    const struct endpoint *e = x->rq.endpoint;
    const struct param *output = x->rq.post ? request_param(&x->rq, "output") : NULL;
    bool writes = output && output->given;
    if (x->rq.post && (e->changes || writes) && !is_deliberate(c))
        return refuse(r, 415, 0,
                      "a POST that makes changes must be sent as application/json, or as a form "
                      "with the header X-Requested-With");
    if (x->rq.post && (e->admin || writes) && !x->rq.admin)
        return refuse(
            r, 403, -EPERM,
            "only the user that runs the daemon and clients with the admin token may do this");
    return true;
}

bool request_parse(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *r)
{
    if (!check_trailers(x, c, r))
        return false;
    if (x->in.body.error)
        return refuse(r, 503, -ENOMEM, "out of memory");
    if (x->in.body_bytes && strcmp(x->method, "POST") != 0)
        return refuse(r, 400, 0,
                      "only POST accepts a body; put the parameters of other methods into the URL");
    x->rq.post = strcmp(x->method, "POST") == 0;
    bool stored = x->rq.stored && !is_stored_path(x);
    const char *search = strchr(stored ? x->rq.stored->query : x->uri, '?');
    int rc = request_begin(&x->rq, search ? search + 1 : NULL);
    if (rc == 0 && strcmp(x->method, "POST") == 0)
        rc = add_body(x, c);
    if (rc == -EPROTOTYPE)
        return refuse(
            r, 415, 0,
            x->rq.endpoint->takes_tar
                ? "the body must be application/x-tar, or parameters as "
                  "application/x-www-form-urlencoded or application/json"
                : "the body must be application/x-www-form-urlencoded or application/json");
    if (rc == 0)
        rc = request_finish(&x->rq, header_of(c, "Accept"));
    if (rc < 0)
        return refuse_err(x, r, rc);
    if (!check_changes(x, c, r))
        return false;
    x->coding = negotiate_coding(header_of(c, "Accept-Encoding"));
    const struct param *level = request_param(&x->rq, "gzip_level");
    if (level && level->set) {
        x->coding_level = (int)level->number;
        x->packed = true;
    }
    /* answer_now() compresses only those immediate answers that are the same for all. */
    if ((!x->rq.endpoint->format_count && !x->rq.endpoint->immediate) ||
        x->rq.format == FORMAT_TAR) /* its members are compressed */
        x->coding = CODING_IDENTITY;
    else if (x->packed)
        x->coding = CODING_GZIP;
    x->packed = x->packed && x->coding == CODING_GZIP;
    return true;
}
