/* kv.c - the environment of LMDB: opening, commits, a map that grows. See kv.h for the contract. */
#include "index/store/kv_batch.h"
#include "index/store/kv_env.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define READERS_MAX 1024 /* simultaneous reads: more than queries and workers ever hold */
#define MAP_MIN (64ull << 20)
#define MAP_MAX_LIMITED (1ull << 30) /* at first, where the address space is limited */
#define MAP_STEP (16ull << 20)       /* it grows by that at least */
#define MAP_HEADROOM \
    (96ull << 20) /* grown before a commit when less is left: MAP_FULL is then rare */

/* Of a limited file: branches, leaves and the list of free pages that a deletion writes anew. */
#define RESERVE_MIN (1ull << 20)
#define RESERVE_SHARE 64

/* ---- opening --------------------------------------------------------------------------------- */

/* A data file shorter than its meta page says would raise SIGBUS on the first read of a lost page.
 */
static int check_length(struct kv *kv, struct err *err)
{
    MDB_envinfo info;
    MDB_stat st;
    struct stat file;
    int fd = -1;

    if (mdb_env_info(kv->env, &info) || mdb_env_stat(kv->env, &st) || mdb_env_get_fd(kv->env, &fd))
        return err_set(err, ERR_STORE, "%s: cannot read LMDB environment info", kv->path);
    if (fstat(fd, &file) < 0)
        return err_set(err, -errno, "%s: %s", kv->path, strerror(errno));
    if (file.st_size > 0 &&
        (uint64_t)file.st_size < ((uint64_t)info.me_last_pgno + 1) * st.ms_psize)
        return err_set(err, ERR_CORRUPT, "%s/data.mdb is truncated", kv->path);
    return 0;
}

/* The table of readers is a mapped file that LMDB only extends: on a full disk the first reader in
 * a new page of it would be killed by SIGBUS. A longer one than LMDB asks for is taken as it is.
 * Only before LMDB opens it: closing a file drops the locks that a process has on it. */
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

/* Signal safe: it is called where LMDB aborts. */
void kv_mark_damaged(struct kv *kv)
{
    int fd = kv->read_only ? -1 : open(kv->mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0)
        close(fd);
}

/* It has asserted something that does not hold, and aborts the process afterwards. */
static void on_assertion(MDB_env *env, const char *what)
{
    (void)what;
    kv_mark_damaged(mdb_env_get_userctx(env));
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
            return err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc));
        mdb_env_set_userctx(kv->env, kv);
        mdb_env_set_assert(kv->env, on_assertion);
        mdb_env_set_maxdbs(kv->env, KV_TABLES);
        mdb_env_set_maxreaders(kv->env, READERS_MAX);
        if (!kv->read_only)
            mdb_env_set_mapsize(kv->env, map_size);
        rc = failpoint("kv.open") ? errno : mdb_env_open(kv->env, kv->path, flags, 0600);
        if (rc == 0) {
            kv_find_map(kv);
            return 0;
        }
        mdb_env_close(kv->env);
        kv->env = NULL;
        if ((rc == ENOMEM || rc == EINVAL) && !kv->read_only && map_size / 2 >= MAP_MIN)
            map_size /= 2; /* RLIMIT_AS, a small machine, valgrind (EINVAL) */
        else if ((rc == EACCES || rc == EROFS) && kv->read_only && !(flags & MDB_NOLOCK))
            flags |= MDB_NOLOCK;
        else
            return err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc));
    }
}

static int open_tables(struct kv *kv, struct err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, kv->read_only ? MDB_RDONLY : 0, &txn);

    if (rc)
        return err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc));
    for (int i = 0; i < KV_TABLES && rc == 0; i++)
        rc = mdb_dbi_open(txn, kv_table_name((enum kv_table)i), kv->read_only ? 0 : MDB_CREATE,
                          &kv->dbi[i]);
    if (rc) {
        mdb_txn_abort(txn);
        if (rc == MDB_NOTFOUND || rc == EINVAL)
            rc = MDB_INVALID; /* read-only: made by something else, or never finished */
        return err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc));
    }
    rc = failpoint("kv.tables") ? errno : 0;
    if (rc)
        mdb_txn_abort(txn);
    else
        rc = mdb_txn_commit(txn);
    return rc ? err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc)) : 0;
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

static bool name_files(struct kv *kv, const char *path)
{
    kv->path = strdup(path);
    if (!kv->path || asprintf(&kv->mark, "%s/damaged", path) < 0) {
        free(kv->path);
        return false;
    }
    return true;
}

static int check_mark(const struct kv *kv, struct err *err)
{
    if (access(kv->mark, F_OK) < 0)
        return 0;
    return err_set(err, ERR_CORRUPT, "%s: the index is marked as corrupt", kv->path);
}

/* Where the address space is limited, threads and malloc need some of it: a quarter, and more when
 * there is that much data. */
static uint64_t first_map_size(const struct kv *kv, uint64_t size)
{
    uint64_t most = memory_address_space();

    if (most != UINT64_MAX) {
        most = most / 4 < MAP_MIN ? MAP_MIN : most / 4;
        most = most > MAP_MAX_LIMITED ? MAP_MAX_LIMITED : most;
    }
    size = size < most ? size : most;
    return size < kv->map_max ? size : kv->map_max;
}

