/* snapshot.c - snapshots: the views of all files of one generation, or of some of them. */
#include "index/catalog/snapshot.h"
#include "index/catalog/catalog.h"
#include "index/catalog/forks.h"
#include "index/catalog/unreadable_dirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and destroying ------------------------------------------------------------------- */

/* Allocates space for this number of files and archives. Returns NULL without memory. */
static struct snapshot *new_snapshot(struct index *ix, uint32_t files, uint32_t archives)
{
    static atomic_ullong last;
    struct snapshot *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->views = malloc((files + 1ul) * sizeof *s->views);
    s->archives = malloc((archives + 1ul) * sizeof *s->archives);
    if (!s->views || !s->archives) {
        free(s->views);
        free(s->archives);
        free(s);
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->resolver_lock, NULL);
    atomic_init(&s->refs, 1);
    s->serial = atomic_fetch_add(&last, 1) + 1;
    s->ix = ix;
    return s;
}

static void destroy_snapshot(struct snapshot *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        view_release(s->views[i]);
    for (uint32_t i = 0; i < s->archive_count; i++)
        view_release(s->archives[i]);
    free(s->archives);
    resolver_free(s->resolver);
    total_summary_release(s->total);
    unreadable_dirs_release(s->unreadable_dirs);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->resolver_lock);
    free(s->views);
    free(s->part_uuid);
    free(s);
}

/* Inserts `s` after `older` (NULL: as the first). */
static void link_snapshot(struct index *ix, struct snapshot *s, struct snapshot *older)
{
    s->older = older;
    s->newer = older ? older->newer : ix->oldest;
    *(s->older ? &s->older->newer : &ix->oldest) = s;
    *(s->newer ? &s->newer->older : &ix->newest) = s;
}

static void unlink_snapshot(struct index *ix, struct snapshot *s)
{
    *(s->older ? &s->older->newer : &ix->oldest) = s->newer;
    *(s->newer ? &s->newer->older : &ix->newest) = s->older;
}

/* ---- all files ------------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

/* Merges from the back, where there is space. The new entries are a copy. */
static void merge_new(struct entry **list, uint32_t sorted, struct entry **fresh, uint32_t count)
{
    while (count > 0) {
        bool old = sorted > 0 && strcmp(list[sorted - 1]->name, fresh[count - 1]->name) > 0;
        list[sorted + count - 1] = old ? list[sorted - 1] : fresh[count - 1];
        *(old ? &sorted : &count) -= 1;
    }
}

/* Sorts the entries that were added since the last call, and merges them with the others. */
static void sort_entries(struct index *ix)
{
    uint32_t before = ix->sorted_count, count = ix->entries.count - before;
    struct entry **fresh = ix->entries.at + before, **copy;

    if (count == 0)
        return;
    copy = before ? malloc(count * sizeof(struct entry *)) : NULL;
    if (before && !copy) { /* out of memory: sort all of them, which is slower */
        fresh = ix->entries.at;
        count = ix->entries.count;
    }
    qsort(fresh, count, sizeof(struct entry *), compare_entries);
    if (copy) {
        memcpy(copy, fresh, count * sizeof(struct entry *));
        merge_new(ix->entries.at, before, copy, count);
    }
    free(copy);
    ix->sorted_count = ix->entries.count;
}

int index_hidden(struct index *ix, struct index_hidden **ret, size_t *ret_count)
{
    size_t n = 0;

    pthread_mutex_lock(&ix->lock);
    sort_entries(ix);
    struct index_hidden *list = malloc((ix->entries.count + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < ix->entries.count; i++) {
        const struct entry *e = ix->entries.at[i];
        const struct entry *other = catalog_duplicate_of(e);
        if (e->view->pub.state == INDEX_MISSING ? e->view->pub.id != 0 && !other : other != NULL)
            list[n++] = (struct index_hidden){e->name, other ? other->name : NULL};
    }
    pthread_mutex_unlock(&ix->lock);
    *ret = list;
    *ret_count = n;
    return list ? 0 : -ENOMEM;
}

static bool is_known_archive(const struct entry *e)
{
    return e->view->pub.state != INDEX_MISSING && !e->unresolved && !catalog_duplicate_of(e);
}

static struct snapshot *make_snapshot(struct index *ix)
{
    struct snapshot *s = new_snapshot(ix, ix->entries.count, ix->archive_count);

    if (!s)
        return NULL;
    sort_entries(ix);
    forks_link(ix);
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        const struct entry *e = ix->entries.at[i];
        if (!catalog_is_hidden(e))
            s->views[s->count++] = view_ref(e->view);
        if (e->is_archive && is_known_archive(e))
            s->archives[s->archive_count++] = view_ref(e->view);
    }
    s->generation = ix->generation;
    s->listed = ix->listed;
    s->unreadable_dirs = unreadable_dirs_ref(ix->unreadable_dirs);
    link_snapshot(ix, s, ix->newest);
    return s;
}

/* Replaces the kept snapshot if it is out of date; without memory it stays. Under index.lock.
 * Returns a snapshot that the caller must destroy, or NULL. */
static struct snapshot *renew_snapshot(struct index *ix)
{
    struct snapshot *old = ix->current;

    if (old && old->generation == ix->generation && old->listed == ix->listed)
        return NULL;
    struct snapshot *made = make_snapshot(ix);
    if (!made)
        return NULL;
    ix->current = made;
    if (!old || atomic_fetch_sub(&old->refs, 1) > 1)
        return NULL;
    unlink_snapshot(ix, old);
    return old;
}

