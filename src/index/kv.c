/* kv.c - the only caller of LMDB. See kv.h for the contract. */
#include "kv_batch.h"

#include "dftracerd/failpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define READERS_MAX 1024 /* simultaneous reads: more than queries and workers ever hold   */
#define POOL_MAX 64      /* idle read transactions kept                                   */
#define MAP_MIN (64ull << 20)
#define MAP_HEADROOM \
    (96ull << 20) /* grown before a commit when less is left: MAP_FULL is then rare */

#define TURNSTILE_NS 100000000
#define REOPEN_NS \
    3000000000LL /* reads wait so long for an environment that is being opened again */

/* Of a limited file: branches, leaves and the list of free pages that a deletion writes anew. */
#define RESERVE_MIN (1ull << 20)
#define RESERVE_SHARE 64

struct kv {
    MDB_env *env;
    MDB_dbi dbi[KV_TABLES];
    char *path;
    uint64_t map_size; /* when env is NULL: reopening failed */
    uint64_t map_max;  /* UINT64_MAX: no limit */
    uint64_t map_top;  /* the same, or more where the file was larger: deleting must be possible */
    bool read_only;
    /* Held for reading while a read transaction is open, for writing while the map moves. Readers are preferred, since a
     * thread may hold two reads. So that the map moves all the same while there always is one, new readers wait at the
     * turnstile; not for ever, since one who holds a read may be waiting for them. */
    pthread_rwlock_t gate;
    atomic_bool moving; /* the turnstile is closed */
    pthread_mutex_t pool_lock;
    MDB_txn *pool[POOL_MAX];
    unsigned pooled;
    atomic_uint reads; /* open now */
};

struct kv_read {
    struct kv *kv;
    MDB_txn *txn;
    bool borrowed;         /* the transaction is that of an outer read */
    struct kv_read *outer; /* of the same thread */
};
static _Thread_local struct kv_read *innermost;

/* ---- errors ---- */

static int code_of(int rc)
{
    switch (rc) {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return -ENOENT;
    case MDB_MAP_FULL:
        return ERR_STORE_FULL;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INCOMPATIBLE:
    case MDB_VERSION_MISMATCH:
        return ERR_CORRUPT;
    default:
        return rc > 0 ? -rc : ERR_STORE;
    }
}

/* ---- opening ---- */

/* A data file shorter than its meta page says would raise SIGBUS on the first read of a lost page. */
static int check_length(struct kv *kv, struct err *err)
{
    MDB_envinfo info;
    MDB_stat st;
    struct stat file;
    int fd = -1;

    if (mdb_env_info(kv->env, &info) || mdb_env_stat(kv->env, &st) || mdb_env_get_fd(kv->env, &fd))
        return err_set(err, ERR_STORE, "%s: LMDB tells nothing of itself", kv->path);
    if (fstat(fd, &file) < 0)
        return err_set(err, -errno, "%s: %s", kv->path, strerror(errno));
    if (file.st_size > 0 &&
        (uint64_t)file.st_size < ((uint64_t)info.me_last_pgno + 1) * st.ms_psize)
        return err_set(err, ERR_CORRUPT, "%s/data.mdb is truncated", kv->path);
    return 0;
}

/* The table of readers is a mapped file that LMDB only extends: on a full disk the first reader in a new page of it would be
 * killed by SIGBUS. A longer one than LMDB asks for is taken as it is. Only before LMDB opens it: closing a file drops the
 * locks that a process has on it. */
static int reserve_lock_file(const struct kv *kv, struct err *err)
{
    struct buf path = {0};
    int fd, rc = 0;

    buf_printf(&path, "%s/lock.mdb", kv->path);
    fd = path.error ? -1 : open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    buf_done(&path);
    if (fd < 0)
        return 0; /* LMDB will tell */
    rc = posix_fallocate(fd, 0, READERS_MAX * 64 + 4096);
    close(fd);
    return rc == ENOSPC || rc == EDQUOT ? err_set(err, -rc, "%s: %s", kv->path, strerror(rc)) : 0;
}

