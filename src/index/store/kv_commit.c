/* kv_commit.c - applies a batch in one transaction, and makes the map grow for it. See kv.h for the
 * contract. */
#include "index/store/kv_batch.h"
#include "index/store/kv_env.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define MAP_STEP (16ull << 20) /* minimum by which the map grows */
/* the map grows before a commit if less is left, so that MAP_FULL is rare */
#define MAP_HEADROOM (96ull << 20)
#define GROW_TRIES 20              /* number of times that the map grows for one batch */
#define DISK_FULL_BYTES (1u << 20) /* a disk with less free space counts as full */

/* Seeks for each key, because the position of a cursor after mdb_cursor_del differs between LMDB
 * versions. */
static int delete_prefix(MDB_txn *txn, MDB_dbi dbi, const struct kv_key *prefix)
{
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(txn, dbi, &cursor);

    if (rc)
        return rc;
    for (;;) {
        MDB_val key = {prefix->len, (void *)prefix->data}, value;

        rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        if (rc || key.mv_size < prefix->len || memcmp(key.mv_data, prefix->data, prefix->len) != 0)
            break;
        rc = mdb_cursor_del(cursor, 0);
        if (rc)
            break;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int put_value(struct kv *kv, MDB_txn *txn, const struct op *op)
{
    size_t head = kv_has_sum(op->table) ? KV_SUM_BYTES : 0;
    MDB_val key = {op->key.len, (void *)op->key.data}, value = {head + op->len, NULL};
    uint64_t sum = head ? kv_sum(op->table, op->key.data, op->key.len, op->data, op->len) : 0;
    int rc = mdb_put(txn, kv->dbi[op->table], &key, &value, MDB_RESERVE);

    if (rc)
        return rc;
    memcpy(value.mv_data, &sum, head);
    if (op->len)
        memcpy((char *)value.mv_data + head, op->data, op->len);
    return 0;
}

static int apply_op(struct kv *kv, MDB_txn *txn, const struct op *op)
{
    MDB_val key = {op->key.len, (void *)op->key.data};
    int rc;

    switch (op->kind) {
    case OP_PUT:
        return failpoint("kv.put") ? errno : put_value(kv, txn, op);
    case OP_DELETE:
        rc = failpoint("kv.delete") ? errno : mdb_del(txn, kv->dbi[op->table], &key, NULL);
        return rc == MDB_NOTFOUND ? 0 : rc;
    default:
        return failpoint("kv.delete_prefix") ? errno
                                             : delete_prefix(txn, kv->dbi[op->table], &op->key);
    }
}

static int apply_batch(struct kv *kv, const struct kv_batch *b)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, 0, &txn);

    if (rc)
        return rc;
    for (size_t i = 0; i < b->ops.count && rc == 0; i++)
        rc = apply_op(kv, txn, &b->ops.at[i]);
    if (rc == 0 && failpoint("kv.commit"))
        rc = errno;
    if (rc) {
        mdb_txn_abort(txn);
        return rc;
    }
    rc = mdb_txn_commit(txn);
    /* A failure reported for a successful commit is harmless: the batch is applied again. */
    return rc == 0 && failpoint("kv.committed") ? errno : rc;
}

static void map_lock_write(struct kv *kv)
{
    atomic_store(&kv->map_moves, true);
    pthread_rwlock_wrlock(&kv->map_lock);
}

static void map_unlock(struct kv *kv)
{
    atomic_store(&kv->map_moves, false);
    pthread_rwlock_unlock(&kv->map_lock);
}

/* After a failed write of its meta page, LMDB refuses all operations until the environment is
 * reopened. */
static int reopen_env(struct kv *kv)
{
    map_lock_write(kv);
    int rc = kv_reopen(kv, kv->env ? kv_map_size(kv) : kv->map_size);
    map_unlock(kv);
    return rc;
}

/* Returns whether this number of bytes can be mapped. If the address space is limited, an eighth
 * of it is left to threads and malloc. */
static bool leaves_space(uint64_t more)
{
    uint64_t space = memory_address_space();

    return memory_is_mappable(more + (space == UINT64_MAX ? 0 : space / 8));
}

/* Returns twice the size of the map, or less if that is not possible. 0: it cannot grow by one
 * step. */
static uint64_t larger_map(struct kv *kv)
{
    uint64_t size = kv_map_size(kv), rest = kv->map_top - size, more = size < rest ? size : rest;

    while (more > 0 && !leaves_space(more))
        more = more / 2 < MAP_STEP ? 0 : more / 2;
    return more ? size + more : 0;
}

