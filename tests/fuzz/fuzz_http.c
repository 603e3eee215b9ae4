/* module: http */
/* fuzz_http.c - any bytes as a connection to the whole listener: socket, libmicrohttpd, endpoints,
 * a small index.
 *
 * Whatever comes, what goes back is whole HTTP: known statuses but never 500, heads without control
 * characters, a length or chunks that are what was sent, and bodies that say they are JSON are. In
 * the end the listener answers somebody else.
 *
 * Input: the bytes of the client. Behind each byte 0xff the rest is sent by another write.
 */
#include "dftracerd/http.h"

#include <assert.h>
#include <ftw.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IDLE_MS = 30, ANSWER_MAX = 1 << 20, WAIT_MS = 120000 };

static char place[64];
static struct index *ix;
static struct http *server;

/* ---- the daemon ------------------------------------------------------------------------------ */

static void path_of(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", place, name);
}

static void write_trace(void)
{
    char path[128];

    path_of("t", path);
    assert(mkdir(path, 0700) == 0);
    path_of("t/a.pfw", path);
    FILE *f = fopen(path, "w");
    assert(f);
    for (int i = 0; i < 60; i++)
        fprintf(f,
                "{\"id\":%d,\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
                "\"dur\":%d,\"ph\":\"X\",\"args\":{\"ret\":%d,\"text\":\"a \\\"%d\\u00e9\"}}\n",
                i, i % 2 ? "read" : "write", i % 3, i % 2, 1000 + 7 * i, i % 20, 4096 * i, i);
    fclose(f);
}

