/* catalog.c - entries of the files that were offered, and their published views. */
#include "index/catalog/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct entry *find_entry(const struct index *ix, struct text name)
{
    int64_t id = intern_find(ix->entry_names, name);

    return id >= 0 && (uint64_t)id < ix->by_id.count ? ix->by_id.at[id] : NULL;
}

/* Connects X.gz with X, whichever was offered first. */
static void connect_plain(struct index *ix, struct entry *e)
{
    struct text name = text_of(e->name);
    struct buf gz_name = {0};

    if (text_ends(name, TEXT(".gz")))
        e->plain = find_entry(ix, (struct text){name.ptr, name.len - 3});
    buf_printf(&gz_name, "%s.gz", e->name);
    struct entry *found =
        gz_name.error ? NULL : find_entry(ix, (struct text){gz_name.data, gz_name.len});
    if (found)
        found->plain = e;
    buf_done(&gz_name);
}

static bool has_same_text(const struct view *a, const struct view *b)
{
    return a->pub.state == INDEX_READY && b->pub.state == INDEX_READY &&
           a->pub.text_bytes == b->pub.text_bytes && a->text_sum.high == b->text_sum.high &&
           a->text_sum.low == b->text_sum.low;
}

/* Answers then see the members instead of the archive. */
static bool is_whole_archive(const struct entry *e)
{
    return e->is_archive && e->view->pub.state == INDEX_READY && !e->view->pub.damaged;
}

const struct entry *catalog_duplicate_of(const struct entry *e)
{
    if (e->link_of)
        return e->link_of;
    return e->plain && !e->plain->link_of && has_same_text(e->view, e->plain->view) ? e->plain
                                                                                    : NULL;
}

bool catalog_is_hidden(const struct entry *e)
{
    return e->view->pub.state == INDEX_MISSING || (e->unresolved && e->view->pub.id == 0) ||
           catalog_duplicate_of(e) || is_whole_archive(e) ||
           (e->archive && catalog_duplicate_of(e->archive));
}

bool catalog_needs_reading(const struct entry *e, int64_t mono_ns)
{
    const struct index_file *f = &e->view->pub;
    const struct view *v = e->view;
    bool same =
        identity_same(&v->identity, &e->seen) &&
        (!e->archive || (v->member.offset == e->member.offset && v->member.size == e->member.size));

    /* An archive that is being written to is walked from its start each time. */
    if (e->is_archive && f->state == INDEX_GROWING)
        return mono_ns >= e->check_ns;
    if (f->state == INDEX_FAILED || f->state == INDEX_GROWING)
        return !same || mono_ns >= e->check_ns;
    if (f->state == INDEX_READY)
        return !same;
    return true;
}

static struct entry *entry_new(struct index *ix, int64_t id, const char *name, const char *path)
{
    struct entry *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    e->name = arena_strdup(&ix->strings, text_of(name));
    e->path = arena_strdup(&ix->strings, text_of(path));
    if (!e->name || !e->path || vec_extend(&ix->by_id, (size_t)id + 1) < 0 ||
        vec_reserve(&ix->entries, 1) < 0)
        goto fail;
    e->is_archive = index_is_archive(text_of(name));
    e->view = view_empty(e, INDEX_PENDING);
    if (!e->view)
        goto fail;
    ix->entries.at[ix->entries.count++] = e;
    ix->archive_count += e->is_archive;
    ix->by_id.at[id] = e;
    connect_plain(ix, e);
    return e;
fail:
    free(e);
    return NULL;
}

void catalog_note_link(struct index *ix, struct entry *e, const void *stat, bool symlink)
{
    const struct stat *st = stat;
    bool linked = st && (symlink || st->st_nlink > 1);

    bool moved = !e->offered || !st || st->st_dev != e->device || st->st_ino != e->inode;
    if (!moved && linked == e->linked && symlink == e->symlink)
        return;
    ix->link_count += linked;
    /* Also if this name was the last link: it may be a duplicate of another one. */
    ix->links_dirty = ix->links_dirty || ix->link_count > 0;
    ix->link_count -= e->linked;
    e->linked = linked;
    e->symlink = symlink;
    e->device = st ? st->st_dev : 0;
    e->inode = st ? st->st_ino : 0;
    e->unresolved = linked;
}

struct entry *catalog_entry(struct index *ix, const char *name, const char *path, bool make)
{
    int64_t id = make ? intern_add(ix->entry_names, text_of(name))
                      : intern_find(ix->entry_names, text_of(name));