/* Readers hold map_lock while they read, so none can see the map move. LMDB unmaps the old map
 * before it maps the new one, and has none if that fails: then the environment is reopened with the
 * old size, if there is still space for it, before any thread reads. */
static int grow_map(struct kv *kv)
{
    uint64_t old = kv_map_size(kv), size;

    if (old >= kv->map_top)
        return ERR_STORE_FULL;
    size = larger_map(kv);
    if (size == 0)
        return ERR_ADDRESS_SPACE;
    map_lock_write(kv);
    kv_abort_idle(kv);
    int rc = failpoint("kv.grow") ? errno : mdb_env_set_mapsize(kv->env, size);
    if (rc)
        kv_reopen(kv, old);
    kv_find_map(kv);
    map_unlock(kv);
    return rc == 0 ? 0 : rc == ENOMEM ? ERR_ADDRESS_SPACE : ERR_STORE_FULL;
}

bool kv_can_grow(struct kv *kv)
{
    if (!kv->env)
        return reopen_env(kv) == 0;
    return kv_map_size(kv) < kv->map_top && larger_map(kv) > 0;
}

static bool env_is_unusable(struct kv *kv)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &txn);

    if (rc == 0)
        mdb_txn_abort(txn);
    return rc == MDB_PANIC;
}

/* LMDB reports a short write on a full disk as an I/O error. */
static bool disk_is_full(const struct kv *kv)
{
    struct statvfs fs;

    return statvfs(kv->path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < DISK_FULL_BYTES;
}

/* Returns the bytes of unused pages in the file: LMDB has a table of lists of them, each with its
 * length first. */
static uint64_t free_page_bytes(struct kv *kv)
{
    MDB_cursor *cursor;
    MDB_val key, list;
    MDB_stat st = {0};
    uint64_t pages = 0;
    struct kv_read *r;

    if (kv_read_begin(kv, &r) < 0)
        return 0;
    if (mdb_cursor_open(r->txn, 0, &cursor) == 0) {
        while (mdb_cursor_get(cursor, &key, &list, MDB_NEXT) == 0) {
            size_t count;
            memcpy(&count, list.mv_data, sizeof count);
            pages += count;
        }
        mdb_cursor_close(cursor);
    }
    mdb_env_stat(kv->env, &st);
    kv_read_end(r);
    return pages * st.ms_psize;
}

/* Returns whether a batch would use the space reserved for deletions. Fragmented free pages may be
 * unusable: MAP_FULL reports that. */
static bool is_beyond_limit(struct kv *kv, const struct kv_batch *b)
{
    if (kv->map_max == UINT64_MAX)
        return false;
    uint64_t need = b->bytes + b->bytes / 4 + kv_reserve(kv), used = kv_bytes_used(kv);
    return used + need > kv->map_max && used + need > kv->map_max + free_page_bytes(kv);
}

static uint64_t headroom(struct kv *kv)
{
    uint64_t quarter = kv_map_size(kv) / 4;

    return quarter < MAP_HEADROOM ? quarter : MAP_HEADROOM;
}

static int commit_txn(struct kv *kv, struct kv_batch *b, bool freeing)
{
    int rc;

    if (b->error)
        return b->error;
    if (b->ops.count == 0)
        return 0;
    if (!kv->env && (rc = reopen_env(kv)))
        return rc == -ENOMEM ? ERR_ADDRESS_SPACE : rc;
    if (!freeing && is_beyond_limit(kv, b))
        return ERR_STORE_FULL;
    if (kv_bytes_used(kv) + b->bytes * 2 + headroom(kv) > kv_map_size(kv) && (rc = grow_map(kv)) &&
        !kv->env)
        return rc; /* otherwise MAP_FULL is returned below, if there is no space */
    for (int tries = 0;; tries++) {
        kv_inside = kv;
        rc = apply_batch(kv, b);
        kv_inside = NULL;
        if (rc != MDB_MAP_FULL || tries == GROW_TRIES)
            break;
        rc = grow_map(kv);
        if (rc)
            return rc;
    }
    if (rc && env_is_unusable(kv)) /* no thread can read meanwhile */
        reopen_env(kv);            /* if it fails, the next commit tries again */
    if (rc == EIO && disk_is_full(kv))
        rc = ENOSPC;
    if (kv_code(rc) == ERR_CORRUPT)
        atomic_store(&kv->broken, true);
    if (rc)
        return kv_code(rc);
    kv_batch_clear(b);
    return 0;
}

int kv_commit(struct kv *kv, struct kv_batch *b)
{
    return commit_txn(kv, b, false);
}

int kv_commit_freeing(struct kv *kv, struct kv_batch *b)
{
    return commit_txn(kv, b, true);
}
