/* snapshot.h - what answers see of all files, pinned: the views of one generation.
 *
 * Used by:   catalog, ingest (deletes what no snapshot reads), index; all else through
 *            dftracerd/index.h.
 * Threads:   immutable but for what is made when first asked for, each under its lock.
 */
#ifndef DFTRACERD_INDEX_CATALOG_SNAPSHOT_H
#define DFTRACERD_INDEX_CATALOG_SNAPSHOT_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"

struct resolver;
struct snapshot {
    atomic_uint refs;
    uint64_t serial; /* which no other snapshot of this process has */
    struct index *ix;
    uint64_t generation;
    bool listed;
    struct held *held; /* or NULL */
    uint32_t count;
    struct view **views;
    uint32_t archive_count;
    struct view **archives;
    char *part_uuid;                /* of snapshot_filter(), else NULL */
    struct snapshot *older, *newer; /* living ones, under index.lock */
    /* Of what is made when first asked for. Two locks: a scan resolves hashes while it has a chunk
     * open, and the root summary reads the store while it is made. */
    pthread_mutex_t lock, resolver_lock;
    struct resolver *resolver; /* under resolver_lock */
    struct root *root;         /* under lock */
};

/* Of the files of another rank's, by name; the views are referenced. *new*; NULL without memory. */
struct snapshot *snapshot_of_views(struct index *ix, uint64_t generation, struct view **views,
                                   uint32_t count);
/* Generation of the oldest living snapshot, UINT64_MAX: none. Under index.lock. */
uint64_t snapshot_oldest(struct index *ix);

/* root.c, resolve.c; NULL is fine */
void root_release(struct root *r);
void resolver_free(struct resolver *r);

#endif
