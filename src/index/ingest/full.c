/* full.c - the store can grow no more (index_options.map_max, or there is no address space):
 * what is under way is given up, readers wait, and files that are missing lose their chunks at
 * once, not after ten minutes. When that made room, when the map may grow again, or after a while,
 * reading goes on from what is stored.
 *
 * Giving up, and not keeping the batch until it fits, is what lets a file go that is itself too
 * large: its chunks are in the store already, its run has ended, so it can be purged like any other
 * when it is removed.
 */
#include "index/catalog/catalog_record.h"
#include "index/catalog/store_error.h"
#include "index/ingest/write.h"

#include <errno.h>

#define FULL_RETRY_NS 60000000000LL

/* ---- giving up ------------------------------------------------------------------------------- */

/* That of the batch: of one file, or (NULL) of all. */
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
    kv_batch_forget(w->batch, KV_GARBAGE, 1, &key); /* behind the kind */
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

static void abandon_list(struct pending *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct run *run = list[i].run;

        view_release(list[i].view);
        if (run->stored == RUN_IN_BATCH)
            run->stored = RUN_UNSTORED;
        list[i].view = list[i].over ? full_view(run) : NULL;
    }
}

/* Deletions and states are in a lost batch, too: the next start finds what they were about. */
void lost_abort(struct writer *w, struct pending *list, uint32_t count)
{
    abandon_all(w, w->ix->full);
    kv_batch_clear(w->batch);
    texts_lost(w->ix->texts);
    forget_garbage(w, NULL);
    abandon_list(list, count);
    ingest_rest(w->in);
    publish(w, list, count, false);
}

bool full_is(int error)
{
    return error == ERR_STORE_FULL || error == ERR_ADDRESS_SPACE;
}

void full_abort(struct writer *w, struct pending *list, uint32_t count, int error)
{
    abandon_all(w, true);
    for (uint32_t i = 0; i < count; i++)
        forget_run(w, list[i].run);
    abandon_list(list, count);
    w->full_ns = clock_mono_ns();
    set_store_error(w->ix, error);
    /* What is left is little, and what deletes. If there is no room even for that, it stays for the
     * next time. */
    publish(w, list, count, kv_commit_freeing(w->ix->kv, w->batch) == 0);
}

/* ---- going on -------------------------------------------------------------------------------- */

static void go_on(struct writer *w)
{
    struct index *ix = w->ix;
    bool idle;

    /* A commit, whatever it holds: what the last one freed can be used from now on. */
    put_generation(w, 0, false);
    kv_commit_freeing(ix->kv, w->batch);
    pthread_mutex_lock(&ix->lock);
    ix->full = false;
    for (uint32_t i = 0; i < ix->entries.count; i++)
        if (ix->entries.at[i]->failures) /* perhaps for the same reason */
            ix->entries.at[i]->check_ns = 0;
    idle = queues_are_empty(ix);
    pthread_cond_broadcast(&ix->files_cond);
    pthread_mutex_unlock(&ix->lock);
    if (idle)
        set_store_error(ix, 0); /* else when something could be stored */
}

void full_committed(struct writer *w, bool of_runs)
{
    if (w->ix->full && w->files_deleted)
        go_on(w);
    else if (!w->ix->full && of_runs && full_is(w->ix->store_error))
        set_store_error(w->ix, 0);
    w->files_deleted = 0;
}

void full_tick(struct writer *w)
{
    struct index *ix = w->ix;
    int64_t now = clock_mono_ns();
    bool forgotten, grows;

    if (!ix->full)
        return;
    grows = ix->store_error == ERR_ADDRESS_SPACE && kv_may_grow(ix->kv);
    pthread_mutex_lock(&ix->lock);
    forgotten = ix->forgotten;
    ix->forgotten = false;
    pthread_mutex_unlock(&ix->lock);
    /* A file that went may be the one that did not fit, with nothing stored. */
    if (forgotten || grows || now - w->full_ns >= FULL_RETRY_NS) {
        w->full_ns = now;
        go_on(w);
    }
}
