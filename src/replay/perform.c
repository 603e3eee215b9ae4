/* perform.c - the calls themselves. */
#include "perform.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t handle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handle_changed = PTHREAD_COND_INITIALIZER;

void performer_done(struct performer *p)
{
    free(p->data);
}

/* Memory for a transfer; larger ones are done in several calls. */
static char *transfer_memory(struct performer *p, uint64_t bytes)
{
    size_t want = bytes < REPLAY_BUFFER_MAX ? (size_t)bytes : REPLAY_BUFFER_MAX;
    if (want <= p->cap && p->data)
        return p->data;
    want = want < 4096 ? 4096 : want;
    free(p->data);
    p->data = malloc(want);
    p->cap = p->data ? want : 0;
    if (p->data)
        memset(p->data, 'A', want);
    return p->data;
}

/* ---- handles ---- */

static void handle_set(struct handle *h, enum handle_state state)
{
    pthread_mutex_lock(&handle_lock);
    h->state = (int)state;
    pthread_cond_broadcast(&handle_changed);
    pthread_mutex_unlock(&handle_lock);
}

static const char *stream_mode(int flags, const char *mode)
{
    bool both = (flags & O_ACCMODE) == O_RDWR;
    if (*mode == 'a' || *mode == 'w')
        return *mode == 'a' ? (both ? "a+" : "a") : (both ? "w+" : "w");
    return both ? "r+" : "r";
}

static int64_t handle_open(struct performer *p, struct handle *h, int flags, const char *mode)
{
    int fd = root_open_file(p->root, h->path->file, flags);
    if (fd == ROOT_READ_ONLY || fd == ROOT_NOT_OURS)
        if (!(flags & O_TRUNC) && (flags & O_ACCMODE) == O_RDWR)
            fd = root_open_file(p->root, h->path->file, flags & O_DIRECTORY);
    int error = fd < 0 ? fd : 0;
    if (fd >= 0 && h->is_dir && !(h->dir = fdopendir(fd)))
        error = -errno;
    else if (fd >= 0 && h->is_stream && !(h->stream = fdopen(fd, stream_mode(flags, mode))))
        error = -errno;
    if (error && fd >= 0)
        close(fd);
    h->fd = error ? -1 : fd;
    handle_set(h, error ? HANDLE_FAILED : HANDLE_OPEN);
    return error ? error : fd;
}

/* 0 when it is open. A lazy handle is opened by the first thread that comes. */
static int64_t handle_ready(struct performer *p, struct handle *h)
{
    if (atomic_load(&h->state) == HANDLE_OPEN)
        return 0;
    pthread_mutex_lock(&handle_lock);
    while (h->state == HANDLE_WAITING || h->state == HANDLE_OPENING)
        pthread_cond_wait(&handle_changed, &handle_lock);
    bool lazy = h->state == HANDLE_LAZY;
    if (lazy)
        h->state = HANDLE_OPENING;
    pthread_mutex_unlock(&handle_lock);
    if (lazy) {
        int64_t fd = handle_open(p, h, h->is_dir ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT, "r");
        return fd < 0 ? fd : 0;
    }
    return h->state == HANDLE_OPEN ? 0 : -EBADF;
}

/* ---- transfers ---- */

static int64_t fails(void)
{
    return -errno;
}

static int64_t transfer_once(const struct operation *op, char *data, size_t len, int64_t at)
{
    struct handle *h = op->handle;
    bool is_read = op->call->kind == CALL_READ,
         has_at = (op->call->traits & CALL_AT) && (op->has & HAS_OFFSET);
    struct iovec parts[2] = {{data, len / 2}, {data + len / 2, len - len / 2}};
    ssize_t n;
    if (h->stream)
        n = (ssize_t)(is_read ? fread(data, 1, len, h->stream) : fwrite(data, 1, len, h->stream));
    else if (op->call->traits & CALL_VECTOR && has_at)
        n = is_read ? preadv(h->fd, parts, 2, at) : pwritev(h->fd, parts, 2, at);
    else if (op->call->traits & CALL_VECTOR)
        n = is_read ? readv(h->fd, parts, 2) : writev(h->fd, parts, 2);
    else if (has_at)
        n = is_read ? pread(h->fd, data, len, at) : pwrite(h->fd, data, len, at);
    else
        n = is_read ? read(h->fd, data, len) : write(h->fd, data, len);
    return n < 0 ? fails() : n;
}

static int64_t transfer(struct performer *p, const struct operation *op)
{
    char *data = transfer_memory(p, op->bytes);
    uint64_t done = 0;
    if (!data)
        return -ENOMEM;
    do {
        size_t len = op->bytes - done < p->cap ? (size_t)(op->bytes - done) : p->cap;
        int64_t n = transfer_once(op, data, len, op->offset + (int64_t)done);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return done ? (int64_t)done : n;
        done += (uint64_t)n;
        if ((size_t)n < len)
            break;
    } while (done < op->bytes);
    return (int64_t)done;
}

static int64_t seek(const struct operation *op)
{
    struct handle *h = op->handle;
    int whence = op->has & HAS_WHENCE ? (int)op->whence : SEEK_SET;
    if (h->stream)
        return fseeko(h->stream, op->offset, whence) < 0 ? fails() : 0;
    int64_t to = lseek(h->fd, op->offset, whence);
    return to < 0 ? fails() : to;
}

