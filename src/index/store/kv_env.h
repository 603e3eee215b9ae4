/* kv_env.h - the inside of kv.h: kv.c opens and closes, kv_commit.c writes, kv_read.c reads. The
 * only callers of LMDB. */
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
    /* Held for reading while a read transaction is open, for writing while the map moves. Readers
     * are preferred, since a thread may hold two reads. So that the map can move although there
     * always is a reader, new readers wait at the turnstile; but not for ever, since a thread that
     * holds a read may be waiting for them. */
    pthread_rwlock_t gate;
    atomic_bool moving; /* the turnstile is closed */
    pthread_mutex_t pool_lock;
    MDB_txn *pool[KV_POOL_MAX];
    unsigned pooled;
    atomic_uint reads; /* number of open reads */
    /* NULL if unknown. They change while the gate is held for writing. */
    const char *map_at, *map_end;
    atomic_bool broken; /* inconsistent pages of LMDB have been found */
};

struct kv_read {
    struct kv *kv;
    MDB_txn *txn;
    /* end of the data in the map that this read may point to; NULL: unknown */
    const char *data_end;
    bool borrowed;         /* the transaction is that of an outer read */
    struct kv_read *outer; /* outer read of the same thread */
};

/* ---- kv.c ------------------------------------------------------------------------------------ */

/* Maps a return code of LMDB to one of kv.h. */
int kv_code(int rc);
/* Reopens the environment with a map of `size`, or less if that is not possible. On failure kv->env
 * is NULL. The caller holds the gate for writing. Returns 0, or an error as kv_open. */
int kv_reopen(struct kv *kv, uint64_t size);
/* Ends idle transactions. The caller holds the gate for writing, or is alone. */
void kv_drain(struct kv *kv);
/* Returns the bytes of pages in use. The caller holds the gate, or is the writer. */
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
/* must be called after the environment was opened, or its map has moved */
void kv_find_map(struct kv *kv);
void kv_watch_faults(struct kv *kv);
void kv_ignore_faults(struct kv *kv);

#endif
