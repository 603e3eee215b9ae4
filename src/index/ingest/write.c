/* write.c - the writer: waits for results, decides when to commit, and cleans up. */
#include "index/ingest/write.h"
#include "index/catalog/archive_members.h"
#include "index/catalog/catalog_record.h"
#include "index/catalog/unreadable_dirs.h"
#include "index/ingest/retry.h"
#include "index/ingest/order.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>

#define COMMIT_MIN (64u << 10)
#define COMMIT_SHARE 64       /* fraction of the store */
#define RUN_BYTES (24u << 10) /* about the memory of a small file until it is committed */

static bool has_work(const struct writer *w)
{
    return w->dirty || w->served || !kv_batch_is_empty(w->batch) || w->ix->records_dirty > 0;
}

static bool may_purge(const struct index *ix, const struct entry *e, int64_t now)
{
    if (e->view->pub.id == 0 || e->run)
        return false;
    if (e->link_of)
        return true; /* it was read before its other name was found */
    if (e->view->pub.state != INDEX_MISSING)
        return false;
    return (ix->full || now - e->view->missing_since_ns >= ix->purge_ns) &&
           !unreadable_dirs_covers(ix->unreadable_dirs, e->name);
}

/* Forgets files that have been missing for long, or whose space is needed. */
static void purge_missing(struct writer *w)
{
    struct index *ix = w->ix;
    int64_t now = clock_real_ns();

    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < ix->entries.count && ix->listed; i++) {
        struct entry *e = ix->entries.at[i];
        struct kv_key path = path_key(e->name);
        struct view *v;
        if (!may_purge(ix, e, now))
            continue;
        v = view_empty(e, e->link_of ? INDEX_PENDING : INDEX_MISSING);
        if (!v)
            break;
        if (!has_work(w))
            w->first_ns = clock_mono_ns();
        garbage_retire_file(w, e->view->pub.id);
        kv_delete(w->batch, KV_PATH, &path);
        view_release(e->view); /* it was hidden: no new generation */
        e->view = v;
        ix->gone = true;
    }
    catalog_drop_gone(ix);
    pthread_mutex_unlock(&ix->lock);
}

/* Prepares the summary of all files, so that the first request need not wait for those of ten
 * thousand files. */
static void prepare_total_summary(struct writer *w)
{
    const struct summary *total;
    struct snapshot *s = index_snapshot(w->ix);

    if (s && snapshot_generation(s) != w->total_generation) {
        w->total_generation = snapshot_generation(s);
        index_total_summary(w->ix, s, &total);
    }
    snapshot_release(s);
}

static int64_t tick_ns(const struct writer *w)
{
    return w->ix->options.upkeep_ms * 1000000LL;
}

/* Queues files that are due for another check. Readers decide what to do with them. */
static void upkeep(struct writer *w)
{
    struct index *ix = w->ix;
    int64_t now = clock_mono_ns();

    if (now - w->tick_ns < tick_ns(w))
        return;
    w->tick_ns = now;
    pthread_mutex_lock(&ix->lock);
    if (ix->listed)
        links_resolve(ix);
    pthread_mutex_unlock(&ix->lock);
    purge_missing(w);
    if (!has_work(w)) {
        w->first_ns = now;
        garbage_collect(w); /* garbage of the last commit, once no snapshot reads it */
    }
    full_tick(w);
    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < ix->entries.count && !ingest_stopping(w->in); i++) {
        struct entry *e = ix->entries.at[i];
        enum index_state state = e->view->pub.state;
        if (e->offer_again)
            archive_offer_members(ix, e);
        if (e->offered && !e->run && !e->queued && now >= e->check_ns &&
            !unreadable_dirs_covers(ix->unreadable_dirs, e->name) &&
            (state == INDEX_GROWING || state == INDEX_FAILED || retry_is_wanted(e)))
            catalog_queue(ix, e, false);
    }
    ix->upkeeps++;
    pthread_mutex_unlock(&ix->lock);
}

static int64_t commit_ns(const struct writer *w)
{
    return w->ix->options.commit_ms * 1000000LL;
}

/* The next commit deletes or replaces a whole file: more than the summary that each commit of a run
 * replaces. */
static bool deletes_file(const struct writer *w)
{
    return w->replacing || w->freed || w->garbage_files > 0;
}

/* A batch is small compared with the limit, because a batch that does not fit is dropped as a
 * whole. Pages that a commit frees can be reused in the third commit after it: while a file is
 * indexed again, small commits keep the store small. */
static uint64_t commit_bytes(const struct writer *w)
{
    uint64_t share = w->ix->options.map_max / 16, max = w->ix->commit_bytes;

    if (deletes_file(w))
        max = kv_bytes(w->ix->kv) / COMMIT_SHARE;
    if (max < COMMIT_MIN)
        max = COMMIT_MIN;
    if (max > w->ix->commit_bytes)
        max = w->ix->commit_bytes;
    return share && share < max ? share : max;
}

/* At the end only this thread works: the less is left for then, the sooner all is stored. */
static bool commit_is_due(struct writer *w, bool idle)
{
    uint64_t due = commit_bytes(w);

    if (!w->reading && !deletes_file(w)) /* commits are small already while files are replaced */
        due /= 2;
    if (kv_batch_bytes(w->batch) + (size_t)w->dirty_count * RUN_BYTES >= due)
        return true;
    return has_work(w) && (idle || clock_mono_ns() - w->first_ns >= commit_ns(w));
}

/* Returns all results, after waiting for one until the next action is due. *ret_idle: no result
 * is on its way. */
static struct result *next_results(struct writer *w, bool *ret_idle, bool *ret_over)
{
    struct ingest *in = w->in;
    struct result *results;
    int64_t until = has_work(w) ? w->first_ns + commit_ns(w) : clock_mono_ns() + tick_ns(w) / 2;

    pthread_mutex_lock(&in->lock);
    while (!in->results && !in->workers_gone && !(in->active == 0 && has_work(w))) {
        if (clock_cond_wait(&in->results_cond, &in->lock, until) == ETIMEDOUT)
            break;
    }
    results = in->results;
    in->results = NULL;
    in->results_end = &in->results;
    *ret_idle = in->active == 0 && !results;
    w->reading = in->reading > 0;
    *ret_over = in->workers_gone && !results;
    pthread_mutex_unlock(&in->lock);
    return results;
}

void *ingest_writer_main(void *arg)
{
    struct ingest *in = arg;
    struct writer w = {.in = in, .ix = in->ix, .served_end = &w.served};
    bool idle, over = false;

    pthread_setname_np(pthread_self(), "dft-write");
    while (!(w.batch = kv_batch_new()) && !ingest_stopping(in))
        ingest_rest(in);
    while (w.batch && !over) {
        struct result *r = next_results(&w, &idle, &over), *next;
        serve_forgotten(&w); /* first: if the store of rank 0 was lost, ids of files are reused */
        for (; r; r = next) {
            next = r->next;
            if (r->reader)
                help_scanned(w.ix, r);
            if (r->run->order && !ranks_is_first(w.ix->ranks))
                serve_result(&w, r);
            else
                apply_result(&w, r);
            if (commit_is_due(&w, false))
                commit_dirty(&w, false);
        }
        if (over || commit_is_due(&w, idle))
            commit_dirty(&w, over);
        if (!over)
            upkeep(&w);
        if (idle && !over && !has_work(&w))
            prepare_total_summary(&w);
    }
    kv_batch_free(w.batch);
    vec_done(&w.garbage);
    return NULL;
}