int kv_open(const struct kv_options *options, struct err *err, struct kv **ret)
{
    struct kv *kv = calloc(1, sizeof *kv);
    int rc, dead;

    if (!kv || !name_files(kv, options->path)) {
        free(kv);
        return err_set(err, -ENOMEM, "out of memory");
    }
    pthread_rwlock_init(&kv->gate, NULL);
    pthread_mutex_init(&kv->pool_lock, NULL);
    kv->read_only = options->read_only;
    kv->map_max = options->map_max ? options->map_max : UINT64_MAX;
    rc = check_mark(kv, err);
    if (rc == 0)
        kv_watch_faults(kv);
    if (rc == 0)
        rc = open_env(kv, first_map_size(kv, options->map_size), err);
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

void kv_close(struct kv *kv)
{
    if (!kv)
        return;
    kv_ignore_faults(kv);
    kv_drain(kv);
    if (kv->env)
        mdb_env_close(kv->env);
    pthread_rwlock_destroy(&kv->gate);
    pthread_mutex_destroy(&kv->pool_lock);
    free(kv->path);
    free(kv->mark);
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

/* ---- commits --------------------------------------------------------------------------------- */

/* Seeks anew for each: what a cursor stands on after a deletion has differed between LMDB versions.
 */
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

int kv_reopen(struct kv *kv, uint64_t size)
{
    int rc;

    kv_drain(kv);
    if (kv->env)
        mdb_env_close(kv->env);
    kv->env = NULL;
    kv->map_size = size;
    rc = open_env(kv, size, NULL);
    if (rc == 0 && (rc = open_tables(kv, NULL))) {
        mdb_env_close(kv->env);
        kv->env = NULL; /* reads fail until the next commit tries again */
    }
    return rc;
}

/* After a failed write of its meta page LMDB refuses everything until the environment is opened
 * again. */
static int reopen(struct kv *kv)
{
    int rc;

    close_gate(kv);
    rc = kv_reopen(kv, kv->env ? kv_map_size(kv) : kv->map_size);
    open_gate(kv);
    return rc;
}

/* Where the address space is limited, an eighth of it is left to threads and malloc. */
static bool may_map(uint64_t more)
{
    uint64_t space = memory_address_space();

    return memory_is_mappable(more + (space == UINT64_MAX ? 0 : space / 8));
}

/* Doubled, or less where that is not possible. 0: not even by a step. */
static uint64_t larger_map(struct kv *kv)
{
    uint64_t size = kv_map_size(kv), rest = kv->map_top - size, more = size < rest ? size : rest;

    while (more > 0 && !may_map(more))
        more = more / 2 < MAP_STEP ? 0 : more / 2;
    return more ? size + more : 0;
}

/* Readers hold the gate while they read: none can see the map move. LMDB unmaps the old map before
 * it maps the new one, and has none when that fails: the environment is opened again before anybody
 * reads, with the old size if there is still room for it. */
static int grow_map(struct kv *kv)
{
    uint64_t old = kv_map_size(kv), size;
    int rc;

    if (old >= kv->map_top)
        return ERR_STORE_FULL;
    size = larger_map(kv);
    if (size == 0)
        return ERR_ADDRESS_SPACE;
    close_gate(kv);
    kv_drain(kv);
    rc = failpoint("kv.grow") ? errno : mdb_env_set_mapsize(kv->env, size);
    if (rc)
        kv_reopen(kv, old);
    kv_find_map(kv);
    open_gate(kv);
    return rc == 0 ? 0 : rc == ENOMEM ? ERR_ADDRESS_SPACE : ERR_STORE_FULL;
}

bool kv_may_grow(struct kv *kv)
{
    if (!kv->env)
        return reopen(kv) == 0;
    return kv_map_size(kv) < kv->map_top && larger_map(kv) > 0;
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

/* Pages within the file that nothing uses: LMDB's own table of lists, each with its length first.
 */
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

/* Whether a batch would take what is kept for deletions. Free pages in pieces may be of no use:
 * MAP_FULL tells that. */
static bool beyond_limit(struct kv *kv, const struct kv_batch *b)
{
    uint64_t need, used;

    if (kv->map_max == UINT64_MAX)
        return false;
    need = b->bytes + b->bytes / 4 + reserve(kv);
    used = bytes_used(kv);
    return used + need > kv->map_max && used + need > kv->map_max + bytes_free(kv);
}

static uint64_t headroom(struct kv *kv)
{
    uint64_t quarter = kv_map_size(kv) / 4;

    return quarter < MAP_HEADROOM ? quarter : MAP_HEADROOM;
}

static int commit(struct kv *kv, struct kv_batch *b, bool freeing)
{
    int rc;

    if (b->error)
        return b->error;
    if (b->count == 0)
        return 0;
    if (!kv->env && (rc = reopen(kv)))
        return rc == -ENOMEM ? ERR_ADDRESS_SPACE : rc;
    if (!freeing && beyond_limit(kv, b))
        return ERR_STORE_FULL;
    if (bytes_used(kv) + b->bytes * 2 + headroom(kv) > kv_map_size(kv) && (rc = grow_map(kv)) &&
        !kv->env)
        return rc; /* else MAP_FULL is returned below, if there is no room */
    for (int tries = 0;; tries++) {
        kv_inside = kv;
        rc = apply_batch(kv, b);
        kv_inside = NULL;
        if (rc != MDB_MAP_FULL || tries == 20)
            break;
        rc = grow_map(kv);
        if (rc)
            return rc;
    }
    if (rc && is_dead(kv))
        reopen(
            /* at once: nobody can read meanwhile. Without success the next commit tries again */
            kv);
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
    return commit(kv, b, false);
}

int kv_commit_freeing(struct kv *kv, struct kv_batch *b)
{
    return commit(kv, b, true);
}
