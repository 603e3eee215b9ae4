/* kv_env.h - the inside of kv.h: kv.c opens and closes, kv_commit.c writes, kv_read.c reads. The
 * only callers of LMDB. */
#ifndef DFTRACERD_INDEX_STORE_KV_ENV_H
#define DFTRACERD_INDEX_STORE_KV_ENV_H

#include "index/store/kv.h"

#include <lmdb.h>
#include <pthread.h>

#define KV_POOL_MAX 64 /* idle read transactions kept */

struct kv {
    MDB_env *env;
    MDB_dbi dbi[KV_TABLES];
    char *path, *mark; /* mark: the file that says that it is damaged */
    uint64_t map_size; /* when env is NULL: reopening failed */
    uint64_t map_max;  /* UINT64_MAX: no limit */
    uint64_t map_top;  /* the same, or more where the file was larger: deleting must be possible */
    bool read_only;
    /* Held for reading while a read transaction is open, for writing while the map moves. Readers
     * are preferred, since a thread may hold two reads. So that the map moves all the same while
     * there always is one, new readers wait at the turnstile; not for ever, since one who holds a
     * read may be waiting for them. */
    pthread_rwlock_t gate;
    atomic_bool moving; /* the turnstile is closed */
    pthread_mutex_t pool_lock;
    MDB_txn *pool[KV_POOL_MAX];
    unsigned pooled;
    atomic_uint reads; /* open now */
    /* NULL: not known. They change while the gate is held for writing */
    const char *map_at, *map_end;
    atomic_bool broken; /* pages of LMDB that make no sense have been met */
};

struct kv_read {
    struct kv *kv;
    MDB_txn *txn;
    const char *data_end;  /* of the map: what this read may point to; NULL: not known */
    bool borrowed;         /* the transaction is that of an outer read */
    struct kv_read *outer; /* of the same thread */
};

/* ---- kv.c ------------------------------------------------------------------------------------ */

/* The code of kv.h for what LMDB returns. */
int kv_code(int rc);
/* Closes the environment and opens it again with a map of `size`, or less where that is not
 * possible. Without success kv->env is NULL. The caller has the gate for writing. 0, or an error as
 * kv_open's. */
int kv_reopen(struct kv *kv, uint64_t size);
/* Ends the idle transactions: the caller has the gate for writing, or is alone. */
void kv_drain(struct kv *kv);
/* Bytes of the pages in use; the caller has the gate, or is the writer. */
uint64_t kv_bytes_used(struct kv *kv);
/* Bytes of a limited file that are kept for deletions. */
uint64_t kv_reserve(const struct kv *kv);

/* ---- kv_read.c ------------------------------------------------------------------------------- */

/* The checksum of a value, seeded with its place; of a chunk only its head counts, which has the
 * checksums of the rest. */
#define KV_SUM_BYTES 8
uint64_t kv_sum(enum kv_table t, const void *key, size_t key_len, const void *value, size_t len);
bool kv_has_sum(enum kv_table t);

/* ---- kv_fault.c ------------------------------------------------------------------------------ */

extern _Thread_local struct kv *kv_inside; /* while the calling thread is in LMDB */
void kv_find_map(struct kv *kv); /* after the environment was opened, or its map has moved */
void kv_watch_faults(struct kv *kv);
void kv_ignore_faults(struct kv *kv);

#endif
