/* plan.c - converts an event to bytes, positions, and the handle that it uses. */
#include "replay/plan/order.h"
#include "replay/plan/plan_parts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Linux transfers at most this number of bytes at once; files end at 2^63 - 1. */
static const int64_t transfer_max = 0x7ffff000, file_max = INT64_MAX;
static const char no_space[] = "the file does not fit on the disk",
                  bad_size[] = "the size is out of range",
                  bad_offset[] = "the offset is out of range";

void operation_drop(struct operation *op)
{
    if (op->handle && op->call && call_opens(op->call->kind))
        handle_set(op->handle, HANDLE_FAILED);
    handle_release(op->handle);
    op->handle = NULL;
    order_ended(op);
}

static bool has_failed(const struct event *e)
{
    return e->has & HAS_RET && e->ret < 0;
}

static const char *plan_bytes(const struct event *e, const struct call *c, struct operation *op)
{
    int64_t n = e->has & HAS_COUNT ? e->count : e->has & HAS_SIZE ? e->size : 0;
    if (c->traits & CALL_STREAM) { /* ret and count are items of `size` bytes */
        int64_t items = e->has & HAS_RET ? e->ret : e->has & HAS_COUNT ? e->count : 1;
        int64_t each = e->has & HAS_SIZE ? e->size : 1;
        if (items < 0)
            items = 0;
        if (each < 0 || __builtin_mul_overflow(items, each, &n))
            return bad_size;
    } else if (e->has & HAS_RET) {
        n = e->ret > 0 ? e->ret : 0;
    }
    if (n < 0 || n > transfer_max)
        return bad_size;
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
        from = (int64_t)file_end(f);
    if (from < 0 || __builtin_add_overflow(from, (int64_t)op->bytes, &end) || end > file_max)
        return bad_offset;
    op->offset = from;
    /* A call that failed or was at the end moves nothing, wherever its position is. */
    if (op->bytes > 0 &&
        (c->kind == CALL_READ ? !file_plan_read(p, f, (uint64_t)end)
                              : !file_plan_write(p, f, (uint64_t)from, (uint64_t)end)))
        return no_space;
    if (!at)
        h->pos = end;
    return NULL;
}

static const char *plan_seek(struct plan *p, const struct event *e, const struct call *c,
                             struct operation *op, struct handle *h)
{
    struct file *f = h->path->file;
    int64_t to, whence = e->has & HAS_WHENCE ? e->whence : SEEK_SET;
    bool has_result = !(c->traits & CALL_STREAM) && e->has & HAS_RET;
    if (whence < 0 || whence > SEEK_END)
        return "this kind of seek is not replayed";
    if (has_failed(e))
        return NULL;
    if (whence == SEEK_END && has_result && e->offset <= e->ret &&
        !__builtin_sub_overflow(e->ret, e->offset, &to) && !file_plan_read(p, f, (uint64_t)to))
        return no_space; /* the file had this size */
    int64_t base = whence == SEEK_CUR ? h->pos : whence == SEEK_END ? (int64_t)file_end(f) : 0;
    if (has_result)
        to = e->ret;
    else if (__builtin_add_overflow(base, op->offset, &to) || to < 0)
        return bad_offset;
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
        return plan_seek(p, e, c, op, h);
    case CALL_MMAP:
        if (e->length < 0 || e->offset < 0 || e->length > file_max - e->offset)
            return bad_size;
        op->bytes = (uint64_t)e->length;
        return file_plan_read(p, h->path->file, (uint64_t)(e->offset + e->length)) ? NULL
                                                                                   : no_space;
    case CALL_FTRUNCATE:
        if (e->length < 0)
            return bad_size;
        if (!has_failed(e))
            file_truncated(p, h->path->file, (uint64_t)e->length);
        return NULL;
    default:
        return NULL;
    }
}

/* ---- handles --------------------------------------------------------------------------------- */

