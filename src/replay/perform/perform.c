/* perform.c - performs the calls. */
#include "replay/perform/perform.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PART_BYTES = 1 << 20, PARTS_MAX = REPLAY_TRANSFER_MAX / PART_BYTES };

void performer_done(struct performer *p)
{
    free(p->data);
}

/* ---- handles --------------------------------------------------------------------------------- */

static const char *stream_mode(int flags, const char *mode)
{
    int access = flags & O_ACCMODE;
    if (access == O_RDONLY)
        return "r";
    if (*mode == 'a' || *mode == 'w')
        return *mode == 'a' ? (access == O_RDWR ? "a+" : "a") : (access == O_RDWR ? "w+" : "w");
    return access == O_RDWR ? "r+" : "w";
}

/* Opens a file, read-only if it may only be read and the trace does not show that it was written
 * to. */
static int open_file(struct performer *p, const struct handle *h, int *flags)
{
    int fd = root_open_file(p->root, h->path->file, *flags);
    bool refused = fd == ROOT_READ_ONLY || fd == ROOT_NOT_OURS;
    if (!refused || *flags & O_TRUNC || (*flags & O_ACCMODE) != O_RDWR)
        return fd;
    *flags &= O_DIRECTORY;
    return root_open_file(p->root, h->path->file, *flags);
}

static int64_t handle_open(struct performer *p, struct handle *h, int flags, const char *mode)
{
    int fd = open_file(p, h, &flags), error = fd < 0 ? fd : 0;
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

/* Returns 0 if the handle is open. The first thread opens a lazy handle. */
static int64_t handle_ready(struct performer *p, struct handle *h)
{
    enum handle_state state = handle_wait(h);
    if (state != HANDLE_OPENING)
        return state == HANDLE_OPEN ? 0 : -EBADF;
    int64_t fd = handle_open(p, h, h->is_dir ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT, "r");
    return fd < 0 ? fd : 0;
}

/* ---- transfers ------------------------------------------------------------------------------- */

static int64_t transfer_stream(FILE *stream, char *data, size_t len, bool is_read)
{
    errno = 0;
    size_t n = is_read ? fread(data, 1, len, stream) : fwrite(data, 1, len, stream);
    if (n == 0 && len && ferror(stream)) {
        int64_t rc = errno ? -errno : -EIO;
        clearerr(stream);
        return rc;
    }
    return (int64_t)n;
}

static char written_data[PART_BYTES];
static pthread_once_t data_once = PTHREAD_ONCE_INIT;

static void fill_data(void)
{
    memset(written_data, 'A', sizeof written_data);
}

/* Uses the same memory repeatedly, so that a large transfer is one call, too. readv and writev get
 * at least two parts. */
static int transfer_parts(struct iovec *parts, char *data, size_t len, bool is_vector)
{
    int count = 0;
    if (is_vector && len <= PART_BYTES) {
        parts[count++] = (struct iovec){data, len / 2};
        parts[count++] = (struct iovec){data + len / 2, len - len / 2};
        return count;
    }
    for (size_t at = 0; at < len; at += PART_BYTES)
        parts[count++] = (struct iovec){data, len - at < PART_BYTES ? len - at : PART_BYTES};
    return count;
}

static int64_t transfer_part(const struct operation *op, char *data, size_t len, int64_t at)
{
    int fd = op->handle->fd;
    bool is_read = op->call->kind == CALL_READ, is_vector = op->call->traits & CALL_VECTOR,
         has_at = op->call->traits & CALL_AT && op->has & HAS_OFFSET;
    struct iovec parts[PARTS_MAX];
    ssize_t n;
    if (is_vector || len > PART_BYTES) {
        int count = transfer_parts(parts, data, len, is_vector);
        if (has_at)
            n = is_read ? preadv(fd, parts, count, at) : pwritev(fd, parts, count, at);
        else
            n = is_read ? readv(fd, parts, count) : writev(fd, parts, count);
    } else if (has_at) {
        n = is_read ? pread(fd, data, len, at) : pwrite(fd, data, len, at);
    } else {
        n = is_read ? read(fd, data, len) : write(fd, data, len);
    }
    return n < 0 ? -errno : n;
}

static int64_t transfer_bytes(struct performer *p, const struct operation *op)
{
    FILE *stream = op->handle->stream;
    bool is_read = op->call->kind == CALL_READ;
    const uint64_t max = stream ? PART_BYTES : REPLAY_TRANSFER_MAX;
    uint64_t done = 0;
    pthread_once(&data_once, fill_data);
    if (is_read && !p->data && !(p->data = malloc(PART_BYTES)))
        return -ENOMEM;
    char *data = is_read ? p->data : written_data;
    do {
        size_t len = (size_t)(op->bytes - done < max ? op->bytes - done : max);
        int64_t n = stream ? transfer_stream(stream, data, len, is_read)
                           : transfer_part(op, data, len, op->offset + (int64_t)done);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return done ? (int64_t)done : n;
        done += (uint64_t)n;
        if ((size_t)n < len)
            break;
    } while (done < op->bytes && !*p->stopped);
    return (int64_t)done;
}

static int64_t perform_seek(const struct operation *op)
{
    struct handle *h = op->handle;
    int whence = op->has & HAS_WHENCE ? (int)op->whence : SEEK_SET;
    if (h->stream)
        return fseeko(h->stream, op->offset, whence) < 0 ? -errno : 0;
    int64_t to = lseek(h->fd, op->offset, whence);
    return to < 0 ? -errno : to;
}

static int64_t perform_sync(struct operation *op)
{
    struct handle *h = op->handle;
    if (!h)
        return 0; /* fflush(NULL), which flushes all streams */
    if (h->stream)
        return fflush(h->stream) < 0 ? -errno : 0;
    int rc = op->call->traits & CALL_DATA ? fdatasync(h->fd) : fsync(h->fd);
    return rc < 0 ? -errno : 0;
}

/* The kernel reads the pages (MADV_POPULATE_READ): if the file is truncated, that is an error
 * instead of SIGBUS. */
static int64_t map_part(int fd, int64_t from, int64_t end)
{
    long page = sysconf(_SC_PAGESIZE);
    int64_t start = from & ~(page - 1);
    size_t len = (size_t)(end - start);
    void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, start);
    if (at == MAP_FAILED)
        return -errno;
    int64_t rc = madvise(at, len, 22 /* MADV_POPULATE_READ */) < 0 && errno != EINVAL ? -errno : 0;
    munmap(at, len);
    return rc;
}