    if (id < 0)
        return NULL;
    if ((uint64_t)id < ix->by_id.count && ix->by_id.at[id])
        return ix->by_id.at[id];
    return make ? entry_new(ix, id, name, path) : NULL;
}

void catalog_rebuild(struct index *ix, struct entry *e)
{
    struct view *v;

    e->rebuild = true;
    e->requested = true;
    if (!e->run && (v = view_with_state(e->view, INDEX_INDEXING)))
        catalog_publish(ix, e, v);
    if (e->run)
        e->again = true;
    else
        catalog_queue(ix, e, false);
}

bool catalog_is_unrequested(const struct index *ix, const struct entry *e)
{
    return ix->options.on_demand && !e->requested && e->view->pub.state == INDEX_PENDING;
}

void catalog_changed(struct index *ix)
{
    ix->generation++; /* renew_snapshot sees that the kept snapshot is out of date */
}

void catalog_publish(struct index *ix, struct entry *e, struct view *v)
{
    /* Unless a file has forks, a change of processes has no effect on others. */
    ix->forks_dirty = ix->forks_dirty || e->view->fork_count || v->fork_count ||
                      (ix->forks.count && (e->view->pub.process_count || v->pub.process_count));
    view_release(e->view);
    e->view = v;
    ix->gone = ix->gone || (v->pub.state == INDEX_MISSING && v->pub.id == 0);
    catalog_changed(ix);
}

/* The next commit stores the record of the entry. */
static void mark_record_dirty(struct index *ix, struct entry *e)
{
    ix->records_dirty += !e->record_dirty;
    e->record_dirty = true;
}

void catalog_publish_run(struct index *ix, struct entry *e, struct view *v)
{
    uint8_t before = (uint8_t)v->pub.state;
    struct view *hidden = NULL;

    if (e->view->pub.state == INDEX_MISSING) {
        v->pub.state = INDEX_MISSING;
        hidden = v;
    } else if (e->replaced && (hidden = view_hidden(v))) {
        view_release(v);
    }
    if (hidden) {
        hidden->state_before = before;
        hidden->missing_since_ns = e->view->missing_since_ns;
        mark_record_dirty(ix, e);
    }
    catalog_publish(ix, e, hidden ? hidden : v);
}

void catalog_publish_size(struct index *ix, struct entry *e)
{
    struct view *v = view_with_state(e->view, INDEX_PENDING);

    if (!v)
        return;
    v->pub.file_bytes = e->seen.size;
    v->pub.compressed_bytes = e->archive ? e->member.size : e->seen.size;
    v->pub.path = e->path;
    v->pub.archive = e->archive ? e->archive->name : NULL;
    catalog_publish(ix, e, v);
}

int catalog_forget(struct index *ix, struct entry *e)
{
    struct view *v = view_with_state(e->view, INDEX_MISSING);

    if (!v)
        return -ENOMEM;
    v->state_before = (uint8_t)e->view->pub.state;
    v->missing_since_ns = clock_real_ns();
    catalog_publish(ix, e, v);
    mark_record_dirty(ix, e);
    e->offered = false;
    ix->links_dirty = ix->links_dirty || ix->link_count > 0;
    ix->forgotten = true;
    return 0;
}

void catalog_revive(struct index *ix, struct entry *e, const struct identity *now)
{
    enum index_state before = e->view->state_before;
    bool known = e->view->pub.id != 0;
    bool same = !e->view->hidden && identity_same(&e->view->identity, now);
    struct view *v = known && !same ? view_hidden(e->view)
                                    : view_with_state(e->view, known ? before : INDEX_PENDING);

    if (!v)
        return;
    e->replaced = known && !same;
    e->rebuild = e->rebuild || e->replaced;
    catalog_publish(ix, e, v);
    mark_record_dirty(ix, e);
}

void catalog_notify(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    void (*call)(void *) = ix->on_change;
    void *arg = ix->on_change_arg;
    pthread_mutex_unlock(&ix->lock);
    if (call)
        call(arg);
}

const char *index_state_name(enum index_state s)
{
    static const char *const names[] = {"pending", "indexing", "ready",
                                        "growing", "failed",   "missing"};

    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "unknown";
}

const char *const index_file_states[] = {"ready",   "indexing", "pending", "growing",
                                         "damaged", "failed",   NULL};

const char *index_file_state(const struct index_file *f)
{
    return f->damaged && f->state == INDEX_READY ? "damaged" : index_state_name(f->state);
}