static void read_trace(void)
{
    struct index_options o = {.workers = 1};
    struct index_progress p;
    char path[128], trace[128];

    path_of("index", path);
    path_of("t/a.pfw", trace);
    o.path = path;
    o.settle_ms = -1;
    assert(index_open(&o, NULL, &ix) == 0);
    assert(index_offer(ix, "a.pfw", trace) == 0);
    index_listed(ix);
    for (int ms = 0; ms < WAIT_MS; ms++) {
        index_progress(ix, &p);
        if (p.files_ready == 1)
            return;
        usleep(1000);
    }
    abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void end(void)
{
    http_stop(server, 0, 100);
    index_close(ix);
    nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void begin(void)
{
    static const char *const label = "";
    static char root[128], socket_path[128];
    static const char *root_path = root;
    struct err err = {0};

    strcpy(place, "/tmp/fuzz_http.XXXXXX");
    assert(mkdtemp(place));
    write_trace();
    read_trace();
    path_of("t", root);
    path_of("s", socket_path);
    struct http_options o = {.index = ix,
                             .root_labels = &label,
                             .root_paths = &root_path,
                             .root_count = 1,
                             .unix_path = socket_path,
                             .no_tcp = true,
                             .workers = 2,
                             .limits = {.query_time_ms = 1000,
                                        .query_memory = 64 << 20,
                                        .total_memory = 256 << 20,
                                        .spool_bytes = 64 << 20},
                             .version = "fuzz",
                             .build = "fuzz"};
    if (http_start(&o, &err, &server) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    atexit(end);
}

/* ---- the client ------------------------------------------------------------------------------ */

static int dial(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof a.sun_path, "%s/s", place);
    assert(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

/* True: the other side has closed it. */
static bool receive(int fd, int idle_ms, struct buf *out)
{
    struct pollfd p = {fd, POLLIN, 0};

    while (out->len < ANSWER_MAX && poll(&p, 1, idle_ms) > 0) {
        char *room = buf_reserve(out, 65536);
        ssize_t n = room ? recv(fd, room, 65536, 0) : 0;
        if (n <= 0)
            return true;
        out->len += (size_t)n;
    }
    return false;
}

static void talk(const uint8_t *data, size_t size, struct buf *out)
{
    int fd = dial();

    while (size) {
        const uint8_t *cut = memchr(data, 0xff, size);
        size_t n = cut ? (size_t)(cut - data) : size;
        if (n && send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        data += n + (cut != NULL);
        size -= n + (cut != NULL);
        (void)receive(fd, 0, out);
    }
    (void)receive(fd, IDLE_MS, out);
    close(fd);
}

/* ---- what came back -------------------------------------------------------------------------- */

struct answer {
    int status;
    bool chunked, json, packed;
    int64_t length; /* -1: not told */
};

static void need(bool good, const char *what, struct text got)
{
    if (good)
        return;
    fprintf(stderr, "%s\n%.*s\n", what, (int)(got.len < 2000 ? got.len : 2000), got.ptr);
    abort();
}

static bool header_is(struct text line, struct text name, struct text *ret)
{
    if (line.len < name.len || strncasecmp(line.ptr, name.ptr, name.len) != 0)
        return false;
    *ret = text_trim((struct text){line.ptr + name.len, line.len - name.len});
    return true;
}

static void read_header(struct text line, struct answer *a, struct text all)
{
    struct text value;

    need(memchr(line.ptr, ':', line.len) && line.ptr[0] != ' ', "no header", all);
    for (size_t i = 0; i < line.len; i++)
        need((unsigned char)line.ptr[i] >= ' ' && line.ptr[i] != 0x7f, "control character", all);
    if (header_is(line, TEXT("content-length:"), &value))
        need(num_parse_i64(value, &a->length) == 0 && a->length >= 0, "length", all);
    if (header_is(line, TEXT("transfer-encoding:"), &value))
        a->chunked = text_eq_nocase(value, TEXT("chunked"));
    if (header_is(line, TEXT("content-type:"), &value))
        a->json = text_starts(value, TEXT("application/json")) ||
                  text_starts(value, TEXT("application/problem+json"));
    if (header_is(line, TEXT("content-encoding:"), &value))
        a->packed = true;
}

/* Takes a head off the front. False: it is not whole. */
static bool take_head(struct text *from, struct answer *ret)
{
    const char *stop = from->len ? memmem(from->ptr, from->len, "\r\n\r\n", 4) : NULL;
    struct text all = *from;

    if (!stop)
        return false;
    *ret = (struct answer){.length = -1};
    need(from->len > 12 && memcmp(from->ptr, "HTTP/1.", 7) == 0, "no status line", all);
    ret->status = atoi(from->ptr + 9);
    need(ret->status >= 100 && ret->status < 600 && ret->status != 500, "status", all);
    for (const char *p = memmem(from->ptr, from->len, "\r\n", 2); p < stop;) {
        const char *line = p + 2;
        p = memmem(line, (size_t)(stop + 2 - line), "\r\n", 2);
        read_header((struct text){line, (size_t)(p - line)}, ret, all);
    }
    *from = (struct text){stop + 4, (size_t)(from->ptr + from->len - stop - 4)};
    need(!(ret->chunked && ret->length >= 0), "both a length and chunks", all);
    return true;
}

/* 1, 0: the body is not whole, -1: it ends with the connection. */
static int take_chunks(struct text *from, struct buf *body)
{
    for (;;) {
        const char *line_end = from->len ? memmem(from->ptr, from->len, "\r\n", 2) : NULL;
        if (!line_end)
            return 0;
        char *digits_end;
        unsigned long n = strtoul(from->ptr, &digits_end, 16);
        need(digits_end > from->ptr && (*digits_end == '\r' || *digits_end == ';'), "chunk", *from);
        size_t head = (size_t)(line_end + 2 - from->ptr);
        if (from->len - head < n + 2)
            return 0;
        need(memcmp(line_end + 2 + n, "\r\n", 2) == 0, "end of a chunk", *from);
        buf_append(body, line_end + 2, n);
        *from = (struct text){from->ptr + head + n + 2, from->len - head - n - 2};
        if (n == 0)
            return 1;
    }
}

static int take_body(struct text *from, const struct answer *a, struct buf *body)
{
    if (a->status < 200 || a->status == 204 || a->status == 304)
        return 1;
    if (a->chunked)
        return take_chunks(from, body);
    if (a->length < 0)
        return -1;
    if (from->len < (size_t)a->length)
        return 0;
    buf_append(body, from->ptr, (size_t)a->length);
    *from = (struct text){from->ptr + a->length, from->len - (size_t)a->length};
    return 1;
}

static void check_json(const struct buf *body, struct text all)
{
    json_error_t error;
    json_t *value = json_loadb(body->data, body->len, JSON_DECODE_ANY, &error);

    need(value != NULL, "a body that is no JSON", all);
    json_decref(value);
}

/* bodies: there are some (no HEAD was asked). */
static void judge(struct text got, bool bodies)
{
    struct answer a;
    struct text all = got;

    while (take_head(&got, &a) && bodies) {
        struct buf body = {0};
        int rc = take_body(&got, &a, &body);
        if (rc > 0 && a.json && !a.packed && a.status != 204 && a.status != 304)
            check_json(&body, all);
        buf_done(&body);
        if (rc <= 0)
            return;
    }
}

/* Somebody else is answered. */
static void check_life(void)
{
    static const char ask[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    struct buf got = {0};
    int fd = dial();

    assert(send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == (ssize_t)sizeof ask - 1);
    bool closed = receive(fd, WAIT_MS, &got);
    need(closed, "silent for two minutes", (struct text){got.data, got.len});
    need(got.len > 15 && memcmp(got.data, "HTTP/1.1 200 OK", 15) == 0, "not healthy",
         (struct text){got.data, got.len});
    buf_done(&got);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned runs;
    struct buf got = {0};

    if (!size)
        data = (const uint8_t *)"";
    if (!server)
        begin();
    talk(data, size, &got);
    judge((struct text){got.data, got.len}, !memmem(data, size, "HEAD", 4));
    if (runs++ % 16 == 0)
        check_life();
    buf_done(&got);
    return 0;
}