static int64_t sync_file(struct operation *op)
{
    struct handle *h = op->handle;
    if (!h)
        return 0; /* fflush(NULL): of all streams */
    if (h->stream)
        return fflush(h->stream) < 0 ? fails() : 0;
    int rc = op->call->traits & CALL_DATA ? fdatasync(h->fd) : fsync(h->fd);
    return rc < 0 ? fails() : 0;
}

/* The pages are read by the kernel (MADV_POPULATE_READ): a file that is too short is an error, and raises no SIGBUS. */
static int64_t map_file(const struct operation *op)
{
    struct handle *h = op->handle;
    int fd = h->stream ? fileno(h->stream) : h->fd;
    long page = sysconf(_SC_PAGESIZE);
    struct stat s;
    if (fstat(fd, &s) < 0)
        return fails();
    if (op->offset >= s.st_size || !op->length)
        return op->length ? -ENXIO : -EINVAL;
    size_t len =
        s.st_size - op->offset < op->length ? (size_t)(s.st_size - op->offset) : (size_t)op->length;
    void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, op->offset & ~(page - 1));
    if (at == MAP_FAILED)
        return fails();
    madvise(at, len, 22 /* MADV_POPULATE_READ */);
    munmap(at, len);
    return (int64_t)len;
}

static int64_t on_handle(struct performer *p, struct operation *op)
{
    struct handle *h = op->handle;
    struct stat s;
    int64_t rc = h ? handle_ready(p, h) : 0;
    if (rc < 0 && op->call->kind != CALL_CLOSE)
        return rc;
    switch (op->call->kind) {
    case CALL_CLOSE:
        return rc == -EBADF ? -EBADF : 0; /* closed with the last reference */
    case CALL_DUP:
        return op->ret;
    case CALL_READ:
    case CALL_WRITE:
        return transfer(p, op);
    case CALL_SEEK:
        return seek(op);
    case CALL_TELL:
        return h->stream ? ftello(h->stream) : lseek(h->fd, 0, SEEK_CUR);
    case CALL_SYNC:
        return sync_file(op);
    case CALL_FTRUNCATE:
        return ftruncate(h->stream ? fileno(h->stream) : h->fd, op->length) < 0 ? fails() : 0;
    case CALL_FSTAT:
        return fstat(h->stream ? fileno(h->stream)
                     : h->dir  ? dirfd(h->dir)
                               : h->fd,
                     &s) < 0
                   ? fails()
                   : 0;
    case CALL_READDIR:
        if (h->dir)
            (void)!readdir(h->dir);
        return 0;
    case CALL_MMAP:
        return map_file(op);
    default:
        return -ENOSYS;
    }
}

static int64_t truncate_path(struct performer *p, struct operation *op)
{
    int fd = root_open_file(p->root, op->path->file, O_WRONLY);
    if (fd < 0)
        return fd;
    int64_t rc = ftruncate(fd, op->length) < 0 ? fails() : 0;
    close(fd);
    return rc;
}

static int64_t on_path(struct performer *p, struct operation *op)
{
    struct file *f = op->path->file, *to = op->path2 ? op->path2->file : NULL;
    char link[PATH_MAX];
    struct stat s;
    int64_t rc;
    switch (op->call->kind) {
    case CALL_STAT:
    case CALL_ACCESS:
        return root_stat(p->root, f, &s);
    case CALL_READLINK:
        return root_readlink(p->root, f, link, sizeof link);
    case CALL_TRUNCATE:
        return truncate_path(p, op);
    case CALL_MKDIR:
        return root_make_dir(p->root, f);
    case CALL_RMDIR:
        return root_remove(p->root, f, true);
    case CALL_UNLINK:
        return root_remove(p->root, f, false);
    case CALL_REMOVE:
        rc = root_remove(p->root, f, false);
        return rc == -EISDIR ? root_remove(p->root, f, true) : rc;
    case CALL_RENAME:
        return root_rename(p->root, f, to);
    case CALL_LINK:
        return root_link(p->root, f, to);
    case CALL_SYMLINK:
        return root_symlink(p->root, f, to);
    default:
        return -ENOSYS;
    }
}

void perform(struct performer *p, struct operation *op, struct performed *ret)
{
    int64_t rc;
    if (call_opens(op->call->kind))
        rc = handle_open(p, op->handle, (int)op->flags, op->mode);
    else if (call_uses_handle(op->call->kind))
        rc = on_handle(p, op);
    else
        rc = on_path(p, op);
    bool moves =
        op->call->kind == CALL_READ || op->call->kind == CALL_WRITE || op->call->kind == CALL_MMAP;
    *ret = (struct performed){.ret = rc,
                              .bytes = moves && rc > 0 ? (uint64_t)rc : 0,
                              .error = rc < 0 ? root_error((int)rc) : NULL};
    if (moves && rc >= 0 && (uint64_t)rc < op->bytes && op->call->kind != CALL_MMAP)
        ret->error = "fewer bytes than in the trace";
    handle_release(op->handle);
    op->handle = NULL;
}
