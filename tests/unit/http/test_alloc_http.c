/* module: http */
/* A server that runs out of memory while it serves: each request is answered as always, refused
 * with a status of its own, or cut off in a way that clients notice, and the next one is answered.
 * And starting a server without memory. */
#include "alloc_check.h"
#include "dftracerd/http.h"
#include "query_store.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { ANSWER_MAX = 4 << 20, SECONDS = 20 };

static struct store store;
static struct http *server;
static int port;
static char answer[ANSWER_MAX + 1]; /* the client allocates nothing */

/* ---- a server -------------------------------------------------------------------------------- */

static void make_store(void)
{
    struct buf b = {0};

    for (int i = 0; i < 3000; i++)
        buf_printf(&b,
                   "{\"name\":\"n%d\",\"cat\":\"POSIX\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":%d,"
                   "\"ph\":\"X\",\"args\":{\"ret\":%d}}\n",
                   i % 5, i % 3, i * 10, i % 100, i);
    store_file(&store, "a.pfw", b.data, b.len);
    store_file(&store, "b/c.pfw", b.data, b.len / 2);
    buf_done(&b);
    CHECK(store_ingest(&store, 65536, 1));
}

static int start(size_t answer_memory, struct err *err)
{
    static const char *const bind[] = {"127.0.0.1"};
    const struct http_options options = {.index = store.index,
                                         .root_labels = &store.label,
                                         .root_paths = &store.root,
                                         .root_count = 1,
                                         .bind = bind,
                                         .bind_count = 1,
                                         .no_auth = true,
                                         .workers = 2,
                                         .limits = {.answer_memory = answer_memory},
                                         .version = "0",
                                         .build = "test"};
    const char *const *urls;
    int rc = http_start(&options, err, &server);

    if (rc == 0 && CHECK(http_urls(server, &urls) == 1))
        port = (int)strtol(strrchr(urls[0], ':') + 1, NULL, 10);
    return rc;
}

/* ---- a client -------------------------------------------------------------------------------- */