uint64_t snapshot_oldest(struct index *ix)
{
    struct snapshot *stale = renew_snapshot(ix);
    uint64_t oldest = ix->oldest ? ix->oldest->generation : UINT64_MAX;
    if (stale)
        destroy_snapshot(stale);
    return oldest;
}

struct snapshot *index_snapshot(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    struct snapshot *stale = renew_snapshot(ix);
    struct snapshot *s = ix->current; /* index_open has created the first one */
    if (s)
        atomic_fetch_add(&s->refs, 1);
    pthread_mutex_unlock(&ix->lock);
    if (stale)
        destroy_snapshot(stale);
    return s;
}

/* ---- some of the files ----------------------------------------------------------------------- */

/* Returns a text that identifies the files of a filtered snapshot, and no other set of files. */
static char *make_part_uuid(const struct snapshot *s)
{
    struct buf ids = {0}, name = {0};

    for (uint32_t i = 0; i < s->count; i++) {
        const struct index_file *f = &s->views[i]->pub;
        buf_append(&ids, &f->id, sizeof f->id);
        if (!f->id) /* not read yet */
            buf_append(&ids, f->name, strlen(f->name) + 1);
    }
    for (uint32_t i = 0; i < s->archive_count; i++) {
        const struct index_file *f = &s->archives[i]->pub;
        buf_append(&ids, f->name, strlen(f->name) + 1);
    }
    struct hash128 h = text_hash128((struct text){ids.data, ids.len});
    buf_printf(&name, "%s-%016llx%016llx", s->ix->uuid, (unsigned long long)h.high,
               (unsigned long long)h.low);
    buf_putc(&name, '\0');
    int error = ids.error ? ids.error : name.error;
    buf_done(&ids);
    if (error)
        buf_done(&name);
    return error ? NULL : name.data;
}

struct snapshot *snapshot_filter(struct snapshot *s,
                                 bool (*keep)(void *arg, const struct index_file *f), void *arg)
{
    struct snapshot *part = new_snapshot(s->ix, s->count, s->archive_count);

    if (!part)
        return NULL;
    for (uint32_t i = 0; i < s->count; i++)
        if (keep(arg, &s->views[i]->pub))
            part->views[part->count++] = view_ref(s->views[i]);
    for (uint32_t i = 0; i < s->archive_count; i++)
        if (keep(arg, &s->archives[i]->pub))
            part->archives[part->archive_count++] = view_ref(s->archives[i]);
    part->generation = s->generation;
    part->listed = s->listed;
    part->unreadable_dirs = unreadable_dirs_ref(s->unreadable_dirs);
    bool all = part->count == s->count && part->archive_count == s->archive_count;
    part->part_uuid = all ? NULL : make_part_uuid(part);
    if (!part->part_uuid) {
        destroy_snapshot(part);
        return all ? snapshot_ref(s) : NULL;
    }
    pthread_mutex_lock(&s->ix->lock);
    link_snapshot(s->ix, part, s); /* after `s`, so that the oldest stays first */
    pthread_mutex_unlock(&s->ix->lock);
    return part;
}

struct snapshot *snapshot_of_views(struct index *ix, uint64_t generation, struct view **views,
                                   uint32_t count)
{
    struct snapshot *s = new_snapshot(ix, count, 0);

    if (!s)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        s->views[s->count++] = view_ref(views[i]);
    s->generation = generation;
    s->listed = true;
    pthread_mutex_lock(&ix->lock);
    link_snapshot(ix, s, ix->newest);
    pthread_mutex_unlock(&ix->lock);
    return s;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void snapshot_release(struct snapshot *s)
{
    if (!s)
        return;
    struct index *ix = s->ix;
    pthread_mutex_lock(&ix->lock);
    bool last = atomic_fetch_sub(&s->refs, 1) == 1;
    if (last)
        unlink_snapshot(ix, s);
    pthread_mutex_unlock(&ix->lock);
    if (last)
        destroy_snapshot(s);
}

uint64_t snapshot_generation(const struct snapshot *s)
{
    return s->generation;
}

bool snapshot_is_listed(const struct snapshot *s)
{
    return s->listed;
}

size_t snapshot_unreadable_count(const struct snapshot *s)
{
    return unreadable_dirs_count(s->unreadable_dirs);
}

const char *snapshot_unreadable(const struct snapshot *s, size_t i)
{
    return unreadable_dirs_get(s->unreadable_dirs, i);
}

const char *snapshot_uuid(const struct snapshot *s)
{
    return s->part_uuid ? s->part_uuid : s->ix->uuid;
}

uint32_t snapshot_file_count(const struct snapshot *s)
{
    return s->count;
}

const struct index_file *snapshot_file(const struct snapshot *s, uint32_t i)
{
    return &s->views[i]->pub;
}

uint32_t snapshot_archive_count(const struct snapshot *s)
{
    return s->archive_count;
}

const struct index_file *snapshot_archive(const struct snapshot *s, uint32_t i)
{
    return &s->archives[i]->pub;
}

static int compare_archive(const void *name, const void *archive)
{
    return strcmp(name, (*(struct view *const *)archive)->pub.name);
}

const struct index_file *snapshot_find_archive(const struct snapshot *s, const char *name)
{
    struct view **found =
        bsearch(name, s->archives, s->archive_count, sizeof *s->archives, compare_archive);

    return found ? &(*found)->pub : NULL;
}
