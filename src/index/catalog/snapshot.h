/* snapshot.h - snapshots: the views of all files of one generation, kept readable.
 *
 * Used by:   catalog, ingest (deletes what no snapshot reads), index; all else through
 *            dftracerd/index.h.
 * Threads:   immutable but for members that are created on first use, each under its lock.
 */
#ifndef DFTRACERD_INDEX_CATALOG_SNAPSHOT_H
#define DFTRACERD_INDEX_CATALOG_SNAPSHOT_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"

struct resolver;
struct total_summary;
struct snapshot {
    atomic_uint refs;
    uint64_t serial; /* unique in this process */
    struct index *ix;
    uint64_t generation;
    bool listed;
    struct unreadable_dirs *unreadable_dirs; /* unreadable directories, or NULL */
    uint32_t count;
    struct view **views;
    uint32_t archive_count;
    struct view **archives;
    char *part_uuid;                /* set by snapshot_filter(), else NULL */
    struct snapshot *older, *newer; /* list of living snapshots, under index.lock */
    /* Locks of the members that are created on first use. There are two, because a scan resolves
     * hashes while it has a chunk open, and creating the total summary reads the store. */
    pthread_mutex_t lock, resolver_lock;
    struct resolver *resolver;   /* under resolver_lock */
    struct total_summary *total; /* under lock */
};

/* Returns a snapshot of files of another rank, ordered by name. The views are referenced. *new*;
 * NULL without memory. */
struct snapshot *snapshot_of_views(struct index *ix, uint64_t generation, struct view **views,
                                   uint32_t count);
/* Returns the generation of the oldest living snapshot, UINT64_MAX if there is none. Under
 * index.lock. */
uint64_t snapshot_oldest(struct index *ix);

/* total_summary.c, resolve.c; NULL-safe */
void total_summary_release(struct total_summary *r);
void resolver_free(struct resolver *r);

#endif
