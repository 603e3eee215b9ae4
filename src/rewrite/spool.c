/* spool.c - a nameless file for bytes whose number must be known before the first one is sent. */
#include "dftracerd/failpoint.h"
#include "dftracerd/rewrite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool {
    int fd;
    uint64_t size, read;
    struct disk_budget *budget;
};

static void release_bytes(struct spool *s)
{
    if (s->budget)
        s->budget->used -= s->size;
}

static int failed(struct err *err, const char *what, int number)
{
    return err_set(err, -number, "cannot %s the temporary file: %s", what, strerror(number));
}

int spool_new(const char *dir, struct disk_budget *budget, struct err *err, struct spool **ret)
{
    struct buf path = {0};
    struct spool *s = calloc(1, sizeof *s);
    buf_printf(&path, "%s/spool-XXXXXX", dir);
    buf_putc(&path, '\0');
    int rc = !s || path.error ? -ENOMEM : 0;
    if (rc == 0 && (s->fd = failpoint("spool.make") ? -1 : mkostemp(path.data, O_CLOEXEC)) < 0)
        rc = failed(err, "create", errno);
    if (rc == 0)
        unlink(path.data);
    buf_done(&path);
    if (rc < 0)
        return free(s), rc;
    s->budget = budget;
    *ret = s;
    return 0;
}

static int charge_bytes(struct spool *s, uint64_t len, struct err *err)
{
    struct disk_budget *b = s->budget;
    if (!b)
        return 0;
    uint64_t used = atomic_fetch_add(&b->used, len) + len;
    if (!b->limit || used <= b->limit)
        return 0;
    b->used -= len;
    return err_set(err, -ENOSPC,
                   "the temporary files of all requests exceed the %llu bytes of disk space that "
                   "the daemon may use for them (option spool-size)",
                   (unsigned long long)b->limit);
}

int spool_write(struct spool *s, struct text data, struct err *err)
{
    int rc = charge_bytes(s, data.len, err);
    if (rc < 0)
        return rc;
    while (data.len) {
        ssize_t n =
            failpoint("spool.write") ? -1 : pwrite(s->fd, data.ptr, data.len, (off_t)s->size);
        if (n < 0 && errno != EINTR) {
            rc = failed(err, "write", errno);
            if (s->budget)
                s->budget->used -= data.len;
            return rc;
        }
        if (n > 0) {
            s->size += (uint64_t)n;
            data.ptr += n;
            data.len -= (size_t)n;
        }
    }
    return 0;
}

uint64_t spool_size(const struct spool *s)
{
    return s->size;
}

int spool_read(struct spool *s, size_t max, struct buf *out, struct err *err)
{
    uint64_t left = s->size - s->read;
    size_t want = left < max ? (size_t)left : max;
    if (!want)
        return left ? 0 : ERR_END;
    char *room = buf_reserve(out, want);
    if (!room)
        return -ENOMEM;
    ssize_t n = failpoint("spool.read") ? -1 : pread(s->fd, room, want, (off_t)s->read);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        return failed(err, "read", n ? errno : EIO);
    s->read += (uint64_t)n;
    out->len += (size_t)n;
    return 0;
}

void spool_clear(struct spool *s)
{
    if (ftruncate(s->fd, 0) < 0)
        return;
    release_bytes(s);
    s->size = s->read = 0;
}

int spool_fd(const struct spool *s)
{
    return s->fd;
}

void spool_free(struct spool *s)
{
    if (!s)
        return;
    release_bytes(s);
    close(s->fd);
    free(s);
}
