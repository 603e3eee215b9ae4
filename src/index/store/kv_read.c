/* kv_read.c - reads of LMDB: reused transactions, values, cursors, and statistics of pages. See
 * kv.h for the contract. */
#include "index/store/kv_env.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define MOVE_NS 100000000      /* maximum time that a read waits for the map to move */
#define REOPEN_NS 3000000000LL /* the same, for the environment to be reopened */

static _Thread_local struct kv_read *innermost; /* open read of the thread; see kv_read.outer */

/* ---- transactions ---------------------------------------------------------------------------- */

/* Acquires map_lock for reading. `outer`: a read that the thread has already, so the map cannot
 * move and waiting for it would be in vain; or NULL. A timeout of the lock would depend on the
 * wall clock. */
static void map_lock_read(struct kv *kv, const struct kv_read *outer)
{
    if (atomic_load(&kv->map_moves) && !outer) {
        int64_t until = clock_mono_ns() + MOVE_NS;
        while (atomic_load(&kv->map_moves) && clock_mono_ns() < until)
            nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    pthread_rwlock_rdlock(&kv->map_lock);
}

static int txn_begin(struct kv *kv, MDB_txn **ret)
{
    MDB_txn *txn = NULL;

    pthread_mutex_lock(&kv->pool_lock);
    if (kv->pooled > 0)
        txn = kv->pool[--kv->pooled];
    pthread_mutex_unlock(&kv->pool_lock);
    if (!txn)
        return mdb_txn_begin(kv->env, NULL, MDB_RDONLY, ret);
    int rc = mdb_txn_renew(txn);
    if (rc)
        mdb_txn_abort(txn);
    else
        *ret = txn;
    return rc;
}

static struct kv_read *find_outer(const struct kv *kv)
{
    struct kv_read *r = innermost;

    while (r && r->kv != kv)
        r = r->outer;
    return r;
}

/* Needed only in a process that inspects, when the daemon has made the map grow. Size 0 adopts the
 * size of the file. */
static int adopt_map_size(struct kv *kv, MDB_txn **ret)
{
    pthread_rwlock_unlock(&kv->map_lock);
    pthread_rwlock_wrlock(&kv->map_lock);
    kv_abort_idle(kv);
    if (kv->env && mdb_env_set_mapsize(kv->env, 0))
        kv_reopen(kv, 0);
    kv_find_map(kv);
    pthread_rwlock_unlock(&kv->map_lock);
    pthread_rwlock_rdlock(&kv->map_lock);
    return kv->env ? txn_begin(kv, ret) : ENOMEM;
}

/* The environment is unusable until the writer has reopened it, which it does as soon as there are
 * no reads. */
static int await_reopening(struct kv *kv, MDB_txn **ret)
{
    int rc = MDB_PANIC;

    for (int64_t end = clock_mono_ns() + REOPEN_NS; rc == MDB_PANIC && clock_mono_ns() < end;) {
        pthread_rwlock_unlock(&kv->map_lock);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        map_lock_read(kv, NULL);
        rc = kv->env ? txn_begin(kv, ret) : MDB_PANIC;
    }
    return rc == MDB_PANIC ? EIO : rc;
}

/* Returns the end of the used part of the map. It contains all that a read that begins now can
 * see. */
static const char *end_of_data(struct kv *kv)
{
    MDB_envinfo info;
    MDB_stat st;

    if (!kv->map_at || mdb_env_info(kv->env, &info) || mdb_env_stat(kv->env, &st))
        return kv->map_end;
    uint64_t used = (info.me_last_pgno + 1) * st.ms_psize;
    return used < (uint64_t)(kv->map_end - kv->map_at) ? kv->map_at + used : kv->map_end;
}

int kv_read_begin(struct kv *kv, struct kv_read **ret)
{
    struct kv_read *r = calloc(1, sizeof *r), *outer = find_outer(kv);

    if (!r)
        return -ENOMEM;
    r->kv = kv;
    map_lock_read(kv, outer);
    int rc = kv->env ? txn_begin(kv, &r->txn) : MDB_PANIC;
    if (rc == MDB_MAP_RESIZED && !outer)
        rc = adopt_map_size(kv, &r->txn);
    if (rc == MDB_PANIC && !outer)
        rc = await_reopening(kv, &r->txn);
    if (rc && outer) { /* this read sees at least what the caller's outer read sees */
        r->txn = outer->txn;
        r->borrowed = true;
        rc = 0;
    }
    if (rc) {
        pthread_rwlock_unlock(&kv->map_lock);
        free(r);
        return kv_code(rc);
    }
    r->data_end = end_of_data(kv);
    r->outer = innermost;
    innermost = r;
    atomic_fetch_add(&kv->reads, 1);
    *ret = r;
    return 0;
}

/* Passes the transaction to a read that borrowed it, if there is one. */
static bool txn_pass_on(const struct kv_read *from)
{
    for (struct kv_read *r = innermost; r; r = r->outer) {
        if (r->txn == from->txn && r->borrowed) {
            r->borrowed = from->borrowed;
            return true;
        }
    }
    return from->borrowed;
}

static void txn_release(struct kv *kv, MDB_txn *txn)
{
    mdb_txn_reset(txn);
    pthread_mutex_lock(&kv->pool_lock);
    if (kv->pooled < KV_POOL_MAX) {
        kv->pool[kv->pooled++] = txn;
        txn = NULL;
    }
    pthread_mutex_unlock(&kv->pool_lock);
    if (txn)
        mdb_txn_abort(txn);
}

void kv_read_end(struct kv_read *r)
{
    struct kv_read **at = &innermost;

    if (!r)
        return;
    while (*at && *at != r)
        at = &(*at)->outer;
    assert(*at); /* a read ends on the thread that began it */
    *at = r->outer;
    atomic_fetch_sub(&r->kv->reads, 1);
    if (!txn_pass_on(r))
        txn_release(r->kv, r->txn);
    pthread_rwlock_unlock(&r->kv->map_lock);
    free(r);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static uint64_t tree_pages(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_stat st = {0};

    mdb_stat(txn, dbi, &st);
    return st.ms_branch_pages + st.ms_leaf_pages + st.ms_overflow_pages;
}

/* Pages of no tree are free: two pages belong to LMDB itself; the list of free pages (0) and the
 * list of tables (1) are trees. */
static void count_pages(struct kv *kv, MDB_txn *txn, struct kv_stat *ret)
{
    uint64_t used = 2 + tree_pages(txn, 0) + tree_pages(txn, 1);

    for (unsigned t = 0; t < KV_TABLES; t++)
        used += ret->table_pages[t] = tree_pages(txn, kv->dbi[t]);
    ret->free_pages = ret->pages > used ? ret->pages - used : 0;
}

bool kv_stat(struct kv *kv, struct kv_stat *ret)
{
    MDB_envinfo info;
    MDB_stat st;
    MDB_txn *txn = NULL;

    *ret = (struct kv_stat){.readers = atomic_load(&kv->reads)};
    pthread_rwlock_rdlock(&kv->map_lock);
    bool available = kv->env && txn_begin(kv, &txn) == 0;
    if (available) {
        mdb_env_info(kv->env, &info);
        mdb_env_stat(kv->env, &st);
        ret->page_bytes = st.ms_psize;
        ret->pages = (uint64_t)info.me_last_pgno + 1;
        ret->map_bytes = info.me_mapsize;
        ret->reader_slots = info.me_numreaders;
        ret->reader_slots_max = info.me_maxreaders;
        count_pages(kv, txn, ret);
        txn_release(kv, txn);
    }
    pthread_rwlock_unlock(&kv->map_lock);
    return available;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool kv_has_sum(enum kv_table t)
{
    return t != KV_TEXT;
}

uint64_t kv_sum(enum kv_table t, const void *key, size_t key_len, const void *value, size_t len)
{
    if (t == KV_CHUNK && len > KV_CHUNK_HEAD)
        len = KV_CHUNK_HEAD;
    return XXH3_64bits_withSeed(value, len, XXH3_64bits_withSeed(key, key_len, t));
}

/* Maps a return code of LMDB, and records inconsistent pages. */
static int read_code(struct kv *kv, int rc)
{
    int code = rc == EINVAL ? ERR_CORRUPT : kv_code(rc);

    if (code == ERR_CORRUPT)
        atomic_store(&kv->broken, true);
    return code;
}

bool kv_is_broken(const struct kv *kv)
{
    return atomic_load(&kv->broken);
}

/* A corrupt page may contain any position and length of a value. */
static bool is_in_map(const struct kv_read *r, const MDB_val *v)
{
    const char *at = v->mv_data, *begin = r->kv->map_at, *end = r->data_end;

    return !end || (at >= begin && at <= end && v->mv_size <= (size_t)(end - at));
}

/* Sets *ret to the value without its checksum. Returns ERR_CORRUPT if that does not match. */
static int check_value(const struct kv_read *r, enum kv_table t, const MDB_val *key,
                       const MDB_val *value, struct text *ret)
{
    const char *data = value->mv_data;
    uint64_t sum;

    if (!is_in_map(r, value))
        return ERR_CORRUPT;
    if (!kv_has_sum(t)) {
        *ret = (struct text){data, value->mv_size};
        return 0;
    }
    if (value->mv_size < KV_SUM_BYTES)
        return ERR_CORRUPT;
    *ret = (struct text){data + KV_SUM_BYTES, value->mv_size - KV_SUM_BYTES};
    memcpy(&sum, data, sizeof sum);
    return kv_sum(t, key->mv_data, key->mv_size, ret->ptr, ret->len) == sum ? 0 : ERR_CORRUPT;
}

int kv_get(struct kv_read *r, enum kv_table t, const struct kv_key *key, struct text *ret)
{
    MDB_val k = {key->len, (void *)key->data}, v;
    kv_inside = r->kv;
    int rc = mdb_get(r->txn, r->kv->dbi[t], &k, &v);
    kv_inside = NULL;

    return rc ? read_code(r->kv, rc) : check_value(r, t, &k, &v, ret);
}

uint64_t kv_count(struct kv_read *r, enum kv_table t)
{
    MDB_stat st;

    return mdb_stat(r->txn, r->kv->dbi[t], &st) ? 0 : st.ms_entries;
}

void kv_begin(struct kv_read *r, enum kv_table t, const struct kv_key *prefix, struct kv_cursor *c)
{
    MDB_cursor *cursor = NULL;

    *c = (struct kv_cursor){.read = r, .table = t};
    if (prefix)
        c->prefix = *prefix;
    c->error = read_code(r->kv, mdb_cursor_open(r->txn, r->kv->dbi[t], &cursor));
    c->cursor = cursor;
}

static int cursor_get(struct kv *kv, MDB_cursor *cursor, MDB_val *key, MDB_val *value,
                      MDB_cursor_op op)
{
    kv_inside = kv;
    int rc = mdb_cursor_get(cursor, key, value, op);
    kv_inside = NULL;
    return rc;
}

bool kv_next(struct kv_cursor *c)
{
    MDB_val k = {c->prefix.len, c->prefix.data}, v;
    struct kv *kv = c->read->kv;

    if (c->error || !c->cursor)
        return false;
    MDB_cursor_op first = c->prefix.len ? MDB_SET_RANGE : MDB_FIRST;
    int rc = cursor_get(kv, c->cursor, &k, &v, c->begun ? MDB_NEXT : first);
    c->begun = true;
    c->key = (struct text){NULL, 0};
    if (rc == MDB_NOTFOUND)
        return false;
    c->error = read_code(kv, rc);
    if (rc == 0 && !is_in_map(c->read, &k))
        c->error = ERR_CORRUPT;
    if (c->error || k.mv_size < c->prefix.len ||
        memcmp(k.mv_data, c->prefix.data, c->prefix.len) != 0)
        return false;
    c->key = (struct text){k.mv_data, k.mv_size};
    c->error = check_value(c->read, c->table, &k, &v, &c->value);
    return c->error == 0;
}

bool kv_skip(struct kv_cursor *c)
{
    if (c->error != ERR_CORRUPT || !c->key.ptr)
        return false;
    c->error = 0;
    return true;
}

void kv_end(struct kv_cursor *c)
{
    if (c->cursor)
        mdb_cursor_close(c->cursor);
    c->cursor = NULL;
}

int kv_find_below(struct kv_read *r, enum kv_table t, const struct kv_key *key, size_t prefix_len,
                  struct text *ret_key, struct text *ret_value)
{
    MDB_val k = {key->len, (void *)key->data}, v;
    MDB_cursor *cursor;
    int rc = mdb_cursor_open(r->txn, r->kv->dbi[t], &cursor);

    if (rc)
        return read_code(r->kv, rc);
    rc = cursor_get(r->kv, cursor, &k, &v, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND)
        rc = cursor_get(r->kv, cursor, &k, &v, MDB_LAST);
    else if (rc == 0 && (k.mv_size != key->len || !is_in_map(r, &k) ||
                         memcmp(k.mv_data, key->data, key->len) != 0))
        rc = cursor_get(r->kv, cursor, &k, &v, MDB_PREV);
    mdb_cursor_close(cursor);
    if (rc)
        return read_code(r->kv, rc);
    if (!is_in_map(r, &k))
        return ERR_CORRUPT;
    if (k.mv_size < prefix_len || memcmp(k.mv_data, key->data, prefix_len) != 0)
        return -ENOENT;
    *ret_key = (struct text){k.mv_data, k.mv_size};
    return check_value(r, t, &k, &v, ret_value);
}
