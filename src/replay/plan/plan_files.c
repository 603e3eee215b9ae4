/* plan_files.c - the state that files need before the replay, and how they grow. */
#include "replay/plan/plan_parts.h"

void file_note_needed(struct file *f, bool is_dir)
{
    if (f->first == FIRST_UNKNOWN) {
        f->first = FIRST_NEEDED;
        f->is_dir |= is_dir;
    }
}

bool file_note_created(struct file *f)
{
    bool is_first = f->first == FIRST_UNKNOWN;
    if (is_first)
        f->first = FIRST_CREATED;
    return is_first;
}

uint64_t file_end(const struct file *f)
{
    return f->truncated || f->need < f->size ? f->size : f->need;
}

/* Returns false if the file would not fit on the disk. */
static bool file_charge(struct plan *p, struct file *f, uint64_t bytes)
{
    uint64_t all;
    if (bytes <= f->counted || f->map >= 0)
        return true;
    if (__builtin_add_overflow(p->files->bytes, bytes - f->counted, &all) ||
        all > p->files->bytes_max)
        return false;
    p->files->bytes = all;
    if (all > p->files->bytes_peak)
        p->files->bytes_peak = all;
    f->counted = bytes;
    return true;
}

/* Sets the size of the file, which loses its data. Prepared files exist from the beginning. */
void file_truncated(struct plan *p, struct file *f, uint64_t size)
{
    f->size = size;
    f->truncated = true;
    if (size == 0 && f->first == FIRST_CREATED) {
        p->files->bytes -= f->counted;
        f->counted = 0;
    }
}

bool file_plan_read(struct plan *p, struct file *f, uint64_t end)
{
    file_note_needed(f, false);
    if (end <= f->size || end <= f->need || f->first != FIRST_NEEDED || f->truncated)
        return true;
    if (p->files->options->prepare == REPLAY_DATA && !file_charge(p, f, end))
        return false;
    f->need = end;
    return true;
}

bool file_plan_write(struct plan *p, struct file *f, uint64_t from, uint64_t end)
{
    uint64_t bytes = end - from; /* holes take no disk space */
    if (from <= f->counted && end > bytes)
        bytes = end;
    if (!file_charge(p, f, bytes))
        return false;
    if (end > f->size)
        f->size = end;
    return true;
}

/* Records what the call implies about the file before it: most calls that succeeded required it. */
static void note_state_before(const struct event *e, const struct call *c, struct file *f)
{
    bool known = e->has & HAS_RET, worked = known && e->ret >= 0;
    switch (c->kind) {
    case CALL_MKDIR:
        if (!known || worked)
            file_note_created(f);
        f->is_dir = true;
        break;
    case CALL_SYMLINK: /* its target need not exist */
        break;
    case CALL_RMDIR:
    case CALL_UNLINK:
    case CALL_REMOVE:
    case CALL_RENAME:
    case CALL_LINK:
    case CALL_TRUNCATE:
        if (!known || worked)
            file_note_needed(f, c->kind == CALL_RMDIR);
        break;
    default: /* without a result, it is unknown whether the file existed */
        if (worked)
            file_note_needed(f, false);
    }
}

/* The data of a file gets another path, or an additional one. */
static void move_data(struct plan *p, bool is_rename, struct file *f, struct file *to)
{
    uint64_t end = file_end(f);
    file_note_created(to);
    file_truncated(p, to, 0);
    to->size = end;
    /* The data of one of the files remains. The size of a prepared target counts to the end. */
    if (is_rename && f->first == FIRST_CREATED) {
        p->files->bytes -= to->counted < f->counted ? to->counted : f->counted;
        to->counted = to->counted > f->counted ? to->counted : f->counted;
        f->counted = 0;
    }
    if (is_rename)
        file_truncated(p, f, 0);
}

static int plan_rename(struct plan *p, struct file *f, struct file *to, bool can_have_files,
                       struct moved **ret)
{
    if (f->map >= 0 || to->map >= 0)
        return 0; /* it will fail: a --map is read only */
    int rc = can_have_files ? files_move(p->files, f, to, ret) : 0;
    to->is_dir |= f->is_dir;
    for (const struct moved *m = *ret; m; m = m->next) {
        move_data(p, true, m->from, m->to);
        m->to->is_dir |= m->from->is_dir;
    }
    move_data(p, true, f, to);
    return rc;
}

int file_path_call(struct plan *p, const struct event *e, const struct call *c,
                   struct operation *op)
{
    struct file *f = op->path->file, *to = op->path2 ? op->path2->file : NULL;
    bool can_have_files = f->is_dir || f->first == FIRST_UNKNOWN;
    note_state_before(e, c, f);
    if (e->has & HAS_RET && e->ret < 0)
        return 0;
    if (c->kind == CALL_RENAME)
        return to != f ? plan_rename(p, f, to, can_have_files, &op->moved) : 0;
    if (c->kind == CALL_SYMLINK)
        file_note_created(to);
    else if (c->kind == CALL_LINK && to != f)
        move_data(p, false, f, to);
    else if (c->kind == CALL_UNLINK || c->kind == CALL_REMOVE)
        file_truncated(p, f, 0);
    else if (c->kind == CALL_TRUNCATE)
        file_truncated(p, f, (uint64_t)e->length);
    return 0;
}
