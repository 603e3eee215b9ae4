/* commit.c - the writer: stores what has changed, and then publishes it. */
#include "index/catalog/store_error.h"
#include "index/ingest/order.h"
#include "index/ingest/write.h"

#include <stdlib.h>
#include <time.h>

#define RETRY_NS 2000000000LL /* after a failed commit */

static uint32_t store_dirty(struct writer *w, struct pending_view **ret)
{
    uint32_t count = 0, i = 0;
    struct run *r, *next;

    for (r = w->dirty; r; r = r->next_dirty)
        count++;
    *ret = calloc(count + 1, sizeof **ret);
    if (!*ret)
        return 0;
    /* The list is last in, first out. Records that are added in the order of their ids fill pages
     * better. */
    for (r = w->dirty, w->dirty = NULL; r; r = next) {
        next = r->next_dirty;
        r->next_dirty = w->dirty;
        w->dirty = r;
    }
    for (r = w->dirty; r; r = next, i++) {
        next = r->next_dirty;
        r->dirty = false;
        (*ret)[i].run = r;
        (*ret)[i].over = r->state != RUN_READING;
        (*ret)[i].view = store_run(w, r);
    }
    w->dirty = NULL;
    w->dirty_count = 0;
    w->replacing = false;
    return count;
}

/* Nothing more is written to a corrupt store: LMDB may loop in its pages for ever. */
static int commit_once(struct writer *w)
{
    int (*commit)(struct kv *, struct kv_batch *) = w->ix->full ? kv_commit_freeing : kv_commit;

    if (index_own_store_error(w->ix) == ERR_CORRUPT)
        return ERR_CORRUPT;
    int rc = commit(w->ix->kv, w->batch);
    if (rc == ERR_CORRUPT)
        index_report_corrupt(w->ix);
    return rc;
}

/* Retries until it succeeds or the daemon stops: with a full disk, ingest waits and continues when
 * there is space. If the store itself may not grow, it returns at once. */
static int commit_batch(struct writer *w)
{
    int rc = commit_once(w);
    struct timespec pause = {0, 100000000};

    if (rc == 0 || full_is_error(rc) || kv_batch_error(w->batch))
        return rc;
    index_set_store_error(w->ix, rc);
    while (rc && !full_is_error(rc) && !ingest_stopping(w->in)) {
        for (int64_t waited = 0; waited < RETRY_NS && !ingest_stopping(w->in);
             waited += pause.tv_nsec)
            nanosleep(&pause, NULL);
        rc = commit_once(w);
    }
    if (rc == 0)
        index_set_store_error(w->ix, 0);
    return rc;
}

static void drop_pending(struct pending_view *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        view_release(list[i].view);
        if (list[i].over)
            run_free(list[i].run);
    }
}

/* Each view is a generation. */
static uint32_t count_views(const struct pending_view *list, uint32_t count)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++)
        n += list[i].view != NULL;
    return n;
}

void commit_dirty(struct writer *w, bool clean)
{
    struct pending_view *list = NULL;

    garbage_collect(w);
    store_states(w);
    uint32_t count = store_dirty(w, &list);
    if (!list) {
        ingest_rest(w->in);
        return;
    }
    if (!kv_batch_is_empty(w->batch) || clean) {
        store_generation(w, count_views(list, count), clean);
        texts_flush(w->ix->texts, w->batch);
    }
    int rc = commit_batch(w);
    serve_committed(w, rc);
    if (rc == 0) {
        texts_stored(w->ix->texts);
        w->freed = w->files_deleted > 0;
    }
    if (rc == 0)
        publish_views(w, list, count, true);
    else if (full_is_error(rc))
        full_abort(w, list, count, rc);
    else if (kv_batch_error(w->batch))
        lost_abort(w, list, count);
    else
        drop_pending(list, count);
    free(list);
    if (rc == 0)
        full_committed(w, count > 0);
    catalog_notify(w->ix);
}
