/* store_error.c - errors of the store: why indexing stopped, and files whose values are corrupt. */
#include "index/catalog/store_error.h"
#include "index/catalog/catalog.h"
#include "index/ranks/ranks.h"
#include "index/store/kv.h"

void index_set_store_error(struct index *ix, int error)
{
    bool changed = false;

    pthread_mutex_lock(&ix->lock);
    if (ix->store_error != error &&
        ix->store_error != ERR_CORRUPT) { /* ERR_CORRUPT stays until the index is reopened */
        ix->store_error = error;
        catalog_changed(ix);
        changed = true;
    }
    pthread_mutex_unlock(&ix->lock);
    if (changed && ix->ranks && !ranks_is_first(ix->ranks))
        /* rank 0 reports the errors of all ranks */
        ranks_send_number(ix->ranks, 0, RANK_ERROR, error);
    catalog_notify(ix);
}

int index_own_store_error(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    int error = ix->store_error;
    pthread_mutex_unlock(&ix->lock);
    return error;
}

void index_report_corrupt(struct index *ix)
{
    if (ix->read_only)
        return;
    kv_mark_corrupt(ix->kv);
    index_set_store_error(ix, ERR_CORRUPT);
}

void index_file_corrupt(struct index *ix, const struct index_file *file)
{
    bool again = false;

    if (!ix->ingest)
        return;
    if (kv_is_broken(ix->kv)) {
        index_report_corrupt(ix);
        return;
    }
    pthread_mutex_lock(&ix->lock);
    struct entry *e = catalog_entry(ix, file->name, NULL, false);
    if (e && file->id && e->view->pub.id == file->id && !e->rebuild) {
        again = e->was_corrupt;
        e->was_corrupt = true;
        ix->files_corrupt++;
        catalog_rebuild(ix, e);
    }
    pthread_mutex_unlock(&ix->lock);
    /* the rewritten value is corrupt, too: the cause is in the pages of LMDB, not in one value */
    if (again)
        index_report_corrupt(ix);
}
