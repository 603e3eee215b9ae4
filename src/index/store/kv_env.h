/* kv_env.h - private to the kv files, the only callers of LMDB: kv.c opens and closes it,
 * kv_commit.c writes, kv_read.c reads. */
#ifndef DFTRACERD_INDEX_STORE_KV_ENV_H
#define DFTRACERD_INDEX_STORE_KV_ENV_H

#include "index/store/kv.h"

#include <lmdb.h>
#include <pthread.h>

#define KV_POOL_MAX 64 /* maximum number of idle read transactions */

struct kv {
    MDB_env *env;
    MDB_dbi dbi[KV_TABLES];
    char *path, *mark; /* mark: the file that marks the store as corrupt */
    uint64_t map_size; /* size to reopen with if env is NULL */
    uint64_t map_max;  /* UINT64_MAX if there is no limit */
    /* map_max, or more if the file was larger already: deleting must be possible */
    uint64_t map_top;
    bool read_only;
    /* Held for reading while a read transaction is open, for writing while the map moves.
     * Readers are preferred, since a thread may hold two reads. `map_moves` makes new readers
     * pause, because otherwise there might always be one; but not for ever, since a thread that
     * holds a read may be waiting for them. */
    pthread_rwlock_t map_lock;
    atomic_bool map_moves;      /* a thread has map_lock for writing, or waits for it */
    pthread_mutex_t pool_lock;  /* guards the next members */
    MDB_txn *pool[KV_POOL_MAX]; /* idle read transactions */
    unsigned pooled;
    atomic_uint reads; /* number of open reads */
    /* bounds of the map, NULL if unknown; written with map_lock held for writing */
    const char *map_at, *map_end;
    atomic_bool broken; /* inconsistent pages of LMDB have been found */
};

struct kv_read {
    struct kv *kv;
    MDB_txn *txn;
    /* end of the data in the map that this read may point to; NULL: unknown */
    const char *data_end;
    bool borrowed;         /* `txn` is that of an outer read */
    struct kv_read *outer; /* outer read of the same thread */
};

/* ---- kv.c ------------------------------------------------------------------------------------ */

/* Maps a return code of LMDB to one of kv.h. */
int kv_code(int rc);
/* Reopens the environment with a map of `size`, or less if that is not possible. On failure kv->env
 * is NULL. The caller holds map_lock for writing. Returns 0, or an error as kv_open. */
int kv_reopen(struct kv *kv, uint64_t size);
/* Ends the idle read transactions. The caller holds map_lock for writing, or is the only thread. */
void kv_abort_idle(struct kv *kv);
/* Returns the bytes of pages in use. The caller holds map_lock, or is the writer. */
uint64_t kv_bytes_used(struct kv *kv);
/* Returns the bytes of a limited file that are reserved for deletions. */
uint64_t kv_reserve(const struct kv *kv);

/* ---- kv_read.c ------------------------------------------------------------------------------- */

/* The checksum of a value, seeded with its key; for a chunk only that of its head, which contains
 * the checksums of the rest. */
#define KV_SUM_BYTES 8
uint64_t kv_sum(enum kv_table t, const void *key, size_t key_len, const void *value, size_t len);
bool kv_has_sum(enum kv_table t);

/* ---- kv_fault.c ------------------------------------------------------------------------------ */

/* the store in which the calling thread is inside LMDB, or NULL */
extern _Thread_local struct kv *kv_inside;
/* Finds the bounds of the map, after the environment was opened or its map has moved. */
void kv_find_map(struct kv *kv);
void kv_watch_faults(struct kv *kv);
void kv_ignore_faults(struct kv *kv);

#endif
