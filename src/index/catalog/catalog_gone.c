/* catalog_gone.c - frees entries: those of names that are gone, and all of them at the end. A host
 * may see new names every day for months. The bytes of a name stay (ix->strings, entry_names),
 * because snapshots may still use them; what is freed is fifteen times as much. */
#include "index/catalog/archive_members.h"
#include "index/summary/part.h"
#include "index/catalog/unreadable_dirs.h"

#include <stdlib.h>

/* The entry is missing and has no id: it was purged, or never read. */
static bool is_gone(const struct entry *e)
{
    return e->view->pub.state == INDEX_MISSING && e->view->pub.id == 0;
}

static bool can_be_freed(const struct entry *e)
{
    return is_gone(e) && !e->run && !e->queued && !e->record_dirty && !e->link_of && !e->members;
}

static void entry_free(struct entry *e)
{
    free(e->shares);
    index_params_release(e->index_params);
    view_release(e->view);
    free(e);
}

static void remove_entry(struct index *ix, struct entry *e)
{
    int64_t id = intern_find(ix->entry_names, text_of(e->name));

    ix->by_id.at[id] = NULL;
    ix->link_count -= e->linked;
    ix->archive_count -= e->is_archive;
    archive_attach(e, NULL);
    entry_free(e);
}

/* Nothing points to a freed entry: X.gz is disconnected from X here, and links were settled after
 * the last name had gone. */
void catalog_drop_gone(struct index *ix)
{
    uint32_t kept = 0, sorted = 0;

    if (!ix->gone || ix->links_dirty)
        return;
    ix->gone = false;
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        struct entry *e = ix->entries.at[i];
        if (e->plain && can_be_freed(e->plain))
            e->plain = NULL;
    }
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        struct entry *e = ix->entries.at[i];
        if (can_be_freed(e)) {
            remove_entry(ix, e);
            continue;
        }
        ix->gone = ix->gone || is_gone(e); /* in use: a later call frees it */
        ix->entries.at[kept++] = e;
        sorted += i < ix->sorted_count;
    }
    ix->entries.count = kept;
    ix->sorted_count = sorted;
}

void catalog_done(struct index *ix)
{
    for (uint32_t i = 0; i < ix->entries.count; i++)
        entry_free(ix->entries.at[i]);
    vec_done(&ix->forks);
    hash_index_done(&ix->fork_index);
    ix->forks_dirty = false;
    unreadable_dirs_release(ix->unreadable_dirs);
    ix->unreadable_dirs = NULL;
    vec_done(&ix->entries);
    vec_done(&ix->by_id);
    intern_free(ix->entry_names);
    arena_done(&ix->strings);
}