/* Maps a file in parts, so that the replay can be stopped within a huge one. Returns the bytes. */
static int64_t map_file(const struct performer *p, const struct operation *op)
{
    int fd = handle_fd(op->handle);
    struct stat s;
    if (fstat(fd, &s) < 0)
        return -errno;
    if (op->offset >= s.st_size || !op->length)
        return op->length ? -ENXIO : -EINVAL;
    int64_t end = s.st_size - op->offset < op->length ? s.st_size : op->offset + op->length;
    for (int64_t from = op->offset; from < end && !*p->stopped; from += REPLAY_TRANSFER_MAX) {
        int64_t rc =
            map_part(fd, from, end - from > REPLAY_TRANSFER_MAX ? from + REPLAY_TRANSFER_MAX : end);
        if (rc < 0)
            return rc;
    }
    return end - op->offset;
}

static int64_t perform_on_handle(struct performer *p, struct operation *op)
{
    struct handle *h = op->handle;
    struct stat s;
    int64_t rc = h ? handle_ready(p, h) : 0;
    if (rc < 0 && op->call->kind != CALL_CLOSE)
        return rc;
    switch (op->call->kind) {
    case CALL_CLOSE:
        op->handle = NULL;
        /* The last release closes it. `rc`: the result of opening it. */
        int closed = handle_release(h);
        return rc < 0 ? rc : closed;
    case CALL_DUP:
        return op->ret;
    case CALL_READ:
    case CALL_WRITE:
        return transfer_bytes(p, op);
    case CALL_SEEK:
        return perform_seek(op);
    case CALL_TELL:
        return h->stream ? ftello(h->stream) : lseek(h->fd, 0, SEEK_CUR);
    case CALL_SYNC:
        return perform_sync(op);
    case CALL_FTRUNCATE:
        return ftruncate(handle_fd(h), op->length) < 0 ? -errno : 0;
    case CALL_FSTAT:
        return fstat(handle_fd(h), &s) < 0 ? -errno : 0;
    case CALL_READDIR:
        if (h->dir)
            (void)!readdir(h->dir);
        return 0;
    case CALL_MMAP:
        return map_file(p, op);
    default:
        return -ENOSYS;
    }
}

static int64_t truncate_path(struct performer *p, struct operation *op)
{
    int fd = root_open_file(p->root, op->path->file, O_WRONLY);
    if (fd < 0)
        return fd;
    int64_t rc = ftruncate(fd, op->length) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

static int64_t perform_on_path(struct performer *p, struct operation *op)
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
        rc = root_make_dir(p->root, f);
        return rc == -EEXIST && atomic_exchange(&f->early, false) ? 0 : rc;
    case CALL_RMDIR:
        return root_remove(p->root, f, true);
    case CALL_UNLINK:
        return root_remove(p->root, f, false);
    case CALL_REMOVE:
        rc = root_remove(p->root, f, false);
        return rc == -EISDIR ? root_remove(p->root, f, true) : rc;
    case CALL_RENAME:
        return root_rename(p->root, f, to, op->moved);
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
        rc = perform_on_handle(p, op);
    else
        rc = perform_on_path(p, op);
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
