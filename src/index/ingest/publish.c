/* publish.c - after a commit, the writer makes the new views visible to requests, and ends runs. */
#include "index/catalog/archive_members.h"
#include "index/ingest/retry.h"
#include "index/ingest/write.h"

#define WALK_DELAY_FACTOR 10 /* the next walk waits that many times the duration of the last one */

static void read_again_later(struct run *run)
{
    struct entry *e = run->entry;

    e->again = true;
    if (run->stored == RUN_COMMITTED)
        return; /* everything else follows from stored records */
    e->rebuild = e->rebuild || run->rebuild;
    if (!e->index_params)
        e->index_params = index_params_ref(run->index_params);
    if (!e->unit_from_trace) {
        e->unit_from_trace = run->unit_from_trace;
        e->unit = run->unit;
    }
}

static void finish_entry(struct writer *w, struct run *run)
{
    struct index *ix = w->ix;
    struct entry *e = run->entry;

    e->run = NULL;
    if (atomic_load(&run->cancelled) == RUN_ABANDONED)
        read_again_later(run);
    e->check_ns = clock_mono_ns() + retry_delay_ns(e, run);
    /* An archive that is being written to is walked from its start each time. */
    if (e->is_archive && e->view->pub.state == INDEX_GROWING) {
        e->again = false;
        e->check_ns += WALK_DELAY_FACTOR * (clock_mono_ns() - run->begin_ns);
    }
    if (e->again && !ingest_stopping(w->in)) {
        e->again = false;
        catalog_queue(ix, e, true);
    }
}

void store_generation(struct writer *w, uint32_t changes, bool clean)
{
    struct kv_key key = kv_key_of_name("generation"), next_file_key = kv_key_of_name("next_file");
    struct buf value = {0}, next_file = {0};

    pthread_mutex_lock(&w->ix->lock);
    uint64_t generation = w->ix->generation + changes;
    if (!clean && generation + GENERATIONS_AHEAD / 4 > w->ix->generation_stored)
        w->ix->generation_stored = generation + GENERATIONS_AHEAD;
    /* The next process may be able to read directories that this one could not read: then its first
     * snapshot needs another number. */
    if (clean)
        w->ix->generation_stored = generation + (w->ix->unreadable_dirs != NULL);
    rec_put_u(&value, w->ix->generation_stored);
    rec_put_u(&next_file, w->ix->next_file);
    pthread_mutex_unlock(&w->ix->lock);
    kv_put_buf(w->batch, KV_META, &key, &value);
    kv_put_buf(w->batch, KV_META, &next_file_key, &next_file);
}

/* Queues the members of an archive for ingest, or forgets them if the archive failed, is
 * missing, or is a duplicate. */
static void queue_members(struct index *ix, struct entry *archive)
{
    enum index_state state = archive->view->pub.state;

    if (state == INDEX_FAILED || state == INDEX_MISSING || catalog_duplicate_of(archive))
        archive_forget_members(ix, archive);
    else
        archive_offer_members(ix, archive);
}

void publish_views(struct writer *w, struct pending_view *list, uint32_t count, bool stored)
{
    struct index *ix = w->ix;
    uint64_t generation;

    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].run->stored)
            list[i].run->stored = RUN_COMMITTED;
        if (list[i].view)
            catalog_publish_run(ix, list[i].run->entry, list[i].view);
        if (list[i].over)
            finish_entry(w, list[i].run);
        if (list[i].over && list[i].run->entry->is_archive)
            queue_members(ix, list[i].run->entry);
    }
    generation = ix->generation;
    pthread_mutex_unlock(&ix->lock);
    for (uint32_t i = 0; i < w->garbage.count && stored; i++)
        if (w->garbage.at[i].generation == UINT64_MAX)
            w->garbage.at[i].generation = generation;
    for (uint32_t i = 0; i < count; i++)
        if (list[i].over)
            run_free(list[i].run);
}
