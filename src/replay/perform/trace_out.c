/* trace_out.c - lines through zlib, under a lock. */
#include "replay/perform/trace_out.h"
#include "base/write_all.h"

#include "replay/perform/lanes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { FLUSH_BYTES = 1 << 18, GZIP_WINDOW = 15 + 16 };

struct trace_out {
    pthread_mutex_t lock;
    int fd;
    z_stream z;
    struct buf text, packed;
    uint64_t id;
    int error;
    _Atomic uint64_t *complete; /* a part: bytes of complete members */
    const char *path;
    char *part; /* temporary name, which is renamed at the end; NULL: this is a part */
};

static struct trace_out *trace_new(int fd)
{
    struct trace_out *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    if (deflateInit2(&t->z, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    t->fd = fd;
    return t;
}

static void trace_free(struct trace_out *t)
{
    deflateEnd(&t->z);
    if (t->fd >= 0)
        close(t->fd);
    free(t->part);
    buf_done(&t->text);
    buf_done(&t->packed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int trace_out_open(const char *path, struct trace_out **ret, struct err *err)
{
    char *part;
    if (asprintf(&part, "%s.part", path) < 0)
        return -ENOMEM;
    unlink(part); /* left by a killed replay; it may be a link to any file */
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        int rc = err_set(err, -errno, "--output-trace: %s: %s", part, strerror(errno));
        free(part);
        return rc;
    }
    struct trace_out *t = trace_new(fd);
    if (!t) {
        close(fd);
        unlink(part);
        free(part);
        return -ENOMEM;
    }
    t->part = part;
    t->path = path;
    buf_puts(&t->text, "[\n");
    *ret = t;
    return 0;
}

/* Writes the text as a gzip member. After an error nothing more is written: existing members stay
 * readable. */
static int write_member(struct trace_out *t)
{
    if (t->text.error)
        return t->text.error;
    buf_clear(&t->packed);
    if (deflateReset(&t->z) != Z_OK) /* first, because the bound depends on it */
        return -EIO;
    size_t bound = deflateBound(&t->z, t->text.len);
    char *out = buf_reserve(&t->packed, bound);
    if (!out)
        return -ENOMEM;
    t->z.next_in = (Bytef *)t->text.data;
    t->z.avail_in = (uInt)t->text.len;
    t->z.next_out = (Bytef *)out;
    t->z.avail_out = (uInt)bound;
    if (deflate(&t->z, Z_FINISH) != Z_STREAM_END)
        return -EIO;
    size_t len = bound - t->z.avail_out;
    int rc = write_all(t->fd, (struct text){out, len});
    if (rc == 0 && t->complete)
        *t->complete += len;
    return rc;
}

static void flush_text(struct trace_out *t)
{
    if (t->error == 0 && t->text.len)
        t->error = write_member(t);
    buf_clear(&t->text);
}

static void put_number(struct buf *b, const char *key, bool has, int64_t value)
{
    if (has)
        buf_printf(b, ",\"%s\":%lld", key, (long long)value);
}

static void put_text(struct buf *b, const char *key, struct text value)
{
    if (!value.len)
        return;
    buf_printf(b, ",\"%s\":", key);
    buf_json_text(b, value);
}

/* Returns the result of the call in the units of the trace: items for fread. */
static int64_t traced_ret(const struct operation *op, const struct performed *done)
{
    if (done->error && done->ret < 0)
        return -1;
    if (call_opens(op->call->kind) || op->call->kind == CALL_DUP)
        return op->has & HAS_RET ? op->ret : done->ret; /* the descriptor in the trace */
    bool items = op->call->traits & CALL_STREAM &&
                 (op->call->kind == CALL_READ || op->call->kind == CALL_WRITE);
    return items && op->has & HAS_SIZE && op->size > 0 ? done->ret / op->size : done->ret;
}

void trace_out_put(struct trace_out *t, const struct operation *op, const struct performed *done,
                   int64_t begin_ns, int64_t taken_ns)
{
    struct buf *b = &t->text;
    pthread_mutex_lock(&t->lock);
    buf_printf(b, "{\"id\":%llu,\"name\":", (unsigned long long)++t->id);
    buf_json_text(b, op->name);
    buf_printf(b,
               ",\"cat\":\"%s\",\"pid\":%lld,\"tid\":%lld,\"ts\":%lld,\"dur\":%lld,\"ph\":\"X\","
               "\"args\":{\"ret\":%lld",
               op->is_stdio ? "STDIO" : "POSIX", (long long)op->lane->pid, (long long)op->lane->tid,
               (long long)(begin_ns / 1000), (long long)((taken_ns + 500) / 1000),
               (long long)traced_ret(op, done));
    put_text(b, "fname", op->path ? text_of(op->path->name) : TEXT(""));
    put_text(b, "newpath", op->path2 ? text_of(op->path2->name) : TEXT(""));
    put_text(b, "hostname", op->lane->host);
    if (op->call->kind == CALL_FOPEN)
        put_text(b, "mode", text_of(op->mode));
    put_number(b, "fd", op->has & HAS_FD, op->fd);
    put_number(b, "count", op->has & HAS_COUNT, op->count);
    put_number(b, "size", op->has & HAS_SIZE, op->size);
    put_number(b, "offset", op->has & HAS_OFFSET, op->offset);
    put_number(b, "whence", op->has & HAS_WHENCE, op->whence);
    put_number(b, "length", op->has & HAS_LENGTH, op->length);
    put_number(b, "flags", op->has & HAS_FLAGS, op->flags);
    buf_puts(b, "}}\n");
    if (b->len >= FLUSH_BYTES)
        flush_text(t);
    pthread_mutex_unlock(&t->lock);
}

int trace_out_close(struct trace_out *t, bool keep, struct err *err)
{
    if (!t)
        return 0;
    buf_puts(&t->text, "]\n");
    flush_text(t);
    int closed = close(t->fd), rc = t->error; /* some file systems report a failed write here */
    t->fd = -1;
    if (rc == 0 && closed < 0)
        rc = -errno;
    if (rc == 0 && keep && rename(t->part, t->path) < 0)
        rc = -errno;
    if (rc < 0 || !keep)
        unlink(t->part);
    if (rc < 0)
        err_set(err, rc, "--output-trace: %s cannot be written: %s", t->path, err_text(rc));
    trace_free(t);
    return rc;
}

/* ---- parts ----------------------------------------------------------------------------------- */

int trace_out_part(const struct trace_out *t)
{
    char *name;
    const char *slash = strrchr(t->path, '/');
    if (asprintf(&name, "%.*s", slash ? (int)(slash - t->path) + 1 : 1, slash ? t->path : ".") < 0)
        return -ENOMEM;
    int fd = open(name, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    free(name);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd < 0 ? -errno : fd;
    if (asprintf(&name, "%s.XXXXXX", t->part) < 0)
        return -ENOMEM;
    fd = mkostemp(name, O_CLOEXEC);
    int rc = fd < 0 ? -errno : fd;
    if (fd >= 0)
        unlink(name);
    free(name);
    return rc;
}

int trace_out_open_part(int fd, _Atomic uint64_t *complete, struct trace_out **ret)
{
    struct trace_out *t = trace_new(fd);
    if (!t)
        return -ENOMEM;
    t->complete = complete;
    *ret = t;
    return 0;
}

int trace_out_close_part(struct trace_out *t)
{
    flush_text(t);
    int rc = t->error;
    trace_free(t);
    return rc;
}

void trace_out_join(struct trace_out *t, int fd, uint64_t complete, int code)
{
    char data[1 << 16];
    flush_text(t);
    t->error = t->error ? t->error : code;
    for (uint64_t at = 0; at < complete && t->error == 0;) {
        size_t want = complete - at < sizeof data ? (size_t)(complete - at) : sizeof data;
        ssize_t n = pread(fd, data, want, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        t->error = n > 0 ? write_all(t->fd, (struct text){data, (size_t)n}) : n < 0 ? -errno : -EIO;
        at += n > 0 ? (size_t)n : 0;
    }
}
