/* replay_plan.c - descriptors and positions, and what files have to be before they are read. */
#include "plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Linux reads and writes at most this much at once; files end at 2^63 - 1. */
static const int64_t transfer_max = 0x7ffff000, file_max = INT64_MAX;
static const char no_space[] = "the file does not fit on the disk";

int plan_init(struct plan *p, struct files *f)
{
    *p = (struct plan){.files = f, .keys = intern_new()};
    return p->keys ? 0 : -ENOMEM;
}

void handle_release(struct handle *h)
{
    if (!h || atomic_fetch_sub(&h->references, 1) != 1)
        return;
    if (h->stream)
        fclose(h->stream);
    else if (h->dir)
        closedir(h->dir);
    else if (h->fd >= 0)
        close(h->fd);
    free(h);
}

void plan_again(struct plan *p)
{
    for (size_t i = 0; i < p->handles_cap; i++) {
        handle_release(p->handles[i]);
        p->handles[i] = NULL;
    }
    files_again(p->files);
}

void plan_done(struct plan *p)
{
    for (size_t i = 0; i < p->handles_cap; i++)
        handle_release(p->handles[i]);
    free(p->handles);
    intern_free(p->keys);
}

/* ---- descriptors ---- */

/* Where the handle of the event's descriptor is kept; NULL: no memory. Streams and descriptors of a file are two. */
static struct handle **handle_place(struct plan *p, const struct event *e, const struct call *c,
                                    uint32_t process, const struct path *path)
{
    struct {
        uint64_t process, what, kind;
    } key = {process, 0, 0};
    if (e->has & HAS_FD)
        key.what = (uint64_t)e->fd;
    else
        key.what = (uintptr_t)(path ? path->file : NULL),
        key.kind = c->traits & CALL_STREAM ? 2 : 1;
    int64_t id = intern_add(p->keys, (struct text){(const char *)&key, sizeof key});
    if (id < 0)
        return NULL;
    if ((size_t)id >= p->handles_cap) {
        size_t cap = (size_t)id * 2 + 1024;
        struct handle **grown = realloc(p->handles, cap * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + p->handles_cap, 0, (cap - p->handles_cap) * sizeof *grown);
        p->handles = grown;
        p->handles_cap = cap;
    }
    return &p->handles[id];
}

static struct handle *handle_new(struct path *path, enum handle_state state)
{
    struct handle *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->references = 1;
    h->state = (int)state;
    h->fd = -1;
    h->path = path;
    return h;
}

/* The number that the opened descriptor has in the trace. */
static struct event opened_as(const struct event *e, const struct call *c)
{
    struct event as = *e;
    as.has &= ~(unsigned)HAS_FD;
    if (!(c->traits & CALL_STREAM) && c->kind != CALL_OPENDIR && (e->has & HAS_RET)) {
        as.has |= HAS_FD;
        as.fd = e->ret;
    }
    return as;
}