static int open_env(struct kv *kv, uint64_t map_size, struct err *err)
{
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
    int rc = kv->read_only ? 0 : reserve_lock_file(kv, err);

    if (rc)
        return rc;

    if (kv->read_only)
        flags |= MDB_RDONLY;
    for (;;) {
        kv->env = NULL;
        rc = mdb_env_create(&kv->env);
        if (rc)
            return err_set(err, code_of(rc), "%s: %s", kv->path, mdb_strerror(rc));
        mdb_env_set_maxdbs(kv->env, KV_TABLES);
        mdb_env_set_maxreaders(kv->env, READERS_MAX);
        if (!kv->read_only)
            mdb_env_set_mapsize(kv->env, map_size);
        rc = failpoint("kv.open") ? errno : mdb_env_open(kv->env, kv->path, flags, 0600);
        if (rc == 0)
            return 0;
        mdb_env_close(kv->env);
        kv->env = NULL;
        if ((rc == ENOMEM || rc == EINVAL) && !kv->read_only && map_size / 2 >= MAP_MIN)
            map_size /= 2; /* RLIMIT_AS, a small machine, valgrind (EINVAL) */
        else if ((rc == EACCES || rc == EROFS) && kv->read_only && !(flags & MDB_NOLOCK))
            flags |= MDB_NOLOCK;
        else
            return err_set(err, code_of(rc), "%s: %s", kv->path, mdb_strerror(rc));
    }
}

static int open_tables(struct kv *kv, struct err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, kv->read_only ? MDB_RDONLY : 0, &txn);

    if (rc)
        return err_set(err, code_of(rc), "%s: %s", kv->path, mdb_strerror(rc));
    for (int i = 0; i < KV_TABLES && rc == 0; i++)
        rc = mdb_dbi_open(txn, kv_table_name((enum kv_table)i), kv->read_only ? 0 : MDB_CREATE,
                          &kv->dbi[i]);
    if (rc) {
        mdb_txn_abort(txn);
        if (rc == MDB_NOTFOUND)
            rc = MDB_INVALID; /* read-only: made by something else, or never finished */
        return err_set(err, code_of(rc), "%s: %s", kv->path, mdb_strerror(rc));
    }
    rc = failpoint("kv.tables") ? errno : 0;
    if (rc)
        mdb_txn_abort(txn);
    else
        rc = mdb_txn_commit(txn);
    return rc ? err_set(err, code_of(rc), "%s: %s", kv->path, mdb_strerror(rc)) : 0;
}

static uint64_t bytes_used(struct kv *kv)
{
    MDB_envinfo info;
    MDB_stat st;

    if (!kv->env || mdb_env_info(kv->env, &info) || mdb_env_stat(kv->env, &st))
        return 0;
    return ((uint64_t)info.me_last_pgno + 1) * st.ms_psize;
}

static uint64_t reserve(const struct kv *kv)
{
    return kv->map_max / RESERVE_SHARE + RESERVE_MIN;
}

static void set_limit(struct kv *kv)
{
    uint64_t used = bytes_used(kv);

    kv->map_top = kv->map_max;
    if (kv->map_max != UINT64_MAX && used + reserve(kv) > kv->map_top)
        kv->map_top = used + reserve(kv);
}

int kv_open(const struct kv_options *options, struct err *err, struct kv **ret)
{
    struct kv *kv = calloc(1, sizeof *kv);
    int rc, dead;

    if (!kv || !(kv->path = strdup(options->path))) {
        free(kv);
        return err_set(err, -ENOMEM, "no memory");
    }
    pthread_rwlock_init(&kv->gate, NULL);
    pthread_mutex_init(&kv->pool_lock, NULL);
    kv->read_only = options->read_only;
    kv->map_max = options->map_max ? options->map_max : UINT64_MAX;
    rc = open_env(kv, options->map_size < kv->map_max ? options->map_size : kv->map_max, err);
    if (rc == 0)
        rc = check_length(kv, err);
    if (rc == 0)
        rc = open_tables(kv, err);
    if (rc) {
        kv_close(kv);
        return rc;
    }
    set_limit(kv);
    if (!kv->read_only)
        mdb_reader_check(kv->env,
                         &dead); /* slots of processes that were killed keep pages from reuse */
    *ret = kv;
    return 0;
}

static void drain_pool(struct kv *kv)
{
    while (kv->pooled > 0)
        mdb_txn_abort(kv->pool[--kv->pooled]);
}

void kv_close(struct kv *kv)
{
    if (!kv)
        return;
    drain_pool(kv);
    if (kv->env)
        mdb_env_close(kv->env);
    pthread_rwlock_destroy(&kv->gate);
    pthread_mutex_destroy(&kv->pool_lock);
    free(kv->path);
    free(kv);
}

uint64_t kv_map_size(struct kv *kv)
{
    MDB_envinfo info;

    return !kv->env || mdb_env_info(kv->env, &info) ? 0 : info.me_mapsize;
}

