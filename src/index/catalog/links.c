/* links.c - files with several names: hard links, and symlinks that lead to them. One name
 * represents the file: the smallest that is not a symlink, or the smallest symlink if all are. The
 * others are its duplicates, and are not read.
 *
 * Names are compared when the roots have been listed, and later with each upkeep (once a second).
 * Until then a new name that may be a duplicate is not read, and not shown unless it was read by an
 * earlier process.
 */
#include "index/catalog/archive_members.h"

#include <stdlib.h>
#include <string.h>

static int compare_links(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    if (x->symlink != y->symlink)
        return x->symlink - y->symlink;
    return strcmp(x->name, y->name);
}

static bool same_file(const struct entry *a, const struct entry *b)
{
    return a->inode != 0 && a->device == b->device && a->inode == b->inode;
}

static void resolve_entry(struct index *ix, struct entry *e, const struct entry *of)
{
    bool was_hidden = catalog_is_hidden(e), was_link = e->link_of || e->unresolved;

    e->link_of = of;
    e->unresolved = false;
    if (catalog_is_hidden(e) != was_hidden) {
        ix->forks_dirty = true;
        catalog_changed(ix);
    }
    if (of && e->is_archive)
        archive_forget_members(ix, e);
    if (of || !was_link)
        return;
    if (e->is_archive)
        archive_offer_members(ix, e);
    /* The entry represents the file from now on. */
    if (e->view->pub.state == INDEX_PENDING)
        catalog_publish_size(ix, e);
    if (!e->run && !catalog_is_unrequested(ix, e) && catalog_needs_reading(e, clock_mono_ns()))
        catalog_queue(ix, e, false);
}

void links_resolve(struct index *ix)
{
    struct entry *first = NULL;
    uint32_t n = 0;

    if (!ix->links_dirty)
        return;
    struct entry **list = malloc((ix->entries.count + 1) * sizeof(struct entry *));
    if (!list)
        return; /* a later call retries */
    ix->links_dirty = false;
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        struct entry *e = ix->entries.at[i];
        if (e->offered && e->view->pub.state != INDEX_MISSING)
            list[n++] = e;
        else
            e->link_of = NULL;
    }
    qsort(list, n, sizeof(struct entry *), compare_links);
    for (uint32_t i = 0; i < n; i++) {
        bool another = first && same_file(first, list[i]);
        first = another ? first : list[i];
        resolve_entry(ix, list[i], another ? first : NULL);
    }
    free(list);
}
