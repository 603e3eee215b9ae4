/* descriptors.c - finds the handle of a descriptor of the trace. */
#include "replay/plan/plan_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int plan_init(struct plan *p, struct files *f, struct shared *s)
{
    *p = (struct plan){.files = f, .shared = s, .keys = intern_new()};
    return p->keys ? 0 : -ENOMEM;
}

void plan_reset(struct plan *p)
{
    for (size_t i = 0; i < p->handles.count; i++)
        descriptor_set(p, &p->handles.at[i], NULL);
    files_reset(p->files);
}

void plan_done(struct plan *p)
{
    vec_done(&p->handles);
    intern_free(p->keys);
}

static struct handle **slot_of_key(struct plan *p, uint32_t process, uint64_t what, uint64_t kind)
{
    const uint64_t key[] = {process, what, kind};
    int64_t id = intern_add(p->keys, (struct text){(const char *)key, sizeof key});
    if (id < 0 || vec_extend(&p->handles, (size_t)id + 1) < 0)
        return NULL;
    return &p->handles.at[id];
}

enum key_kind { KEY_NUMBER, KEY_DESCRIPTOR_OF, KEY_STREAM_OF };

static struct handle **slot_of_file(struct plan *p, const struct call *c, uint32_t process,
                                    const struct path *path)
{
    return slot_of_key(p, process, (uintptr_t)(path ? path->file : NULL),
                       c->traits & CALL_STREAM ? KEY_STREAM_OF : KEY_DESCRIPTOR_OF);
}

struct handle **descriptor_slot(struct plan *p, const struct event *e, const struct call *c,
                                uint32_t process, const struct path *path)
{
    if (e->has & HAS_FD)
        return slot_of_key(p, process, (uint64_t)e->fd, KEY_NUMBER);
    return slot_of_file(p, c, process, path);
}

struct handle **descriptor_opened_slot(struct plan *p, const struct event *e, const struct call *c,
                                       uint32_t process, const struct path *path)
{
    bool is_number = !(c->traits & CALL_STREAM) && c->kind != CALL_OPENDIR;
    if (is_number && e->has & HAS_RET)
        return slot_of_key(p, process, (uint64_t)e->ret, KEY_NUMBER);
    return slot_of_file(p, c, process, path);
}

void descriptor_set(struct plan *p, struct handle **slot, struct handle *h)
{
    struct handle *old = *slot;
    *slot = h;
    if (old)
        p->release(p->release_arg, old);
}

static int mode_flags(struct text mode)
{
    bool both = mode.len && memchr(mode.ptr, '+', mode.len);
    int write = both ? O_RDWR : O_WRONLY,
        other = mode.len && memchr(mode.ptr, 'x', mode.len) ? O_EXCL : 0;
    switch (mode.len ? *mode.ptr : 'r') {
    case 'w':
        return write | O_CREAT | O_TRUNC | other;
    case 'a':
        return write | O_CREAT | O_APPEND | other;
    default:
        return both ? O_RDWR : O_RDONLY;
    }
}

int descriptor_flags(const struct event *e, const struct call *c)
{
    switch (c->kind) {
    case CALL_CREAT:
        return O_WRONLY | O_CREAT | O_TRUNC;
    case CALL_OPENDIR:
        return O_RDONLY | O_DIRECTORY;
    case CALL_FOPEN:
        return mode_flags(e->mode);
    default:
        if (!(e->has & HAS_FLAGS)) /* not recorded: what later calls may need */
            return O_RDWR | O_CREAT;
        return (int)e->flags &
               (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_SYNC | O_DSYNC | O_DIRECTORY);
    }
}