static int open_flags(const struct event *e, const struct call *c)
{
    if (c->kind == CALL_CREAT)
        return O_WRONLY | O_CREAT | O_TRUNC;
    if (c->kind == CALL_OPENDIR)
        return O_RDONLY | O_DIRECTORY;
    if (c->kind == CALL_FOPEN) {
        bool both = memchr(e->mode.ptr ? e->mode.ptr : "", '+', e->mode.len);
        switch (e->mode.len ? *e->mode.ptr : 'r') {
        case 'w':
            return (both ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
        case 'a':
            return (both ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
        default:
            return both ? O_RDWR : O_RDONLY;
        }
    }
    if (!(e->has & HAS_FLAGS)) /* not recorded: as the calls after it may need it */
        return O_RDWR | O_CREAT;
    return (int)e->flags &
           (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_SYNC | O_DSYNC | O_DIRECTORY);
}

/* ---- what the file has to be ---- */

static void file_exists_before(struct file *f, bool is_dir)
{
    if (f->first == FIRST_UNKNOWN) {
        f->first = FIRST_NEEDED;
        f->is_dir |= is_dir;
    }
}

static void file_created(struct file *f)
{
    if (f->first == FIRST_UNKNOWN)
        f->first = FIRST_CREATED;
}

/* False: it would not fit on the disk. */
static bool file_counts(struct plan *p, struct file *f, uint64_t bytes)
{
    uint64_t all;
    if (bytes <= f->counted || f->map >= 0)
        return true;
    if (__builtin_add_overflow(p->files->bytes, bytes - f->counted, &all) ||
        all > p->files->bytes_max)
        return false;
    p->files->bytes = all;
    f->counted = bytes;
    return true;
}

static bool file_read(struct plan *p, struct file *f, uint64_t end)
{
    file_exists_before(f, false);
    if (end <= f->size || end <= f->need || f->first != FIRST_NEEDED)
        return true;
    if (p->files->options->prepare == REPLAY_DATA && !file_counts(p, f, end))
        return false;
    f->need = end;
    return true;
}

static bool file_written(struct plan *p, struct file *f, uint64_t from, uint64_t end)
{
    uint64_t bytes = end - from; /* holes take no space */
    if (from <= f->counted && end > bytes)
        bytes = end;
    if (!file_counts(p, f, bytes))
        return false;
    if (end > f->size)
        f->size = end;
    return true;
}

/* ---- calls ---- */

static const char *plan_bytes(const struct event *e, const struct call *c, struct operation *op)
{
    int64_t n = e->has & HAS_COUNT ? e->count : e->has & HAS_SIZE ? e->size : 0;
    if (c->traits & CALL_STREAM) { /* ret and count are items of `size` bytes */
        int64_t items = e->has & HAS_RET ? e->ret : e->has & HAS_COUNT ? e->count : 1;
        int64_t each = e->has & HAS_SIZE ? e->size : 1;
        if (items < 0)
            items = 0;
        if (each < 0 || __builtin_mul_overflow(items, each, &n))
            return "the size is out of range";
    } else if (e->has & HAS_RET) {
        n = e->ret > 0 ? e->ret : 0;
    }
    if (n < 0 || n > transfer_max)
        return "the size is out of range";
    op->bytes = (uint64_t)n;
    return NULL;
}

static const char *plan_transfer(struct plan *p, const struct event *e, const struct call *c,
                                 struct operation *op, struct handle *h)
{
    struct file *f = op->path->file;
    const char *reason = plan_bytes(e, c, op);
    bool at = (c->traits & CALL_AT) && (e->has & HAS_OFFSET);
    int64_t from = at ? e->offset : h->pos, end;
    if (reason)
        return reason;
    if (c->kind == CALL_WRITE && !at && h->append)
        from = (int64_t)f->size;
    if (from < 0 || __builtin_add_overflow(from, (int64_t)op->bytes, &end) || end > file_max)
        return "the offset is out of range";
    op->offset = from;
    if (c->kind == CALL_READ ? !file_read(p, f, (uint64_t)end)
                             : !file_written(p, f, (uint64_t)from, (uint64_t)end))
        return no_space;
    if (!at)
        h->pos = end;
    return NULL;
}

static const char *plan_seek(const struct event *e, const struct call *c, struct operation *op,
                             struct handle *h)
{
    int64_t base = e->whence == SEEK_CUR   ? h->pos
                   : e->whence == SEEK_END ? (int64_t)op->path->file->size
                                           : 0;
    int64_t to;
    if (e->has & HAS_WHENCE ? e->whence < 0 || e->whence > SEEK_END : false)
        return "this kind of seek is not replayed";
    if (!(c->traits & CALL_STREAM) && (e->has & HAS_RET)) {
        if (e->ret >= 0)
            h->pos = e->ret;
        return NULL;
    }
    if (__builtin_add_overflow(base, e->offset, &to) || to < 0)
        return "the offset is out of range";
    h->pos = to;
    return NULL;
}

static const char *plan_handle_call(struct plan *p, const struct event *e, const struct call *c,
                                    struct operation *op, struct handle *h)
{
    switch (c->kind) {
    case CALL_READ:
    case CALL_WRITE:
        return plan_transfer(p, e, c, op, h);
    case CALL_SEEK:
        return plan_seek(e, c, op, h);
    case CALL_FTRUNCATE:
        if (e->length < 0)
            return "the size is out of range";
        h->path->file->size = (uint64_t)e->length;
        return NULL;
    case CALL_MMAP:
        if (e->length < 0 || e->offset < 0 || e->length > file_max - e->offset)
            return "the size is out of range";
        op->bytes = (uint64_t)e->length;
        return file_read(p, h->path->file, (uint64_t)(e->offset + e->length)) ? NULL : no_space;
    default:
        return NULL;
    }
}

static int plan_open(struct plan *p, const struct event *e, const struct call *c, uint32_t process,
                     struct operation *op)
{
    struct file *f = op->path->file;
    struct event as = opened_as(e, c);
    struct handle **place = handle_place(p, &as, c, process, op->path);
    struct handle *h = place ? handle_new(op->path, HANDLE_WAITING) : NULL;
    bool worked = !(e->has & HAS_RET) || e->ret >= 0;
    if (!h)
        return -ENOMEM;
    op->flags = open_flags(e, c);
    h->append = op->flags & O_APPEND;
    h->is_stream = c->traits & CALL_STREAM;
    h->is_dir = c->kind == CALL_OPENDIR;
    if (worked) {
        if (op->flags & O_CREAT && (op->flags & O_ACCMODE) != O_RDONLY &&
            (e->has & HAS_FLAGS || c->kind != CALL_OPEN))
            file_created(f);
        else
            file_exists_before(f, op->flags & O_DIRECTORY);
        if (op->flags & O_TRUNC)
            f->size = 0;
        handle_release(*place);
        *place = h;
        atomic_fetch_add(&h->references, 1);
    }
    op->handle = h;
    return 0;
}

static int plan_on_handle(struct plan *p, const struct event *e, const struct call *c,
                          uint32_t process, struct operation *op, const char **ret_reason)
{
    struct handle **place = handle_place(p, e, c, process, op->path);
    if (!place)
        return -ENOMEM;
    struct handle *h = *place;
    if (h && op->path && h->path != op->path && h->path->file != op->path->file) {
        handle_release(h); /* the trace lacks the calls that closed it and opened another file */
        *place = h = NULL;
    }
    if (!h && !op->path) {
        *ret_reason = "the descriptor was opened outside of the trace, and no file is named";
        return 0;
    }
    if (!h && c->kind == CALL_CLOSE) {
        *ret_reason = "the trace has no call that opened it";
        return 0;
    }
    if (!h) {
        h = *place = handle_new(op->path, HANDLE_LAZY);
        if (!h)
            return -ENOMEM;
        h->is_stream = c->traits & CALL_STREAM;
        h->is_dir = c->kind == CALL_READDIR;
        file_exists_before(op->path->file, h->is_dir);
    }
    op->path = h->path;
    op->handle = h;
    *ret_reason = plan_handle_call(p, e, c, op, h);
    if (*ret_reason) {
        op->handle = NULL;
        return 0;
    }
    if (c->kind == CALL_CLOSE)
        *place = NULL; /* its reference goes to the operation */
    else
        atomic_fetch_add(&h->references, 1);
    if (c->kind == CALL_DUP && (e->has & HAS_RET) && e->ret >= 0) {
        struct event as = *e;
        as.fd = e->ret;
        struct handle **other = handle_place(p, &as, c, process, op->path);
        if (!other)
            return -ENOMEM;
        handle_release(*other);
        *other = h;
        atomic_fetch_add(&h->references, 1);
    }
    return 0;
}

static void plan_path_call(const struct event *e, const struct call *c, struct operation *op)
{
    struct file *f = op->path->file;
    bool known = e->has & HAS_RET, worked = known && e->ret >= 0;
    switch (c->kind) {
    case CALL_MKDIR:
        if (!known || worked)
            file_created(f);
        f->is_dir = true;
        break;
    case CALL_RMDIR:
        if (!known || worked)
            file_exists_before(f, true);
        break;
    case CALL_UNLINK:
    case CALL_REMOVE:
    case CALL_RENAME:
    case CALL_LINK:
    case CALL_TRUNCATE:
        if (!known || worked)
            file_exists_before(f, false);
        break;
    default: /* without a result it is not known whether the file was there */
        if (worked)
            file_exists_before(f, false);
    }
    if (op->path2 && op->path2->file && (c->kind == CALL_RENAME || c->kind == CALL_LINK)) {
        file_created(op->path2->file);
        op->path2->file->size = f->size;
    }
    if (op->path2 && op->path2->file && c->kind == CALL_SYMLINK)
        file_created(op->path2->file);
    if (c->kind == CALL_UNLINK || c->kind == CALL_REMOVE || c->kind == CALL_RENAME)
        f->size = 0;
}

static int plan_paths(struct plan *p, const struct event *e, const struct call *c,
                      struct operation *op, const char **ret_reason)
{
    bool two = c->kind == CALL_RENAME || c->kind == CALL_LINK || c->kind == CALL_SYMLINK;
    if (e->file.len && !(op->path = files_path(p->files, e->file)))
        return -ENOMEM;
    if (two && e->file2.len && !(op->path2 = files_path(p->files, e->file2)))
        return -ENOMEM;
    if (op->path && op->path->refusal)
        *ret_reason = op->path->refusal;
    else if (op->path2 && op->path2->refusal)
        *ret_reason = op->path2->refusal;
    else if (!op->path && !(call_uses_handle(c->kind) && (e->has & HAS_FD)))
        *ret_reason = "the event names no file";
    else if (two && !op->path2)
        *ret_reason = "the event names no second file";
    return 0;
}

int plan_event(struct plan *p, const struct event *e, const struct call *c, uint32_t process,
               struct operation *op, const char **ret_reason)
{
    *ret_reason = c->kind == CALL_NONE ? c->reason : NULL;
    if (*ret_reason)
        return 0;
    op->call = c;
    op->ret = e->ret;
    op->count = e->count;
    op->size = e->size;
    op->offset = e->offset;
    op->fd = e->fd;
    op->flags = e->flags;
    op->length = e->length;
    op->whence = e->whence;
    op->has = e->has;
    size_t len = e->mode.len < sizeof op->mode - 1 ? e->mode.len : sizeof op->mode - 1;
    memcpy(op->mode, e->mode.ptr ? e->mode.ptr : "", len);
    op->mode[len] = '\0';
    int rc = plan_paths(p, e, c, op, ret_reason);
    if (rc < 0 || *ret_reason)
        return rc;
    if (call_opens(c->kind))
        return plan_open(p, e, c, process, op);
    if (call_uses_handle(c->kind) && !(c->kind == CALL_SYNC && !op->path && !(e->has & HAS_FD)))
        return plan_on_handle(p, e, c, process, op, ret_reason);
    if (c->kind == CALL_TRUNCATE && op->length < 0)
        *ret_reason = "the size is out of range";
    if (!*ret_reason)
        plan_path_call(e, c, op);
    return 0;
}
