/* view.c - the state of a file at one moment, as answers see it. */
#include "index/catalog/view.h"
#include "index/catalog/catalog.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct view *view_new(void)
{
    static atomic_ullong last;
    struct view *v = calloc(1, sizeof *v);

    if (!v)
        return NULL;
    atomic_init(&v->refs, 1);
    v->serial = atomic_fetch_add(&last, 1) + 1;
    v->owner = v;
    return v;
}

void view_identify(struct view *v, const struct identity *file)
{
    v->identity = *file;
    v->pub.device = file->device;
    v->pub.inode = file->inode;
    v->pub.file_bytes = file->size;
    v->pub.mtime_ns = file->mtime_ns;
    v->pub.ctime_ns = file->ctime_ns;
}

atomic_bool *view_chunk_flag(struct view *v, uint32_t i)
{
    atomic_bool *flags = atomic_load(&v->valid_chunks), *made;

    if (!flags && (made = calloc(v->pub.chunk_count, sizeof *made))) {
        if (atomic_compare_exchange_strong(&v->valid_chunks, &flags, made))
            flags = made;
        else
            free(made); /* another thread was faster */
    }
    return flags ? &flags[i] : NULL;
}

uint8_t *view_add_filter(struct view *v, unsigned dimension, size_t len)
{
    uint8_t *bits = arena_alloc(&v->arena, len);

    if (!v->filters)
        v->filters = arena_alloc(&v->arena, v->index_params->dimension_count * sizeof *v->filters);
    if (!bits || !v->filters)
        return NULL;
    v->filters[dimension] = (struct view_filter){bits, len};
    return bits;
}

void *view_copy_list(struct view *v, const void *list, size_t bytes)
{
    return arena_strdup(&v->arena, (struct text){list, bytes});
}

int view_set_processes(struct view *v, const struct index_process *list, uint32_t count)
{
    uint32_t *order = arena_alloc(&v->arena, (count + 1ul) * sizeof *order);

    if (!order)
        return -ENOMEM;
    process_order(list, count, order);
    v->pub.processes = v->processes = list;
    v->pub.process_count = count;
    v->pub.by_pid = order;
    return 0;
}

struct view *view_with_state(struct view *v, enum index_state state)
{
    const size_t own = offsetof(struct view, pub); /* members before `pub` are not copied */
    struct view *copy = view_new();

    if (!copy)
        return NULL;
    memcpy((char *)copy + own, (const char *)v + own, sizeof *v - own);
    copy->owner = view_ref(v->owner);
    if (copy->index_params)
        index_params_ref(copy->index_params);
    if (copy->with_parents)
        copy->pub.processes = copy->processes;
    copy->with_parents = NULL;
    copy->pub.state = state;
    return copy;
}

struct view *view_hidden(struct view *old)
{
    struct view *v = view_with_state(old, INDEX_PENDING);

    /* Clears the fields that a run of the new file would use. */
    if (v) {
        v->hidden = true;
        v->pub = (struct index_file){.id = v->pub.id,
                                     .state = v->pub.state,
                                     .name = v->pub.name,
                                     .path = v->pub.path,
                                     .archive = v->pub.archive,
                                     .is_archive = v->pub.is_archive,
                                     .checkpoint_size = v->pub.checkpoint_size};
    }
    return v;
}

struct view *view_empty(const struct entry *e, enum index_state state)
{
    struct view *v = view_new();

    if (!v)
        return NULL;
    v->pub.name = e->name;
    v->pub.path = e->path;
    v->pub.archive = e->archive ? e->archive->name : NULL;
    v->pub.is_archive = e->is_archive;
    v->pub.state = state;
    return v;
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
    if (v->owner != v)
        view_release(v->owner);
    index_params_release(v->index_params);
    arena_done(&v->arena);
    free(v->with_parents);
    free(atomic_load(&v->valid_chunks));
    free(v);
}
