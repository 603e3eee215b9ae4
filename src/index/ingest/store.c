/* store.c - the writer: records of a run that go into the store. */
#include "index/catalog/catalog_record.h"
#include "index/ingest/retry.h"
#include "index/ingest/order.h"
#include "index/ingest/write.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static enum index_state run_index_state(const struct run *r)
{
    if (r->state != RUN_ENDED)
        return INDEX_INDEXING;
    if (r->error)
        return INDEX_FAILED;
    return r->finished ? INDEX_READY : INDEX_GROWING;
}

static void store_record(struct writer *w, struct run *run, struct view *v)
{
    struct kv_key key = kv_key_of_u32(run->id), path = path_key(run->entry->name);
    uint8_t id[4];
    struct buf value = {0};

    memcpy(id, key.data, 4);
    file_encode(w->ix, v, &value);
    kv_put_buf(w->batch, KV_FILE, &key, &value);
    kv_put(w->batch, KV_PATH, &path, id, 4);
}

static void store_summary(struct writer *w, struct run *run, struct view *v)
{
    struct kv_key key = kv_key_of_u32(run->id);
    struct buf value = {0};
    uint32_t old = run->summary_version;

    if (old)
        garbage_retire(w, GARBAGE_SUMMARY, run->id, old, 0);
    run->summary_version = v->summary_version = old + 1;
    kv_key_u32(&key, run->summary_version);
    summary_store(w->ix->texts, run->base, run->tail, &value);
    kv_put_buf(w->batch, KV_SUMMARY, &key, &value);
}

/* Retires the chunk that was read again. */
static void retire_replaced(struct writer *w, struct run *run)
{
    const struct index_file *old = &run->old->pub;

    if (run->fresh || run->stored || old->chunk_count == 0)
        return;
    for (uint32_t i = old->chunk_count; i > 0; i--) {
        const struct index_chunk *c = &old->chunks[i - 1];
        bool kept = false, there = false;
        for (size_t k = run->chunks.count; k > 0 && run->chunks.at[k - 1].number >= c->number;
             k--) {
            there = there || run->chunks.at[k - 1].number == c->number;
            kept = kept || (run->chunks.at[k - 1].number == c->number &&
                            run->chunks.at[k - 1].version == c->version);
        }
        if (kept)
            return; /* all chunks before it are kept, too */
        if (!there) {
            struct kv_key key = kv_key_of_u32(run->id);
            kv_key_u32(&key, c->number);
            kv_delete(w->batch, KV_SPAN, &key);
        }
        garbage_retire(w, GARBAGE_CHUNK, run->id, c->number, c->version);
    }
}

/* Writes why a run has failed, and on which host if another rank has read. */
static void failed_text(const struct index *ix, const struct run *run, char *text, size_t size)
{
    const char *host = run->error_rank ? ranks_host(ix->ranks, run->error_rank) : NULL;

    retry_message(run->error, host, text, size);
}

static struct view *failed_view(const struct index *ix, struct run *run)
{
    struct view *v = view_empty(run->entry, INDEX_FAILED);
    char text[200];

    if (!v)
        return NULL;
    failed_text(ix, run, text, sizeof text);
    const char *why = arena_strdup(&v->arena, text_of(text));
    v->identity = run->identity;
    v->index_params = index_params_ref(run->index_params);
    v->pub.error = why ? why : "out of memory";
    v->pub.file_bytes = run->identity.size;
    v->pub.compressed_bytes = run_bytes(run);
    return v;
}

/* An unreadable file is retried again and again: the same failure is not worth a new generation. If
 * the file is forgotten meanwhile, it has another view. */
static bool failed_as_before(struct index *ix, const struct run *run)
{
    char text[200];

    failed_text(ix, run, text, sizeof text);
    pthread_mutex_lock(&ix->lock);
    const struct view *now = run->entry->view;
    bool same = now->pub.state == INDEX_FAILED && !run->stored && now->pub.error &&
                strcmp(now->pub.error, text) == 0 && identity_same(&now->identity, &run->identity);
    pthread_mutex_unlock(&ix->lock);
    return same;
}

