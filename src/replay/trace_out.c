/* trace_out.c - lines through zlib, under a lock. */
#include "trace_out.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { FLUSH_BYTES = 1 << 18 };

struct trace_out {
    pthread_mutex_t lock;
    gzFile file;
    struct buf text;
    uint64_t id;
    int error;
    const char *path;
    char *part; /* it is written to, and gets its name at the end */
};

int trace_out_open(const char *path, struct trace_out **ret, struct err *err)
{
    char *part;
    if (asprintf(&part, "%s.part", path) < 0)
        return -ENOMEM;
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        err_set(err, -errno, "--output-trace: %s: %s", part, strerror(errno));
        free(part);
        return err ? err->code : -EIO;
    }
    struct trace_out *t = calloc(1, sizeof *t);
    gzFile file = t ? gzdopen(fd, "wb1") : NULL;
    if (!file) {
        close(fd);
        free(t);
        free(part);
        return -ENOMEM;
    }
    t->part = part;
    pthread_mutex_init(&t->lock, NULL);
    t->file = file;
    t->path = path;
    buf_puts(&t->text, "[\n");
    *ret = t;
    return 0;
}

static void flush_text(struct trace_out *t)
{
    if (t->text.len && gzwrite(t->file, t->text.data, (unsigned)t->text.len) <= 0)
        t->error = -EIO;
    buf_clear(&t->text);
}

static void put_number(struct buf *b, const char *key, bool has, int64_t value)
{
    if (has)
        buf_printf(b, ",\"%s\":%lld", key, (long long)value);
}

/* What the call returned, in the units of the trace: items for fread. */
static int64_t traced_ret(const struct operation *op, const struct performed *done)
{
    if (done->error && done->ret < 0)
        return -1;
    if (call_opens(op->call->kind) || op->call->kind == CALL_DUP)
        return op->has & HAS_RET ? op->ret : done->ret; /* its number there */
    bool items = op->call->traits & CALL_STREAM &&
                 (op->call->kind == CALL_READ || op->call->kind == CALL_WRITE);
    return items && op->has & HAS_SIZE && op->size > 0 ? done->ret / op->size : done->ret;
}

void trace_out_put(struct trace_out *t, const struct operation *op, struct text name,
                   struct text cat, int64_t pid, int64_t tid, const struct performed *done,
                   int64_t begin_ns, int64_t taken_ns)
{
    struct buf *b = &t->text;
    pthread_mutex_lock(&t->lock);
    buf_printf(b, "{\"id\":%llu,\"name\":", (unsigned long long)++t->id);
    buf_json_text(b, name);
    buf_puts(b, ",\"cat\":");
    buf_json_text(b, cat);
    buf_printf(
        b,
        ",\"pid\":%lld,\"tid\":%lld,\"ts\":%lld,\"dur\":%lld,\"ph\":\"X\",\"args\":{\"ret\":%lld",
        (long long)pid, (long long)tid, (long long)(begin_ns / 1000),
        (long long)((taken_ns + 500) / 1000), (long long)traced_ret(op, done));
    if (op->path) {
        buf_puts(b, ",\"fname\":");
        buf_json_text(b, text_of(op->path->name));
    }
    if (op->path2) {
        buf_puts(b, ",\"newpath\":");
        buf_json_text(b, text_of(op->path2->name));
    }
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
    t->error = t->text.error ? t->text.error : t->error;
    flush_text(t);
    int rc = gzclose(t->file) == Z_OK ? t->error : -EIO;
    if (rc == 0 && keep && rename(t->part, t->path) < 0)
        rc = -errno;
    if (rc < 0 || !keep)
        unlink(t->part);
    free(t->part);
    if (rc < 0)
        err_set(err, rc, "--output-trace: %s cannot be written completely", t->path);
    buf_done(&t->text);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return rc;
}
