/* full.c - the store cannot grow (index_options.map_max, or there is no address space): runs in
 * progress are aborted, readers wait, and the chunks of missing files are deleted at once, not only
 * after index_options.purge_ms. Reading resumes after what is stored when that has freed space,
 * when the map may grow again, or after a while.
 *
 * The batch is dropped, rather than kept until it fits, because of files that are too large
 * themselves: their chunks are in the store already, their run has ended, so they can be purged
 * like any other when they are removed.
 */
#include "index/catalog/catalog_record.h"
#include "index/catalog/store_error.h"
#include "index/ingest/write.h"

#include <errno.h>

#define FULL_RETRY_NS 60000000000LL

/* ---- aborting -------------------------------------------------------------------------------- */

/* Removes garbage from the batch: that of one file, or all (NULL). */
static void forget_garbage(struct writer *w, const uint32_t *file)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->garbage.count; i++) {
        const struct garbage *g = &w->garbage.at[i];
        if (g->generation != UINT64_MAX || (file && g->file != *file))
            w->garbage.at[kept++] = *g;
        else
            w->garbage_files -= g->kind == GARBAGE_FILE;
    }
    w->garbage.count = kept;
}

static void forget_id(struct writer *w, uint32_t id)
{
    static const uint8_t tables[] = {KV_FILE,  KV_SPAN,    KV_CHECKPOINT,
                                     KV_CHUNK, KV_SUMMARY, KV_NAME};
    struct kv_key key = kv_key_of_u32(id);

    for (size_t i = 0; i < sizeof tables; i++)
        kv_batch_forget(w->batch, tables[i], 0, &key);
    kv_batch_forget(w->batch, KV_GARBAGE, 1, &key); /* the file id follows the kind */
    forget_garbage(w, &id);
}

static void forget_run(struct writer *w, struct run *run)
{
    struct kv_key path = path_key(run->entry->name);

    kv_batch_forget(w->batch, KV_PATH, 0, &path);
    forget_id(w, run->id);
    if (run->fresh && run->old->pub.id && run->stored != RUN_COMMITTED)
        forget_id(w, run->old->pub.id);
}

static void abandon_all(struct writer *w, bool full)
{
    struct index *ix = w->ix;

    pthread_mutex_lock(&ix->lock);
    ix->full = full;
    for (uint32_t i = 0; i < ix->entries.count; i++) {
        struct run *run = ix->entries.at[i]->run;
        if (run)
            atomic_store(&run->cancelled, RUN_ABANDONED);
    }
    pthread_mutex_unlock(&ix->lock);
}

struct view *full_view(struct run *run)
{
    const struct index_file *old = &run->old->pub;

    if (run->stored == RUN_COMMITTED || run->action != RUN_READ)
        return NULL;
    return view_with_state(run->old, old->id ? INDEX_INDEXING : old->state);
}

static void abandon_pending(struct pending_view *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct run *run = list[i].run;
        view_release(list[i].view);
        if (run->stored == RUN_IN_BATCH)
            run->stored = RUN_UNSTORED;
        list[i].view = list[i].over ? full_view(run) : NULL;
    }
}

/* A lost batch also contains deletions and states: the next start finds what they concerned. */
void lost_abort(struct writer *w, struct pending_view *list, uint32_t count)
{
    abandon_all(w, w->ix->full);
    kv_batch_clear(w->batch);
    texts_lost(w->ix->texts);
    forget_garbage(w, NULL);
    abandon_pending(list, count);
    ingest_rest(w->in);
    publish_views(w, list, count, false);
}

bool full_is_error(int error)
{
    return error == ERR_STORE_FULL || error == ERR_ADDRESS_SPACE;
}

void full_abort(struct writer *w, struct pending_view *list, uint32_t count, int error)
{
    abandon_all(w, true);
    for (uint32_t i = 0; i < count; i++)
        forget_run(w, list[i].run);
    abandon_pending(list, count);
    w->full_ns = clock_mono_ns();
    index_set_store_error(w->ix, error);
    /* The rest is small, and deletes. If there is no space even for that, it stays for the next
     * time. */
    publish_views(w, list, count, kv_commit_freeing(w->ix->kv, w->batch) == 0);
}

/* ---- resuming -------------------------------------------------------------------------------- */

static void resume_reading(struct writer *w)
{
    struct index *ix = w->ix;

    /* After a commit, even an empty one, space that the last one freed can be used. */
    store_generation(w, 0, false);
    kv_commit_freeing(ix->kv, w->batch);
    pthread_mutex_lock(&ix->lock);
    ix->full = false;
    for (uint32_t i = 0; i < ix->entries.count; i++)
        if (ix->entries.at[i]->failures) /* perhaps because the store was full */
            ix->entries.at[i]->check_ns = 0;
    bool idle = queues_are_empty(ix);
    pthread_cond_broadcast(&ix->files_cond);
    pthread_mutex_unlock(&ix->lock);
    if (idle)
        index_set_store_error(ix, 0); /* otherwise it is cleared when something has been stored */
}

void full_committed(struct writer *w, bool of_runs)
{
    if (w->ix->full && w->files_deleted)
        resume_reading(w);
    else if (!w->ix->full && of_runs && full_is_error(index_own_store_error(w->ix)))
        index_set_store_error(w->ix, 0);
    w->files_deleted = 0;
}

void full_tick(struct writer *w)
{
    struct index *ix = w->ix;
    int64_t now = clock_mono_ns();
    bool forgotten;

    if (!ix->full)
        return;
    bool grows = index_own_store_error(ix) == ERR_ADDRESS_SPACE && kv_can_grow(ix->kv);
    pthread_mutex_lock(&ix->lock);
    forgotten = ix->forgotten;
    ix->forgotten = false;
    pthread_mutex_unlock(&ix->lock);
    /* The forgotten file may be the one that did not fit. Then nothing of it is stored. */
    if (forgotten || grows || now - w->full_ns >= FULL_RETRY_NS) {
        w->full_ns = now;
        resume_reading(w);
    }
}
