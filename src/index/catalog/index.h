/* index.h - struct index: one store and the catalog of its files.
 *
 *   entry     a name that was offered: mutable, under index.lock; lives until the file is gone and
 *             purged (catalog.h)
 *   view      what answers see of a file at one moment: immutable (view.h)
 *   snapshot  the views of one generation. The oldest living one decides what the writer may
 *             delete (snapshot.h)
 *   run       one pass of ingest over a file: from its start, or from the last final chunk
 *             (ingest/run.h)
 *   part      the summary and metadata of some chunks (summary/part.h). A run keeps two: `base`,
 *             all chunks but the last, and `tail`, the last one. The last chunk of a file may have
 *             to be read again when the file grows, and nothing can be subtracted from a sketch
 *
 * Used by:   catalog, ingest, index.
 * Locks:     index.lock: entries, views published, snapshots, the queue of files. ingest.lock:
 *            jobs, results, credits. It may be acquired while index.lock is held, never the other
 *            way round. Neither is held during I/O.
 *
 */
#ifndef DFTRACERD_INDEX_CATALOG_INDEX_H
#define DFTRACERD_INDEX_CATALOG_INDEX_H

#include "dftracerd/index.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"

#include <pthread.h>

struct entry;
struct remote_cache;
struct file_queue;
struct unreadable_dirs;
struct ingest;
struct kv;
struct line_range;
struct mirror;
struct part_fact;
struct ranks;
struct snapshot;
struct index_params;
struct texts;
struct total_summary;
/* generations that a crash skips: they may have been published, but not stored */
#define GENERATIONS_AHEAD 4096

struct index {
    char *path, uuid[40];
    struct index_options options; /* with defaults filled in */
    struct index_params *index_params;
    uint64_t checkpoint_max, commit_bytes;
    int64_t settle_ns, purge_ns;
    int lock_fd;
    struct kv *kv;
    struct texts *texts;
    struct ingest *ingest;             /* NULL if read only */
    struct ranks *ranks;               /* NULL: this process alone */
    struct remote_cache *remote_cache; /* chunks of other ranks; NULL: this process alone */
    struct mirror *mirror; /* copies of the snapshots of rank 0 (mirror.c); NULL on rank 0 */
    struct index_rank_handler rank_handler;
    bool read_only;

    pthread_mutex_t lock;
    pthread_cond_t files_cond;   /* the queue of files is not empty, or ingest stops */
    VEC(struct entry *) entries; /* ordered by name up to sorted_count */
    uint32_t archive_count;
    uint32_t sorted_count;
    struct intern *entry_names; /* name -> position in by_id */
    VEC(struct entry *) by_id;
    struct file_queue *queues;    /* files to be read, by the rank that reads them (queue.c) */
    VEC(struct entry *) unplaced; /* no rank has been chosen yet */
    uint64_t *placed_bytes;       /* bytes of the files of each rank */
    struct arena strings;
    struct unreadable_dirs *unreadable_dirs; /* NULL: none (unreadable_dirs.c) */
    bool listed;
    uint32_t link_count; /* number of entries that are `linked` */
    bool links_dirty;    /* names were added or removed, or lead to other files (links.c) */
    bool full;           /* the store is full: readers wait (ingest/full.c) */
    bool forgotten;      /* a file was forgotten since the store became full */
    bool gone;           /* there are entries that catalog_drop_gone may free, now or later */
    int store_error;
    uint64_t read_again;        /* number of retries after failures of the system */
    uint64_t upkeeps;           /* see index_progress */
    uint64_t files_corrupt;     /* files whose values in the store were corrupt, since index_open */
    VEC(uint32_t) lost;         /* ids of files that were found corrupt by index_open */
    char *rebuilt;              /* why the previous store was removed, or NULL */
    uint64_t generation;        /* of the present state */
    uint64_t generation_stored; /* in the store: the next process begins with this one */
    uint64_t generation_opened; /* when index_open returned */
    struct index_progress progress; /* sums over all entries (index/files.c) */
    int64_t progress_until_ns; /* monotonic: while files are queued, sums are kept until then */
    struct snapshot *current;  /* snapshot of the current state, created on first use, or NULL */
    struct snapshot *oldest, *newest;
    VEC(struct part_fact) forks; /* forks in the files of the last snapshot (forks.c) */
    struct hash_index fork_index;
    bool forks_dirty;          /* processes have changed since then */
    uint32_t next_file;        /* id of the next file that is read from its start */
    atomic_uint records_dirty; /* number of entries whose record_dirty is set */
    void (*on_change)(void *arg);
    void *on_change_arg;
    atomic_int queries;   /* number of running requests (index_query_running) */
    atomic_bool stopping; /* index_close has begun: long operations end */

    pthread_rwlock_t lines_lock;
    VEC(struct line_range) lines;
    uint32_t line_count;

    pthread_mutex_t total_lock;
    struct total_summary *total; /* the latest one; NULL: none yet */
};

#endif