static int plan_open(struct plan *p, const struct event *e, const struct call *c, uint32_t process,
                     struct operation *op)
{
    struct file *f = op->path->file;
    struct handle **slot = descriptor_opened_slot(p, e, c, process, op->path);
    struct handle *h = slot ? handle_new(p->shared, op->path, HANDLE_WAITING, process) : NULL;
    if (!h)
        return -ENOMEM;
    op->flags = descriptor_flags(e, c);
    op->handle = h;
    h->append = op->flags & O_APPEND;
    h->is_stream = c->traits & CALL_STREAM;
    h->is_dir = c->kind == CALL_OPENDIR;
    if (has_failed(e))
        return 0;
    if (op->flags & O_CREAT && (op->flags & O_ACCMODE) != O_RDONLY &&
        (e->has & HAS_FLAGS || c->kind != CALL_OPEN))
        op->creates = file_note_created(f);
    else
        file_note_needed(f, op->flags & O_DIRECTORY);
    if (op->flags & O_TRUNC)
        file_truncated(p, f, 0);
    descriptor_set(p, slot, handle_share(h));
    return 0;
}

/* Finds the handle that the call uses, and where it is stored: if the trace has none, one that its
 * first use opens. */
static int plan_find_handle(struct plan *p, const struct event *e, const struct call *c,
                            uint32_t process, const struct operation *op, struct handle ***ret,
                            const char **ret_reason)
{
    struct handle **slot = descriptor_slot(p, e, c, process, op->path);
    if (!slot)
        return -ENOMEM;
    *ret = slot;
    /* The trace lacks the calls that closed the old and opened this one. */
    if (*slot && op->path && (*slot)->path->file != op->path->file)
        descriptor_set(p, slot, NULL);
    if (*slot)
        return 0;
    if (c->kind == CALL_MMAP && e->has & HAS_FD && e->fd < 0)
        *ret_reason = "maps no file";
    else if (!op->path)
        *ret_reason = "the descriptor was opened outside of the trace, and no file is named";
    else if (c->kind == CALL_CLOSE)
        *ret_reason = "the trace has no call that opened it";
    if (*ret_reason)
        return 0;
    struct handle *h = handle_new(p->shared, op->path, HANDLE_LAZY, process);
    if (!h)
        return -ENOMEM;
    h->is_stream = c->traits & CALL_STREAM;
    h->is_dir = c->kind == CALL_READDIR;
    file_note_needed(op->path->file, h->is_dir);
    *slot = h;
    return 0;
}

/* The descriptor that dup returned is the same handle. */
static int plan_dup(struct plan *p, const struct event *e, const struct call *c, uint32_t process,
                    struct handle *h)
{
    struct event as = *e;
    as.fd = e->ret;
    struct handle **slot = descriptor_slot(p, &as, c, process, h->path);
    if (!slot)
        return -ENOMEM;
    if (*slot != h)
        descriptor_set(p, slot, handle_share(h));
    return 0;
}

static int plan_on_handle(struct plan *p, const struct event *e, const struct call *c,
                          uint32_t process, struct operation *op, const char **ret_reason)
{
    struct handle **slot;
    int rc = plan_find_handle(p, e, c, process, op, &slot, ret_reason);
    if (rc < 0 || *ret_reason)
        return rc;
    struct handle *h = *slot;
    op->path = h->path;
    *ret_reason = plan_handle_call(p, e, c, op, h);
    if (*ret_reason)
        return 0;
    op->handle = h;
    if (c->kind == CALL_CLOSE)
        *slot = NULL; /* its reference becomes that of the operation */
    else
        handle_share(h);
    if (c->kind == CALL_DUP && e->has & HAS_RET && e->ret >= 0)
        return plan_dup(p, e, c, process, h);
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* fflush(NULL) */
static bool flushes_all(const struct event *e, const struct call *c)
{
    return c->kind == CALL_SYNC && c->traits & CALL_STREAM && !e->file.len && !(e->has & HAS_FD);
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
    else if (!op->path && !(call_uses_handle(c->kind) && (e->has & HAS_FD)) && !flushes_all(e, c))
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
    if (flushes_all(e, c))
        return 0;
    if (call_uses_handle(c->kind))
        return plan_on_handle(p, e, c, process, op, ret_reason);
    if (c->kind == CALL_TRUNCATE && op->length < 0)
        *ret_reason = bad_size;
    return *ret_reason ? 0 : file_path_call(p, e, c, op);
}
