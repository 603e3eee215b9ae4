/* index.h - struct index: one store and what is known of its files.
 *
 *   entry     a name that was offered: mutable, under index.lock; lives until the file is gone and
 *             purged (catalog.h)
 *   view      what answers see of a file at one moment: immutable (view.h)
 *   snapshot  the views of one generation. The oldest living one decides what the writer may
 *             delete (snapshot.h)
 *   run       one pass of ingest over a file: from its start, or on from the last final chunk
 *             (ingest/run.h)
 *   part      what is known of some chunks (summary/part.h). A run keeps two: `base`, all chunks
 *             but the last, and `tail`, the last one. The last chunk of a file may have to be read
 *             again when the file grows, and nothing can be subtracted from a sketch
 *
 * Used by:   catalog, ingest, index.
 * Locks:     index.lock: entries, views published, snapshots, the queue of files. ingest.lock:
 *            jobs, mail, credits; it may be taken within the first, never the other way. Neither is
 *            held during I/O.
 */
#ifndef DFTRACERD_INDEX_CATALOG_INDEX_H
#define DFTRACERD_INDEX_CATALOG_INDEX_H

#include "dftracerd/index.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"

#include <pthread.h>

struct entry;
struct far_cache;
struct file_queue;
struct held;
struct ingest;
struct kv;
struct line_range;
struct mirror;
struct part_fact;
struct ranks;
struct root;
struct snapshot;
struct terms;
struct texts;
#define GENERATIONS_AHEAD 4096 /* a crash jumps over those that were told but not stored */

struct index {
    char *path, uuid[40];
    struct index_options options; /* with defaults filled in */
    struct terms *terms;
    uint64_t checkpoint_most, commit_bytes;
    int64_t settle_ns, purge_ns;
    int lock_fd;
    struct kv *kv;
    struct texts *texts;
    struct ingest *ingest; /* NULL: read only */
    struct ranks *ranks;   /* NULL: this process alone */
    struct far_cache *far; /* chunks of other ranks; NULL there, too */
    struct mirror *mirror; /* another rank: the snapshots of rank 0 (mirror.c); NULL elsewhere */
    struct index_rank_handler asked;
    bool read_only;

    pthread_mutex_t lock;
    pthread_cond_t files_cond;   /* the queue of files is not empty, or ingest stops */
    VEC(struct entry *) entries; /* by name, once sorted */
    uint32_t archive_count;
    uint32_t sorted_count;      /* so many of the first entries are in order */
    struct intern *entry_names; /* name -> position in by_id */
    VEC(struct entry *) by_id;
    struct file_queue *queues;    /* files to be read, by the rank that reads them (queue.c) */
    VEC(struct entry *) unplaced; /* of no rank yet */
    uint64_t *placed_bytes;       /* of the files of each rank */
    struct arena strings;
    struct held *held; /* directories that cannot be read, or NULL: none (held.c) */
    bool listed;
    uint32_t link_count; /* entries that are linked */
    bool links_dirty;    /* names came, went, or lead to other files (links.c) */
    bool full;           /* the store can grow no more: readers wait (ingest/full.c) */
    bool forgotten;      /* a file went since */
    bool gone;           /* there are entries that catalog_drop_gone may free, now or later */
    int store_error;
    uint64_t read_again;    /* how often files were looked at again after failures of the system */
    uint64_t upkeeps;       /* of index_progress */
    uint64_t files_corrupt; /* whose values in the store were wrong, since it was opened */
    VEC(uint32_t) lost;     /* ids of those that were found so when it was opened */
    char *rebuilt;          /* why the store that was there has been removed, or NULL */
    uint64_t generation, generation_stored, generation_opened;
    struct index_progress progress; /* sums over all entries (index/files.c) */
    int64_t progress_until_ns; /* monotonic: not summed up again before, while files are queued */
    struct snapshot *current;  /* of the present state, or NULL: made when asked for */
    struct snapshot *oldest, *newest;
    VEC(struct part_fact) forks; /* of the files of the last snapshot: who forked whom (forks.c) */
    struct hash_index fork_index;
    bool forks_dirty; /* processes came or went since */
    uint32_t next_file;
    atomic_uint records_dirty;
    void (*on_change)(void *arg);
    void *on_change_arg;
    atomic_int queries;
    atomic_bool stopping; /* index_close has begun: what takes long ends */

    pthread_rwlock_t lines_lock;
    VEC(struct line_range) lines;
    uint32_t line_count;

    pthread_mutex_t root_lock;
    struct root *root; /* newest one made */
};

#endif