/* If an error of the system ended the run, what was read before stays valid, and the run is
 * retried. The watcher decides whether an unreachable file is gone. */
static bool keeps_stored(const struct run *run)
{
    return !run->fresh && !run->stored && !run->rebuild && run->old->pub.id != 0 &&
           (retry_is_system_error(run->error) || run->unreachable);
}

/* Without a view, nothing can be published, so nothing may be stored either. */
static struct view *require_view(struct writer *w, struct view *v)
{
    if (!v)
        kv_batch_fail(w->batch, -ENOMEM);
    return v;
}

/* The run begins again with another id. */
static struct view *cancelled_view(struct writer *w, struct run *run)
{
    if (run->state == RUN_READING)
        return NULL;
    if (run->id && (run->stored || !run->fresh))
        garbage_retire_file(w, run->id);
    if (run_replaces(run))
        garbage_retire_file(w, run->old->pub.id);
    return require_view(w, view_empty(run->entry, INDEX_PENDING));
}

static struct view *store_failed_run(struct writer *w, struct run *run)
{
    if (failed_as_before(w->ix, run))
        return NULL;
    if (keeps_stored(run))
        return require_view(w, view_with_state(run->old, INDEX_GROWING));
    if (run->id && (run->stored || !run->fresh))
        garbage_retire_file(w, run->id);
    if (!run->stored && run->old->pub.id && run->old->pub.id != run->id)
        garbage_retire_file(w, run->old->pub.id);
    return require_view(w, failed_view(w->ix, run));
}

/* Returns the view that is published after the commit; NULL: nothing changes. */
static struct view *store_read_run(struct writer *w, struct run *run)
{
    enum index_state state = run_index_state(run);

    if (run->action == RUN_NOTHING && run->state != RUN_READING && !run->error)
        return NULL;
    if (atomic_load(&run->cancelled) == RUN_ABANDONED)
        return run->state != RUN_READING ? full_view(run) : NULL;
    if (atomic_load(&run->cancelled) && !run->error)
        return cancelled_view(w, run);
    if (state == INDEX_FAILED)
        return store_failed_run(w, run);
    /* Until the chunk that is read again has arrived, stored records stay as they are. */
    if (run->state != RUN_ENDED && !run->tail && !run->entry->is_archive)
        return NULL;
    struct view *v = require_view(w, run_view(w->ix, run, state));
    if (!v)
        return NULL;
    if (run_replaces(run))
        garbage_retire_file(w, run->old->pub.id);
    retire_replaced(w, run);
    store_summary(w, run, v);
    store_record(w, run, v);
    if (!run->stored)
        run->stored = RUN_IN_BATCH;
    return v;
}

static struct view *touched_view(struct writer *w, struct run *run)
{
    struct view *v = view_with_state(run->old, INDEX_READY);

    if (!v)
        return NULL;
    view_identify(v, &run->identity);
    v->pub.name = run->entry->name;
    v->pub.path = run->entry->path;
    run->id = run->old->pub.id;
    store_record(w, run, v);
    return v;
}

/* Stores states that changed without a run: files that went missing or came back. */
void store_states(struct writer *w)
{
    struct index *ix = w->ix;

    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < ix->entries.count && ix->records_dirty > 0; i++) {
        struct entry *e = ix->entries.at[i];
        struct kv_key key = kv_key_of_u32(e->view->pub.id);
        if (!e->record_dirty)
            continue;
        e->record_dirty = false;
        ix->records_dirty--;
        if (e->view->pub.id == 0 || e->run)
            continue; /* nothing is stored, or a run stores it */
        struct buf value = {0};
        file_encode(ix, e->view, &value);
        kv_put_buf(w->batch, KV_FILE, &key, &value);
    }
    pthread_mutex_unlock(&ix->lock);
}

struct view *store_run(struct writer *w, struct run *run)
{
    return run->action == RUN_TOUCH && !run->error ? touched_view(w, run) : store_read_run(w, run);
}
