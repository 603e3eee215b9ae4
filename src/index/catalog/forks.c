/* forks.c - parents of processes whose own file does not say them: the parent's file has a fork
 * that returned their pid.
 *
 * Where processes came or went since the last one, a snapshot gathers the forks of its files and
 * looks up the processes without a parent; a view that gains some has its own copy of the
 * processes, what is stored stays as it is.
 */
#include "index/catalog/forks.h"
#include "index/catalog/catalog.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool same_child(const void *array, uint32_t i, const void *key)
{
    const struct part_fact *a = (const struct part_fact *)array + i, *b = key;

    return a->value == b->value && a->host == b->host && a->host_is_hash == b->host_is_hash;
}

static uint64_t hash_of(const struct part_fact *f)
{
    return map_mix((uint64_t)f->value, (uint64_t)f->host << 1 | f->host_is_hash);
}

static void add(struct index *ix, const struct part_fact *f)
{
    uint32_t at = map_find(&ix->fork_map, hash_of(f), same_child, ix->forks, f);

    if (at != MAP_NONE) {
        if (ix->forks[at].pid != f->pid)
            ix->forks[at].pid = INT64_MIN; /* the number was used twice: nobody knows */
        return;
    }
    /* Without memory the parent stays unknown. */
    if (ARRAY_ROOM(ix->forks, ix->fork_count, ix->fork_cap) &&
        map_add(&ix->fork_map, hash_of(f), ix->fork_count) == 0)
        ix->forks[ix->fork_count++] = *f;
}

/* Of the files that answer: one that has gone, or is another one by now, tells nothing any more. */
static void gather(struct index *ix)
{
    ix->fork_count = 0;
    map_done(&ix->fork_map);
    for (uint32_t i = 0; i < ix->entry_count; i++) {
        const struct entry *e = ix->entries[i];

        if (e->view->hidden || catalog_is_hidden(e))
            continue;
        for (uint32_t k = 0; k < e->view->body->fork_count; k++)
            add(ix, &e->view->body->forks[k]);
    }
}

/* NULL: nobody knows, or its own file did. */
static const struct part_fact *fork_of(const struct index *ix, const struct index_process *p)
{
    struct part_fact key = {.host = p->host, .host_is_hash = p->host_is_hash, .value = p->pid};
    uint32_t at = p->ppid == INT64_MIN
                      ? map_find(&ix->fork_map, hash_of(&key), same_child, ix->forks, &key)
                      : MAP_NONE;
    const struct part_fact *f = at == MAP_NONE ? NULL : &ix->forks[at];

    return f && f->pid != INT64_MIN && f->pid != p->pid ? f : NULL;
}

/* *ret: the processes as all forks known now tell their parents, *new*; NULL: none of them does.
 * -ENOMEM. */
static int linked_processes(const struct index *ix, const struct index_file *f,
                            struct index_process **ret)
{
    *ret = NULL;
    for (uint32_t i = 0; i < f->process_count; i++) {
        const struct part_fact *fork = fork_of(ix, &f->processes[i]);

        if (!fork)
            continue;
        if (!*ret) {
            *ret = malloc(f->process_count * sizeof **ret);
            if (!*ret)
                return -ENOMEM;
            memcpy(*ret, f->processes, f->process_count * sizeof **ret);
        }
        (*ret)[i].ppid = fork->pid;
        (*ret)[i].parent_by = fact_parent_by(fork);
    }
    return 0;
}

/* A parent told by an earlier snapshot may be contradicted by now: what the file itself says is
 * looked at anew. */
static bool is_linked_so(const struct view *v, const struct index_process *linked)
{
    if (!linked || !v->linked)
        return linked == v->linked;
    return memcmp(linked, v->linked, v->pub.process_count * sizeof *linked) == 0;
}

void forks_link(struct index *ix)
{
    uint32_t before = ix->fork_count;

    if (!ix->forks_dirty)
        return;
    ix->forks_dirty = false;
    gather(ix);
    if (before == 0 && ix->fork_count == 0)
        return;
    for (uint32_t i = 0; i < ix->entry_count; i++) {
        struct entry *e = ix->entries[i];
        struct index_process *linked;
        struct view *v;

        if (e->view->hidden || linked_processes(ix, &e->view->body->pub, &linked) < 0)
            continue;
        v = is_linked_so(e->view, linked) ? NULL : view_with_state(e->view, e->view->pub.state);
        if (!v) {
            free(linked);
            continue;
        }
        v->linked = linked;
        if (linked)
            v->pub.processes = linked;
        view_release(e->view);
        e->view = v;
    }
}

void forks_done(struct index *ix)
{
    free(ix->forks);
    map_done(&ix->fork_map);
    ix->forks = NULL;
    ix->fork_count = ix->fork_cap = 0;
    ix->forks_dirty = false;
}
