/* rank_progress.c - the progress of each rank with its files. */
#include "index/files.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>

/* Divides the progress of a file that several ranks scan, in proportion to their shares. */
static void add_shares(const struct entry *e, unsigned count, const struct index_progress *one,
                       struct index_rank_progress *list)
{
    double whole = 0;

    for (unsigned i = 0; i < count; i++)
        whole += (double)e->shares[i];
    for (unsigned i = 0; i < count; i++) {
        list[i].bytes += (uint64_t)((double)one->bytes * (double)e->shares[i] / whole);
        list[i].bytes_done += (uint64_t)((double)one->bytes_done * (double)e->shares[i] / whole);
    }
}

static void add_entry(const struct index *ix, struct index_rank_progress *list,
                      const struct entry *e)
{
    struct index_rank_progress *r = &list[e->rank];
    struct index_progress one = {0};

    files_add_progress(ix, &one, e);
    if (one.files_unasked)
        return;
    r->files += one.files;
    r->files_pending += one.files_pending;
    if (e->shares) {
        add_shares(e, ranks_count(ix->ranks), &one, list);
        return;
    }
    r->bytes += one.bytes;
    r->bytes_done += one.bytes_done;
}

int index_rank_progress(struct index *ix, struct index_rank_progress **ret, size_t *ret_count)
{
    unsigned count = ranks_is_first(ix->ranks) ? ranks_count(ix->ranks) : 0;
    struct index_rank_progress *list = calloc(count + 1, sizeof *list);

    if (!list)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        const char *host = ranks_host(ix->ranks, i);
        list[i].rank = i;
        list[i].host = host ? host : "";
    }
    pthread_mutex_lock(&ix->lock);
    for (size_t i = 0; count && i < ix->entries.count; i++)
        if (ix->entries.at[i]->placed)
            add_entry(ix, list, ix->entries.at[i]);
    pthread_mutex_unlock(&ix->lock);
    *ret = list;
    *ret_count = count;
    return 0;
}