uint64_t kv_bytes(struct kv *kv)
{
    uint64_t bytes;

    pthread_rwlock_rdlock(&kv->gate);
    bytes = bytes_used(kv);
    pthread_rwlock_unlock(&kv->gate);
    return bytes;
}

/* ---- commits ---- */

/* Seeks anew for each: what a cursor stands on after a deletion has differed between LMDB versions. */
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

static int apply_op(struct kv *kv, MDB_txn *txn, const struct op *op)
{
    MDB_val key = {op->key.len, (void *)op->key.data}, value = {op->len, op->data};
    int rc;

    switch (op->kind) {
    case OP_PUT:
        return failpoint("kv.put") ? errno : mdb_put(txn, kv->dbi[op->table], &key, &value, 0);
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
    for (size_t i = 0; i < b->count && rc == 0; i++)
        rc = apply_op(kv, txn, &b->ops[i]);
    if (rc == 0 && failpoint("kv.commit"))
        rc = errno;
    if (rc) {
        mdb_txn_abort(txn);
        return rc;
    }
    rc = mdb_txn_commit(txn);
    /* To be told that it failed although it is there is harmless: the batch is applied again. */
    return rc == 0 && failpoint("kv.committed") ? errno : rc;
}

static void close_gate(struct kv *kv)
{
    atomic_store(&kv->moving, true);
    pthread_rwlock_wrlock(&kv->gate);
}

static void open_gate(struct kv *kv)
{
    atomic_store(&kv->moving, false);
    pthread_rwlock_unlock(&kv->gate);
}

/* `held`: by the calling thread, which therefore must not wait. Not by a lock with a time: that would be the clock on the wall. */
static void pass_gate(struct kv *kv, const struct kv_read *held)
{
    if (atomic_load(&kv->moving) && !held) {
        int64_t until = clock_mono_ns() + TURNSTILE_NS;

        while (atomic_load(&kv->moving) && clock_mono_ns() < until)
            nanosleep(&(struct timespec){0, 500000}, NULL);
    }
    pthread_rwlock_rdlock(&kv->gate);
}

/* Readers hold the gate while they read: none can see the map move. */
static int grow_map(struct kv *kv, uint64_t need)
{
    uint64_t size;
    int rc;

    if (kv_map_size(kv) >= kv->map_top)
        return MDB_MAP_FULL;
    close_gate(kv);
    drain_pool(kv);
    size = kv_map_size(kv);
    while (size < need)
        size *= 2;
    rc = failpoint("kv.grow")
             ? errno
             : mdb_env_set_mapsize(kv->env, size < kv->map_top ? size : kv->map_top);
    open_gate(kv);
    return rc;
}

/* After a failed write of its meta page LMDB refuses everything until the environment is opened again. */
static int reopen(struct kv *kv)
{
    uint64_t size;
    int rc;

    close_gate(kv);
    size = kv->env ? kv_map_size(kv) : kv->map_size;
    kv->map_size = size;
    drain_pool(kv);
    if (kv->env)
        mdb_env_close(kv->env);
    rc = open_env(kv, size, NULL); /* env NULL: reads fail until the next commit tries again */
    if (rc == 0)
        rc = open_tables(kv, NULL);
    open_gate(kv);
    return rc;
}

static bool is_dead(struct kv *kv)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &txn);

    if (rc == 0)
        mdb_txn_abort(txn);
    return rc == MDB_PANIC;
}

