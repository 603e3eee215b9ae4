/* store_error.c - errors of the store: why indexing stopped, and files whose values are corrupt. */
#include "index/catalog/store_error.h"
#include "index/catalog/catalog.h"
#include "index/ranks/ranks.h"
#include "index/store/kv.h"

void set_store_error(struct index *ix, int error)
{
    bool changed = false;

    pthread_mutex_lock(&ix->lock);
    if (ix->store_error != error &&
        ix->store_error != ERR_CORRUPT) { /* that stays, until it is opened again */
        ix->store_error = error;
        catalog_changed(ix);
        changed = true;
    }
    pthread_mutex_unlock(&ix->lock);
    if (changed && ix->ranks && !ranks_is_first(ix->ranks))
        ranks_send_number(ix->ranks, 0, RANK_ERROR, error); /* which answers for all */
    catalog_notify(ix);
}

void index_report_corrupt(struct index *ix)
{
    if (ix->read_only)
        return;
    kv_mark_corrupt(ix->kv);
    set_store_error(ix, ERR_CORRUPT);
}

void index_file_corrupt(struct index *ix, const struct index_file *file)
{
    struct entry *e;
    bool again = false;

    if (!ix->ingest)
        return;
    if (kv_is_broken(ix->kv)) {
        index_report_corrupt(ix);
        return;
    }
    pthread_mutex_lock(&ix->lock);
    e = catalog_entry(ix, file->name, NULL, false);
    if (e && file->id && e->view->pub.id == file->id && !e->rebuild) {
        again = e->was_corrupt;
        e->was_corrupt = true;
        ix->files_corrupt++;
        catalog_rebuild(ix, e);
    }
    pthread_mutex_unlock(&ix->lock);
    if (again) /* what was written anew is wrong, too: pages are damaged, not a value */
        index_report_corrupt(ix);
}
