/* order.c - counts the planned and ended calls on each file. */
#include "replay/plan/order.h"

#include <fcntl.h>

/* Records a use of the file, and which calls have to end before it. */
static void touch_file(struct operation *op, struct file *f, enum touch touch)
{
    struct touched *t = &op->touched[op->touched_count++];
    *t = (struct touched){.file = f, .touch = touch};
    t->after[touch] = f->awaited[touch]; /* else it could be counted in place of an earlier one */
    for (int i = 0; i < TOUCHES; i++)
        if (touch == TOUCH_CHANGE || (touch == TOUCH_USE && i == TOUCH_CHANGE) ||
            (touch == TOUCH_READ && i == TOUCH_WRITE))
            f->awaited[i] = t->after[i] = f->end_ns[i] <= op->ts_ns ? f->planned[i] : f->ended[i];
}

/* Counts a use, for later calls. */
static void count_touched(const struct operation *op, const struct touched *t)
{
    struct file *f = t->file;
    enum touch touch = t->touch;
    int64_t end;
    if (__builtin_add_overflow(op->ts_ns, op->dur_ns > 0 ? op->dur_ns : 0, &end))
        end = INT64_MAX;
    if (f->end_ns[touch] <= op->ts_ns)
        f->ended[touch] = f->planned[touch];
    if (end > f->end_ns[touch] || !f->planned[touch])
        f->end_ns[touch] = end;
    f->planned[touch]++;
}

/* Records a use or change of the path, and a use of the nearest directories above it that the trace
 * changes. */
static void touch_path(struct files *files, struct operation *op, struct file *f, bool changes)
{
    unsigned end = op->touched_count + TOUCHED_MAX / 2; /* of one of two paths */
    touch_file(op, f, changes ? TOUCH_CHANGE : TOUCH_USE);
    struct file *dir = f;
    while (op->touched_count < end && (dir = files_above(files, dir)))
        if (dir->changes || dir->planned[TOUCH_CHANGE])
            touch_file(op, dir, TOUCH_USE);
}

static bool changes_path(const struct operation *op)
{
    switch (op->call->kind) {
    case CALL_OPEN:
    case CALL_CREAT:
    case CALL_FOPEN:
        return op->creates || op->flags & (O_TRUNC | O_EXCL);
    case CALL_TRUNCATE:
    case CALL_MKDIR:
    case CALL_RMDIR:
    case CALL_UNLINK:
    case CALL_REMOVE:
    case CALL_RENAME:
        return true;
    default:
        return false;
    }
}

void order_survey(const struct operation *op)
{
    if (op->call && op->path && op->path->file && changes_path(op))
        op->path->file->changes = true;
    if (op->path2 && op->path2->file)
        op->path2->file->changes = true;
}

void order_plan(struct files *files, struct operation *op)
{
    struct file *f = op->path ? op->path->file : NULL, *to = op->path2 ? op->path2->file : NULL;
    if (!op->call || !f || f->map >= 0)
        return;
    switch (op->call->kind) {
    case CALL_READ:
    case CALL_MMAP:
        touch_file(op, f, TOUCH_READ);
        break;
    case CALL_WRITE:
    case CALL_FTRUNCATE:
        touch_file(op, f, TOUCH_WRITE);
        break;
    default:
        if (call_uses_handle(op->call->kind))
            return;
        touch_path(files, op, f, changes_path(op));
        if (to && to != f && to->map < 0)
            touch_path(files, op, to, true);
    }
    /* Only now: no call waits for itself, if it uses a file and the directory above it. */
    for (unsigned i = 0; i < op->touched_count; i++)
        count_touched(op, &op->touched[i]);
}

void order_wait(const struct shared *s, const struct operation *op)
{
    for (unsigned i = 0; i < op->touched_count; i++) {
        struct file *f = op->touched[i].file;
        for (int touch = 0; touch < TOUCHES; touch++)
            shared_wait_for_count(s, &f->done[touch], op->touched[i].after[touch], &f->waiting);
    }
}

void order_ended(const struct operation *op)
{
    for (unsigned i = 0; i < op->touched_count; i++) {
        struct file *f = op->touched[i].file;
        shared_count(&f->done[op->touched[i].touch], &f->waiting);
    }
}
