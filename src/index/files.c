/* files.c - reports of the watcher about files, and progress. */
#include "index/catalog/archive_members.h"
#include "index/catalog/unreadable_dirs.h"
#include "index/files.h"
#include "index/ingest/ingest.h"
#include "index/ingest/run.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- offers and removals --------------------------------------------------------------------- */

/* Like stat, and reports whether the name itself is a symlink. Returns false if there is no such
 * file. */
static bool stat_path(const char *path, struct stat *st, bool *ret_symlink)
{
    if (lstat(path, st) < 0)
        return false;
    *ret_symlink = S_ISLNK(st->st_mode);
    return !*ret_symlink || stat(path, st) == 0;
}

/* Sets the path of an entry. It is no longer a member, if it was one. */
static void set_path(struct index *ix, struct entry *e, const char *path)
{
    if (strcmp(e->path, path) != 0) {
        const char *copy = arena_strdup(&ix->strings, text_of(path));
        e->path = copy ? copy : e->path;
    }
    if (e->archive) { /* a directory has replaced the archive */
        archive_attach(e, NULL);
        e->rebuild = true;
    }
}

/* Applies an offer, under the lock. `there`: the file exists, and `now` is its identity. */
static void apply_offer(struct index *ix, struct entry *e, const struct identity *now, bool there)
{
    int64_t mono = clock_mono_ns();
    bool first = !e->offered;

    if (e->view->pub.state == INDEX_MISSING)
        catalog_revive(ix, e, now);
    if (first || !identity_same(&e->seen, now)) {
        e->seen = *now;
        e->stable_since_ns = mono;
        if (e->view->pub.state == INDEX_PENDING && there && !catalog_is_hidden(e))
            catalog_publish_size(ix, e);
    }
    /* Without memory it is still missing, and the next offer is the first one again. */
    e->offered = e->view->pub.state != INDEX_MISSING;
    if (e->run)
        e->again = e->again || !identity_same(&e->run->identity, now);
    else if (!e->link_of && !e->unresolved && !catalog_is_unrequested(ix, e) &&
             catalog_needs_reading(e, mono))
        catalog_queue(ix, e, false);
    if (first && e->is_archive && !e->unresolved && !catalog_duplicate_of(e) &&
        identity_same(&e->view->identity, now))
        archive_offer_members(ix, e);
}

int index_offer(struct index *ix, const char *name, const char *path)
{
    struct identity now = {0};
    struct stat st;
    bool symlink = false, unrequested = false, there = stat_path(path, &st, &symlink);

    if (!ix->ingest)
        return -EROFS;
    if (there)
        identity_of_stat(&st, &now);
    pthread_mutex_lock(&ix->lock);
    struct entry *e = catalog_entry(ix, name, path, true);
    if (e) {
        set_path(ix, e, path);
        catalog_note_link(ix, e, there ? &st : NULL, symlink);
        apply_offer(ix, e, &now, there);
        /* no reader will report that the file has appeared */
        unrequested = catalog_is_unrequested(ix, e);
    }
    pthread_mutex_unlock(&ix->lock);
    if (unrequested)
        catalog_notify(ix);
    return e ? 0 : -ENOMEM;
}

int index_forget(struct index *ix, const char *name)
{
    int rc = ERR_NOT_FOUND;

    pthread_mutex_lock(&ix->lock);
    struct entry *e = catalog_entry(ix, name, NULL, false);
    /* Members are forgotten together with their archive: before it, so that a call without memory
     * can be repeated. */
    if (e && e->view->pub.state != INDEX_MISSING && !e->archive) {
        rc = archive_forget_members(ix, e);
        rc = rc ? rc : catalog_forget(ix, e);
    }
    pthread_mutex_unlock(&ix->lock);
    if (rc == 0) {
        ingest_wake(ix);
        catalog_notify(ix);
    }
    return rc;
}

int index_rebuild(struct index *ix, const char *name, const struct index_file_options *options)
{
    struct index_params *index_params = NULL;
    int rc = 0;

    if (!ix->ingest)
        return -EROFS;
    if (options)
        rc = index_params_make(ix->index_params, options, ix->checkpoint_max, &index_params);
    else
        index_params = index_params_ref(ix->index_params);
    if (rc)
        return rc;
    pthread_mutex_lock(&ix->lock);
    struct entry *e = catalog_entry(ix, name, NULL, false);
    bool gone = e && e->view->pub.state == INDEX_MISSING;
    if (e && (gone || (catalog_is_hidden(e) && !e->is_archive)))
        e = NULL;
    if (e) {
        index_params_release(e->index_params);
        e->index_params = index_params;
        catalog_rebuild(ix, e);
    }
    pthread_mutex_unlock(&ix->lock);
    if (!e)
        index_params_release(index_params);
    return e ? 0 : ERR_NOT_FOUND;
}