/* LMDB tells a write that was cut short for want of space as an I/O error. */
static bool disk_is_full(const struct kv *kv)
{
    struct statvfs fs;

    return statvfs(kv->path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < (1u << 20);
}

/* Pages within the file that nothing uses: LMDB's own table of lists, each with its length first. */
static uint64_t bytes_free(struct kv *kv)
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

/* Whether a batch would take what is kept for deletions. Free pages in pieces may be of no use: MAP_FULL tells that. */
static bool beyond_limit(struct kv *kv, const struct kv_batch *b)
{
    uint64_t need, used;

    if (kv->map_max == UINT64_MAX)
        return false;
    need = b->bytes + b->bytes / 4 + reserve(kv);
    used = bytes_used(kv);
    return used + need > kv->map_max && used + need > kv->map_max + bytes_free(kv);
}

static int commit(struct kv *kv, struct kv_batch *b, bool freeing)
{
    int rc;

    if (b->error)
        return b->error;
    if (b->count == 0)
        return 0;
    if (!kv->env && (rc = reopen(kv)))
        return rc;
    if (!freeing && beyond_limit(kv, b))
        return ERR_STORE_FULL;
    if (bytes_used(kv) + b->bytes * 2 + MAP_HEADROOM > kv_map_size(kv))
        grow_map(kv, kv_map_size(kv) + 1); /* if not, MAP_FULL tells */
    for (int tries = 0;; tries++) {
        rc = apply_batch(kv, b);
        if (rc != MDB_MAP_FULL || tries == 20)
            break;
        if (grow_map(kv, kv_map_size(kv) + 1))
            return ERR_STORE_FULL;
    }
    if (rc && is_dead(kv))
        reopen(
            kv); /* at once: nobody can read meanwhile. Without success the next commit tries again */
    if (rc == EIO && disk_is_full(kv))
        rc = ENOSPC;
    if (rc)
        return code_of(rc);
    kv_batch_clear(b);
    return 0;
}

int kv_commit(struct kv *kv, struct kv_batch *b)
{
    return commit(kv, b, false);
}

int kv_commit_freeing(struct kv *kv, struct kv_batch *b)
{
    return commit(kv, b, true);
}

/* ---- reads ---- */

static int txn_renew(struct kv *kv, MDB_txn **ret)
{
    MDB_txn *txn = NULL;
    int rc;

    pthread_mutex_lock(&kv->pool_lock);
    if (kv->pooled > 0)
        txn = kv->pool[--kv->pooled];
    pthread_mutex_unlock(&kv->pool_lock);
    if (txn) {
        rc = mdb_txn_renew(txn);
        if (rc) {
            mdb_txn_abort(txn);
            return rc;
        }
    } else {
        rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &txn);
        if (rc)
            return rc;
    }
    *ret = txn;
    return 0;
}

static struct kv_read *held_read(const struct kv *kv)
{
    struct kv_read *r = innermost;

    while (r && r->kv != kv)
        r = r->outer;
    return r;
}

/* Only in an inspecting process: the daemon has grown the map. Size 0 takes over what the file says. */
static int follow_map(struct kv *kv, MDB_txn **ret)
{
    pthread_rwlock_unlock(&kv->gate);
    pthread_rwlock_wrlock(&kv->gate);
    drain_pool(kv);
    mdb_env_set_mapsize(kv->env, 0);
    pthread_rwlock_unlock(&kv->gate);
    pthread_rwlock_rdlock(&kv->gate);
    return txn_renew(kv, ret);
}

/* The environment is dead until the writer has opened it again, which it does as soon as nobody reads. */
static int await_reopening(struct kv *kv, MDB_txn **ret)
{
    int rc = MDB_PANIC;

    for (int64_t end = clock_mono_ns() + REOPEN_NS; rc == MDB_PANIC && clock_mono_ns() < end;) {
        pthread_rwlock_unlock(&kv->gate);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        pass_gate(kv, NULL);
        rc = kv->env ? txn_renew(kv, ret) : MDB_PANIC;
    }
    return rc == MDB_PANIC ? EIO : rc;
}

int kv_read_begin(struct kv *kv, struct kv_read **ret)
{
    struct kv_read *r = calloc(1, sizeof *r), *held = held_read(kv);
    int rc;

    if (!r)
        return -ENOMEM;
    r->kv = kv;
    pass_gate(kv, held);
    rc = kv->env ? txn_renew(kv, &r->txn) : MDB_PANIC;
    if (rc == MDB_MAP_RESIZED && !held)
        rc = follow_map(kv, &r->txn);
    if (rc == MDB_PANIC && !held)
        rc = await_reopening(kv, &r->txn);
    if (rc && held) { /* what it sees cannot be less than what the caller knows of */
        r->txn = held->txn;
        r->borrowed = true;
        rc = 0;
    }
    if (rc) {
        pthread_rwlock_unlock(&kv->gate);
        free(r);
        return code_of(rc);
    }
    r->outer = innermost;
    innermost = r;
    atomic_fetch_add(&kv->reads, 1);
    *ret = r;
    return 0;
}

/* The transaction goes to one who borrowed it, if there is one. */
static bool hand_over(const struct kv_read *from)
{
    for (struct kv_read *r = innermost; r; r = r->outer) {
        if (r->txn == from->txn && r->borrowed) {
            r->borrowed = from->borrowed;
            return true;
        }
    }
    return from->borrowed;
}

