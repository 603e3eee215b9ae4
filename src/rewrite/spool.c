/* spool.c - a nameless file for bytes whose number must be known before the first one is sent. */
#include "rewrite/spool.h"

#include "dftracerd/failpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool {
    int fd;
    uint64_t size, read; /* read: bytes that spool_read has returned */
    struct disk_budget *budget;
};

int disk_budget_charge(struct disk_budget *b, uint64_t bytes)
{
    uint64_t used = b ? b->used : 0;

    if (!b)
        return 0;
    do {
        if (b->limit && (used > b->limit || bytes > b->limit - used))
            return -ENOSPC;
    } while (!atomic_compare_exchange_weak(&b->used, &used, used + bytes));
    return 0;
}

void disk_budget_release(struct disk_budget *b, uint64_t bytes)
{
    if (b)
        b->used -= bytes;
}

int spool_create_file(const char *dir)
{
    struct buf path = {0};

    buf_printf(&path, "%s/spool-XXXXXX", dir);
    buf_putc(&path, '\0');
    int fd = path.error                ? path.error
             : failpoint("spool.make") ? -errno
                                       : mkostemp(path.data, O_CLOEXEC);
    if (fd == -1)
        fd = -errno;
    if (fd >= 0)
        unlink(path.data);
    buf_done(&path);
    return fd;
}

static int set_failed(struct err *err, const char *what, int number)
{
    return err_set(err, -number, "cannot %s the temporary file: %s", what, strerror(number));
}

int spool_new(const char *dir, struct disk_budget *budget, struct err *err, struct spool **ret)
{
    struct spool *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->budget = budget;
    s->fd = spool_create_file(dir);
    if (s->fd < 0) {
        int rc = set_failed(err, "create", -s->fd);
        free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

int spool_write(struct spool *s, struct text data, struct err *err)
{
    if (disk_budget_charge(s->budget, data.len) < 0)
        return err_set(err, -ENOSPC,
                       "the temporary files of all requests exceed the %llu bytes of disk space "
                       "that the daemon may use for them (option spool-size)",
                       (unsigned long long)s->budget->limit);
    while (data.len) {
        ssize_t n =
            failpoint("spool.write") ? -1 : pwrite(s->fd, data.ptr, data.len, (off_t)s->size);
        if (n < 0 && errno != EINTR) {
            int rc = set_failed(err, "write", errno);
            disk_budget_release(s->budget, data.len);
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
    char *to = buf_reserve(out, want);
    if (!to)
        return -ENOMEM;
    ssize_t n = failpoint("spool.read") ? -1 : pread(s->fd, to, want, (off_t)s->read);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n <= 0)
        return set_failed(err, "read", n ? errno : EIO);
    s->read += (uint64_t)n;
    out->len += (size_t)n;
    return 0;
}

void spool_clear(struct spool *s)
{
    if (ftruncate(s->fd, 0) < 0)
        return;
    disk_budget_release(s->budget, s->size);
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
    disk_budget_release(s->budget, s->size);
    close(s->fd);
    free(s);
}