static int connect_to(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Returns all bytes until the server closes the connection, or -1 if it never does. */
static ssize_t exchange(const char *request)
{
    struct pollfd p = {.fd = connect_to(), .events = POLLIN};
    size_t len = 0;
    ssize_t n = 1;

    if (p.fd < 0)
        return -1;
    if (send(p.fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        n = 0;
    while (n > 0 && len < ANSWER_MAX) {
        if (poll(&p, 1, SECONDS * 1000) != 1) {
            close(p.fd);
            return -1;
        }
        n = recv(p.fd, answer + len, ANSWER_MAX - len, 0);
        len += n > 0 ? (size_t)n : 0;
    }
    close(p.fd);
    answer[len] = '\0';
    return (ssize_t)len;
}

/* Returns the body of the answer, unchunked in place; NULL: it was cut. */
static const char *body_of(size_t *ret_len)
{
    char *body = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "\r\nContent-Length:"),
         *from, *to, *end;

    if (!body)
        return NULL;
    body += 4;
    *ret_len = strlen(body);
    if (length && length < body)
        return *ret_len == strtoul(length + 17, NULL, 10) ? body : NULL;
    for (from = to = body;; from += 2) {
        size_t size = strtoul(from, &end, 16);

        if (end == from || strncmp(end, "\r\n", 2) != 0 || strlen(end + 2) < size + 2)
            return NULL;
        memmove(to, end + 2, size);
        to += size;
        from = end + 2 + size;
        if (size == 0)
            break;
    }
    *to = '\0';
    *ret_len = (size_t)(to - body);
    return body;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* %u makes the key of the cache another one, without changing the answer. */
static const struct {
    const char *target, *type, *body;
} requests[] = {
    {"/stats?report=detailed&group_by=name,pid&max_duration=%us", NULL, NULL},
    {"/view?query=dur+%%3E+90&metadata=true&max_duration=%us", NULL, NULL},
    {"/view?select=name,dur,args.ret&format=csv&order=ts&max_duration=%us", NULL, NULL},
    {"/stats?report=detailed&per_file=true&max_duration=%us", NULL, NULL},
    {"/schema?max_duration=%us&pretty=true", NULL, NULL},
    {"/event-count?max_duration=%us", NULL, NULL},
    {"/info?detail=files&timeout=%us", NULL, NULL},
    {"/read?file=a.pfw&mode=lines&start=100&end=150&timeout=%us", NULL, NULL},
    {"/stats?max_duration=%us", "application/json",
     "{\"report\":\"names\",\"query\":\"pid < 2\",\"file\":[\"a.pfw\",\"b/*\"]}"},
    {"/stats?max_duration=%us", "application/x-www-form-urlencoded",
     "report=names&phase=any&query=name+%3D%3D+%27n1%27"},
    {"/timeline?width=10&color_values=%%5B%%22POSIX%%22,1,true%%5D&max_duration=%us", NULL, NULL},
    {"/compare?max_duration=%us", "application/json",
     "{\"baseline\":\"a.pfw\",\"variant\":\"b/c.pfw\","
     "\"nodes\":[{\"name\":\"n\",\"metrics\":[\"count\"],"
     "\"children\":[{\"name\":\"m\",\"group_by\":[\"name\"]}]}]}"},
    {"/call-tree?group_by=pid&analyze=true&format=text&max_duration=%us", NULL, NULL},
    {"/find?query=name+%%3D%%3D+%%22n1%%22&max_duration=%us", NULL, NULL},
    {"/event?file=a.pfw&object=5&timeout=%us", NULL, NULL},
    {"/processes?max_duration=%us", NULL, NULL},
    {"/histogram?column=dur&max_duration=%us", NULL, NULL},
    {"/suggest?column=name&prefix=n&max_duration=%us", NULL, NULL},
    {"/tar?timeout=%us", NULL, NULL},
    {"/index", NULL, NULL},
    {"/requests", NULL, NULL},
    {"/view?format=recipe&query=dur+%%3E+90&recipe=%%7B%%22query%%22%%3A%%22pid+%%3E+0%%22%%7D&"
     "timeout=%us",
     NULL, NULL},
    {"/view?count_only=true&within=name+%%3D%%3D+%%22n1%%22&max_duration=%us", NULL, NULL},
    {"/view?format=perfetto&limit=100&max_duration=%us", NULL, NULL},
    {"/merge?max_duration=%us", NULL, NULL},
    {"/nowhere?%u", NULL, NULL},
    {"/openapi.json", NULL, NULL},
    {"/stats?query=dur+%%3E&top_n=%u", NULL, NULL},
    {"/aggregate?format=perfetto&event_format=regular&max_duration=%us", NULL, NULL},
};
enum { REQUESTS = sizeof(requests) / sizeof(*requests) };

static unsigned serial = 1000;

static void write_request(size_t i, char *out, size_t size)
{
    char target[300];
    const char *body = requests[i].body ? requests[i].body : "";

    snprintf(target, sizeof(target), requests[i].target, serial++);
    snprintf(out, size,
             "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
             "%zu\r\n%s%s%s\r\n%s",
             *body ? "POST" : "GET", target, strlen(body), *body ? "Content-Type: " : "",
             *body ? requests[i].type : "", *body ? "\r\n" : "", body);
}

/* Masks what differs between two answers to the same request. */
static void settle(char *body)
{
    static const char *const keys[] = {
        "\"request_id\":", "\"generation\":", "\"elapsed_ms\":", "\"execution_time_ms\":"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        for (char *p = body; (p = strstr(p, keys[i]));) {
            p += strlen(keys[i]);
            const char *rest = p + strcspn(p, ",}");
            memmove(p, rest, strlen(rest) + 1);
        }
}

static bool ask(size_t i, char **ret_body)
{
    char request[1024];
    size_t len;

    write_request(i, request, sizeof(request));
    ssize_t n = exchange(request);
    const char *body = n < 0 ? NULL : body_of(&len);
    *ret_body = (char *)(uintptr_t)body;
    if (body)
        settle(*ret_body);
    return n >= 0;
}

static int status_of(void)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

static void check_good(size_t i, const struct buf *want, unsigned n)
{
    char *body;

    if (!CHECK(ask(i, &body)) || !CHECK(body && strcmp(body, want->data) == 0)) {
        printf("    request %zu behind allocation %u: %.600s\n", i, n, answer);
        failing_malloc_tell();
    }
}

/* Sends one request again and again, while each of its allocations fails in turn. */
static void serve(size_t i)
{
    struct buf want = {0};
    unsigned rounds = 0, refused = 0, cut = 0;
    char *body;

    if (!CHECK(ask(i, &body)) || !CHECK(body))
        return;
    int status = status_of();
    buf_puts(&want, body);
    buf_putc(&want, '\0');
    for (unsigned n = 0; atomic_load(&check_failures) < 5 && failing_malloc_next(n);
         n = failing_malloc_more(n, 48), rounds++) {
        bool ended = ask(i, &body);

        failing_malloc_stop();
        int got = status_of();
        refused += body && got >= 500;
        cut += !body;
        /* The text of an error may be missing if there is no memory for it. */
        bool good = ended && (!body || got >= 500 ||
                              (got == status && (status >= 400 || strcmp(body, want.data) == 0)));
        if (!CHECK(good)) {
            printf("    request %zu, allocation %u, %s: %.600s\n", i, n,
                   ended ? body ? "whole" : "cut" : "no end", answer);
            failing_malloc_tell();
        }
        check_good(i, &want, n);
    }
    printf("%.40s: %u rounds, %u refused, %u cut\n", requests[i].target, rounds, refused, cut);
    CHECK(!FAILING_MALLOC || rounds > 20);
    buf_done(&want);
}

static void serve_some(size_t count, size_t answer_memory)
{
    struct err err = {0};

    CHECK_STOP(CHECK_INT(start(answer_memory, &err), 0));
    failing_malloc_everywhere(true);
    for (size_t i = 0; i < count; i++)
        serve(i);
    failing_malloc_everywhere(false);
    http_stop(server, 0, 1000);
}

/* Each answer is computed, none comes from the cache. */
static void serves(void)
{
    serve_some(REQUESTS, 1);
}

static void serves_and_keeps(void)
{
    serve_some(3, 0);
}

static void starts(void)
{
    unsigned rounds = 0, refused = 0;
    char *body;

    failing_malloc_everywhere(true);
    for (unsigned n = 0; atomic_load(&check_failures) < 5 && failing_malloc_next(n);
         n = failing_malloc_more(n, 48), rounds++) {
        struct err err = {0};
        int rc = start(0, &err);

        failing_malloc_stop();
        refused += rc < 0;
        if (!CHECK(rc == 0 || *err.text) ||
            !CHECK(rc < 0 || (ask(4, &body) && body && status_of() == 200))) {
            printf("    allocation %u: %d %s\n", n, rc, err.text);
            failing_malloc_tell();
        }
        if (rc == 0)
            http_stop(server, 0, 1000);
        err_done(&err);
    }
    failing_malloc_everywhere(false);
    printf("%u rounds, %u without a server\n", rounds, refused);
    CHECK(!FAILING_MALLOC || (rounds > 5 && refused > 0));
}

static const struct check_test tests[] = {
    {"serves", serves},
    {"serves_and_keeps", serves_and_keeps},
    {"starts", starts},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make_store)