static void give_back(struct kv *kv, MDB_txn *txn)
{
    mdb_txn_reset(txn);
    pthread_mutex_lock(&kv->pool_lock);
    if (kv->pooled < POOL_MAX) {
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
    assert(*at); /* ends on the thread that began it */
    *at = r->outer;
    atomic_fetch_sub(&r->kv->reads, 1);
    if (!hand_over(r))
        give_back(r->kv, r->txn);
    pthread_rwlock_unlock(&r->kv->gate);
    free(r);
}

static uint64_t pages_of(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_stat st = {0};

    mdb_stat(txn, dbi, &st);
    return st.ms_branch_pages + st.ms_leaf_pages + st.ms_overflow_pages;
}

/* What no tree has is free: two pages are LMDB's own, the list of free pages (0) and that of the tables (1) are trees. */
static void count_pages(struct kv *kv, MDB_txn *txn, struct kv_stat *ret)
{
    uint64_t taken = 2 + pages_of(txn, 0) + pages_of(txn, 1);

    for (unsigned t = 0; t < KV_TABLES; t++)
        taken += ret->table[t] = pages_of(txn, kv->dbi[t]);
    ret->free = ret->pages > taken ? ret->pages - taken : 0;
}

bool kv_stat(struct kv *kv, struct kv_stat *ret)
{
    MDB_envinfo info;
    MDB_stat st;
    MDB_txn *txn = NULL;
    bool there;

    *ret = (struct kv_stat){.readers = atomic_load(&kv->reads)};
    pthread_rwlock_rdlock(&kv->gate);
    there = kv->env && txn_renew(kv, &txn) == 0;
    if (there) {
        mdb_env_info(kv->env, &info);
        mdb_env_stat(kv->env, &st);
        ret->page_bytes = st.ms_psize;
        ret->pages = (uint64_t)info.me_last_pgno + 1;
        ret->map_bytes = info.me_mapsize;
        ret->slots = info.me_numreaders;
        ret->slots_max = info.me_maxreaders;
        count_pages(kv, txn, ret);
        give_back(kv, txn);
    }
    pthread_rwlock_unlock(&kv->gate);
    return there;
}

int kv_get(struct kv_read *r, enum kv_table t, const struct kv_key *key, struct text *ret)
{
    MDB_val k = {key->len, (void *)key->data}, v;
    int rc = mdb_get(r->txn, r->kv->dbi[t], &k, &v);

    if (rc)
        return code_of(rc);
    *ret = (struct text){v.mv_data, v.mv_size};
    return 0;
}

uint64_t kv_count(struct kv_read *r, enum kv_table t)
{
    MDB_stat st;

    return mdb_stat(r->txn, r->kv->dbi[t], &st) ? 0 : st.ms_entries;
}

void kv_begin(struct kv_read *r, enum kv_table t, const struct kv_key *prefix, struct kv_cursor *c)
{
    MDB_cursor *cursor = NULL;

    *c = (struct kv_cursor){0};
    if (prefix)
        c->prefix = *prefix;
    c->error = code_of(mdb_cursor_open(r->txn, r->kv->dbi[t], &cursor));
    c->cursor = cursor;
}

bool kv_next(struct kv_cursor *c)
{
    MDB_val k = {c->prefix.len, c->prefix.data}, v;
    int rc;

    if (c->error || !c->cursor)
        return false;
    if (!c->begun && c->prefix.len == 0)
        rc = mdb_cursor_get(c->cursor, &k, &v, MDB_FIRST);
    else
        rc = mdb_cursor_get(c->cursor, &k, &v, c->begun ? MDB_NEXT : MDB_SET_RANGE);
    c->begun = true;
    if (rc == MDB_NOTFOUND)
        return false;
    c->error = code_of(rc);
    if (rc || k.mv_size < c->prefix.len || memcmp(k.mv_data, c->prefix.data, c->prefix.len) != 0)
        return false;
    c->key = (struct text){k.mv_data, k.mv_size};
    c->value = (struct text){v.mv_data, v.mv_size};
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
        return code_of(rc);
    rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND)
        rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
    else if (rc == 0 && (k.mv_size != key->len || memcmp(k.mv_data, key->data, key->len) != 0))
        rc = mdb_cursor_get(cursor, &k, &v, MDB_PREV);
    mdb_cursor_close(cursor);
    if (rc)
        return code_of(rc);
    if (k.mv_size < prefix_len || memcmp(k.mv_data, key->data, prefix_len) != 0)
        return -ENOENT;
    *ret_key = (struct text){k.mv_data, k.mv_size};
    *ret_value = (struct text){v.mv_data, v.mv_size};
    return 0;
}
