/* view.c - what answers see of a file at one moment, and the bodies that views share. */
#include "index/catalog/view.h"
#include "index/catalog/catalog.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

struct body *body_new(void)
{
    struct body *b = calloc(1, sizeof *b);

    if (b)
        atomic_init(&b->refs, 1);
    return b;
}

void body_identify(struct body *b, const struct identity *file)
{
    b->identity = *file;
    b->pub.device = file->device;
    b->pub.inode = file->inode;
    b->pub.file_bytes = file->size;
    b->pub.mtime_ns = file->mtime_ns;
    b->pub.ctime_ns = file->ctime_ns;
}

uint8_t *body_filter(struct body *b, unsigned dimension, size_t len)
{
    uint8_t *bits = arena_alloc(&b->arena, len);

    if (!b->filters)
        b->filters = arena_alloc(&b->arena, b->terms->dimension_count * sizeof *b->filters);
    if (!bits || !b->filters)
        return NULL;
    b->filters[dimension] = (struct filter){bits, len};
    return bits;
}

void *body_copy(struct body *b, const void *list, size_t bytes)
{
    return arena_strdup(&b->arena, (struct text){list, bytes});
}

int body_processes(struct body *b, const struct index_process *list, uint32_t count)
{
    uint32_t *order = arena_alloc(&b->arena, (count + 1ul) * sizeof *order);

    if (!order)
        return -ENOMEM;
    process_order(list, count, order);
    b->pub.processes = list;
    b->pub.process_count = count;
    b->pub.by_pid = order;
    return 0;
}

void body_release(struct body *b)
{
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    terms_release(b->terms);
    arena_done(&b->arena);
    free(b);
}

struct view *view_of_body(struct body *b, enum index_state state)
{
    static atomic_ullong last;
    struct view *v = calloc(1, sizeof *v);

    if (!v) {
        body_release(b);
        return NULL;
    }
    atomic_init(&v->refs, 1);
    v->serial = atomic_fetch_add(&last, 1) + 1;
    v->body = b;
    v->pub = b->pub;
    v->pub.state = state;
    return v;
}

/* Leaves what a run needs that takes its place. */
static void hide(struct view *v)
{
    v->hidden = true;
    v->pub = (struct index_file){.id = v->pub.id,
                                 .state = v->pub.state,
                                 .name = v->pub.name,
                                 .path = v->pub.path,
                                 .archive = v->pub.archive,
                                 .is_archive = v->pub.is_archive,
                                 .checkpoint_size = v->pub.checkpoint_size};
}

struct view *view_with_state(struct view *v, enum index_state state)
{
    struct view *copy;

    atomic_fetch_add(&v->body->refs, 1);
    copy = view_of_body(v->body, state);
    if (copy) {
        copy->state_before = v->state_before;
        copy->missing_since_ns = v->missing_since_ns;
        if (v->hidden)
            hide(copy);
    }
    return copy;
}

struct view *view_hidden(struct view *old)
{
    struct view *v = view_with_state(old, INDEX_PENDING);

    if (v)
        hide(v);
    return v;
}

struct view *view_empty(const struct entry *e, enum index_state state)
{
    struct body *b = body_new();

    if (!b)
        return NULL;
    b->pub.name = e->name;
    b->pub.path = e->path;
    b->pub.archive = e->archive ? e->archive->name : NULL;
    b->pub.is_archive = e->is_archive;
    return view_of_body(b, state);
}

struct view *view_ref(struct view *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}

void view_release(struct view *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
        return;
    body_release(v->body);
    free(v->linked);
    free(v);
}