int index_request_file(struct index *ix, const char *name)
{
    int rc = 0;

    if (!ix->ingest)
        return -EROFS;
    pthread_mutex_lock(&ix->lock);
    struct entry *e = catalog_entry(ix, name, NULL, false);
    if (!e || catalog_is_hidden(e))
        rc = ERR_NOT_FOUND;
    else if (catalog_is_unrequested(ix, e))
        catalog_queue(ix, e, false);
    if (rc == 0)
        e->requested = true;
    pthread_mutex_unlock(&ix->lock);
    return rc;
}

bool index_is_unrequested(struct index *ix, const char *name)
{
    pthread_mutex_lock(&ix->lock);
    const struct entry *e = catalog_entry(ix, name, NULL, false);
    bool unrequested = e && catalog_is_unrequested(ix, e);
    pthread_mutex_unlock(&ix->lock);
    return unrequested;
}

void index_listed(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    links_resolve(ix);
    if (!ix->listed && (ix->generation != ix->generation_opened || ix->generation == 0))
        catalog_changed(ix);
    queue_assign_waiting(ix);
    ix->listed = true;
    pthread_mutex_unlock(&ix->lock);
    catalog_notify(ix);
}

void index_on_change(struct index *ix, void (*call)(void *arg), void *arg)
{
    pthread_mutex_lock(&ix->lock);
    ix->on_change = call;
    ix->on_change_arg = arg;
    pthread_mutex_unlock(&ix->lock);
}

void index_query_running(struct index *ix, int delta)
{
    atomic_fetch_add(&ix->queries, delta);
}

/* ---- progress -------------------------------------------------------------------------------- */

void files_add_progress(const struct index *ix, struct index_progress *p, const struct entry *e)
{
    const struct index_file *f = &e->view->pub;

    /* An archive that has changed is hidden, but has to be read. */
    if (catalog_is_hidden(e) && !(e->is_archive && (e->queued || e->run)))
        return;
    p->files++;
    if (catalog_is_unrequested(ix, e)) {
        p->files_unasked++;
        return;
    }
    p->bytes += f->compressed_bytes;
    if (f->state == INDEX_PENDING || f->state == INDEX_INDEXING || e->rebuild || e->no_memory ||
        (f->state == INDEX_READY && (e->queued || e->run))) { /* it seems to have changed */
        p->files_pending++;
        p->bytes_done += index_file_bytes_done(f);
        if (e->no_memory)
            p->store_error = -ENOMEM;
        return;
    }
    p->bytes_done += f->compressed_bytes;
    p->files_unreadable += e->failures > 0;
    if (f->state == INDEX_FAILED)
        p->files_failed++;
    else
        p->files_ready++;
}

/* A file that is written to while it is read has more bytes than the size that is known of it. */
uint64_t index_file_bytes_done(const struct index_file *file)
{
    uint64_t done = view_of_file(file)->consumed;

    if (file->state != INDEX_PENDING && file->state != INDEX_INDEXING)
        return file->compressed_bytes;
    return done < file->compressed_bytes ? done : file->compressed_bytes;
}

/* Adds up the progress of all files, while readers wait for the lock. So sums that `may_be_old` are
 * reused for REST times as long as they took, while files are pending. */
static void sum_progress(struct index *ix, bool may_be_old)
{
    enum { REST = 20 };
    int64_t begin = clock_mono_ns();

    if (may_be_old && ix->progress.files_pending > 0 && begin < ix->progress_until_ns)
        return;
    ix->progress = (struct index_progress){0};
    for (uint32_t i = 0; i < ix->entries.count; i++)
        files_add_progress(ix, &ix->progress, ix->entries.at[i]);
    int64_t end = clock_mono_ns();
    ix->progress_until_ns = end + (end - begin) * REST;
}

int index_store_error(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    sum_progress(ix, true);
    const char *host;
    int error = ix->store_error ? ix->store_error : ix->progress.store_error;
    error = error ? error : ranks_error(ix->ranks, &host);
    pthread_mutex_unlock(&ix->lock);
    return error;
}

void index_progress(struct index *ix, struct index_progress *ret)
{
    pthread_mutex_lock(&ix->lock);
    sum_progress(ix, !queues_are_empty(ix));
    *ret = ix->progress;
    ret->listed = ix->listed;
    if (ix->store_error)
        ret->store_error = ix->store_error;
    else if (!ret->store_error)
        ret->store_error = ranks_error(ix->ranks, &ret->store_error_host);
    ret->read_again = ix->read_again;
    ret->upkeeps = ix->upkeeps;
    ret->files_corrupt = ix->files_corrupt;
    ret->directories_unreadable = unreadable_dirs_count(ix->unreadable_dirs);
    ret->pieces_ahead = ingest_pieces(ix);
    pthread_mutex_unlock(&ix->lock);
}
