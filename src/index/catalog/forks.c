/* forks.c - finds the parents of processes whose own file does not contain them: the parent's file
 * has a fork that returned their pid.
 *
 * If processes have changed since the last snapshot, a new snapshot collects the forks of its files
 * and looks up the processes without a parent. A view whose processes gain parents gets a copy of
 * them; stored records stay as they are.
 */
#include "index/catalog/forks.h"
#include "index/catalog/catalog.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t child_hash(uint32_t host, bool host_is_hash, int64_t pid)
{
    return hash_index_mix((uint64_t)pid, (uint64_t)host << 1 | host_is_hash);
}

static struct part_fact *find_child(const struct index *ix, uint32_t host, bool host_is_hash,
                                    int64_t pid)
{
    const struct hash_index *x = &ix->fork_index;

    for (struct hash_match m = hash_index_find(x, child_hash(host, host_is_hash, pid));
         hash_index_next(x, &m);) {
        struct part_fact *f = &ix->forks.at[m.position];
        if (f->value == pid && f->host == host && f->host_is_hash == host_is_hash)
            return f;
    }
    return NULL;
}

static void add_fork(struct index *ix, const struct part_fact *f)
{
    struct part_fact *known = find_child(ix, f->host, f->host_is_hash, f->value);
    uint64_t hash = child_hash(f->host, f->host_is_hash, f->value);

    if (known && known->pid != f->pid)
        known->pid = INT64_MIN; /* the pid was used twice: its parent is ambiguous */
    /* Without memory, the parent stays unknown. */
    if (!known && vec_reserve(&ix->forks, 1) == 0 &&
        hash_index_add(&ix->fork_index, hash, (uint32_t)ix->forks.count) == 0)
        ix->forks.at[ix->forks.count++] = *f;
}

/* Collects the forks of all visible files. A file that is gone or was replaced does not count. */
static void collect_forks(struct index *ix)
{
    ix->forks.count = 0;
    hash_index_done(&ix->fork_index);
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        const struct entry *e = ix->entries.at[i];
        if (e->view->hidden || catalog_is_hidden(e))
            continue;
        for (uint32_t k = 0; k < e->view->fork_count; k++)
            add_fork(ix, &e->view->forks[k]);
    }
}

/* Returns NULL if the parent is unknown or the process's own file contains it. */
static const struct part_fact *find_fork(const struct index *ix, const struct index_process *p)
{
    const struct part_fact *f =
        p->ppid == INT64_MIN ? find_child(ix, p->host, p->host_is_hash, p->pid) : NULL;

    return f && f->pid != INT64_MIN && f->pid != p->pid ? f : NULL;
}

/* *ret: a copy of the processes with the parents that forks give them, *new*; NULL if no process
 * gains a parent. Returns 0 or -ENOMEM. */
static int copy_with_parents(const struct index *ix, const struct view *v,
                             struct index_process **ret)
{
    const uint32_t count = v->pub.process_count;

    *ret = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct part_fact *fork = find_fork(ix, &v->processes[i]);
        if (!fork)
            continue;
        if (!*ret) {
            *ret = malloc(count * sizeof **ret);
            if (!*ret)
                return -ENOMEM;
            memcpy(*ret, v->processes, count * sizeof **ret);
        }
        (*ret)[i].ppid = fork->pid;
        (*ret)[i].parent_by = fact_parent_by(fork);
    }
    return 0;
}

/* Forks may contradict a parent that an earlier snapshot had found, so copy_with_parents starts
 * from the file's own processes; this function detects whether the result differs. */
static bool has_same_parents(const struct view *v, const struct index_process *with_parents)
{
    if (!with_parents || !v->with_parents)
        return with_parents == v->with_parents;
    return memcmp(with_parents, v->with_parents, v->pub.process_count * sizeof *with_parents) == 0;
}

void forks_link(struct index *ix)
{
    size_t before = ix->forks.count;

    if (!ix->forks_dirty)
        return;
    ix->forks_dirty = false;
    collect_forks(ix);
    if (before == 0 && ix->forks.count == 0)
        return;
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        struct entry *e = ix->entries.at[i];
        struct index_process *with_parents;
        struct view *v;
        if (e->view->hidden || copy_with_parents(ix, e->view, &with_parents) < 0)
            continue;
        v = has_same_parents(e->view, with_parents) ? NULL
                                                    : view_with_state(e->view, e->view->pub.state);
        if (!v) {
            free(with_parents);
            continue;
        }
        v->with_parents = with_parents;
        if (with_parents)
            v->pub.processes = with_parents;
        view_release(e->view);
        e->view = v;
    }
}
