/* kv.c - opens, reopens and closes the environment of LMDB, and maps its errors. See kv.h for the
 * contract. */
#include "index/store/kv_env.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* maximum number of simultaneous reads: more than queries and workers need */
#define READERS_MAX 1024
#define MAP_MIN (64ull << 20)
#define MAP_MAX_LIMITED (1ull << 30) /* maximum first size of the map under RLIMIT_AS */

/* Space of a limited file that is reserved for deletions, which rewrite branches, leaves and the
 * list of free pages: 1 MiB, and 1/64 of the file. */
#define RESERVE_MIN (1ull << 20)
#define RESERVE_SHARE 64

int kv_code(int rc)
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
    case MDB_CURSOR_FULL: /* a tree deeper than the maximum: pages are corrupt */
    case MDB_PAGE_FULL:
    case MDB_BAD_TXN:
    case MDB_BAD_VALSIZE:
    case MDB_BAD_DBI:
        return ERR_CORRUPT;
    default:
        return rc > 0 ? -rc : ERR_STORE;
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Checks that the data file is as long as its meta page says: reading a missing page would raise
 * SIGBUS. */
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

/* Extends the file of LMDB's table of readers. LMDB maps it without allocating its blocks: on a
 * full disk, the first reader in a new page would be killed by SIGBUS. A file longer than LMDB
 * requires is harmless. Must be called before LMDB opens the file: closing it drops the locks that
 * a process has on it. */
static int reserve_lock_file(const struct kv *kv, struct err *err)
{
    struct buf path = {0};

    buf_printf(&path, "%s/lock.mdb", kv->path);
    int fd = path.error ? -1 : open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    buf_done(&path);
    if (fd < 0)
        return 0; /* LMDB will report the error */
    int rc = posix_fallocate(fd, 0, READERS_MAX * 64 + 4096);
    close(fd);
    return rc == ENOSPC || rc == EDQUOT ? err_set(err, -rc, "%s: %s", kv->path, strerror(rc)) : 0;
}

/* Called when an assertion of LMDB fails; LMDB aborts the process afterwards. */
static void on_assertion(MDB_env *env, const char *what)
{
    (void)what;
    kv_mark_corrupt(mdb_env_get_userctx(env));
}

void kv_abort_idle(struct kv *kv)
{
    while (kv->pooled > 0)
        mdb_txn_abort(kv->pool[--kv->pooled]);
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
            /* the address space is limited: RLIMIT_AS, a small machine, valgrind (EINVAL) */
            map_size /= 2;
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
            /* read-only, and the file was made by another program or never completed */
            rc = MDB_INVALID;
        return err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc));
    }
    rc = failpoint("kv.tables") ? errno : 0;
    if (rc)
        mdb_txn_abort(txn);
    else
        rc = mdb_txn_commit(txn);
    return rc ? err_set(err, kv_code(rc), "%s: %s", kv->path, mdb_strerror(rc)) : 0;
}

uint64_t kv_bytes_used(struct kv *kv)
{
    MDB_envinfo info;
    MDB_stat st;

    if (!kv->env || mdb_env_info(kv->env, &info) || mdb_env_stat(kv->env, &st))
        return 0;
    return ((uint64_t)info.me_last_pgno + 1) * st.ms_psize;
}

uint64_t kv_reserve(const struct kv *kv)
{
    return kv->map_max / RESERVE_SHARE + RESERVE_MIN;
}

static void set_limit(struct kv *kv)
{
    uint64_t used = kv_bytes_used(kv);

    kv->map_top = kv->map_max;
    if (kv->map_max != UINT64_MAX && used + kv_reserve(kv) > kv->map_top)
        kv->map_top = used + kv_reserve(kv);
}

static bool set_paths(struct kv *kv, const char *path)
{
    kv->path = strdup(path);
    if (!kv->path || asprintf(&kv->mark, "%s/damaged", path) < 0) {
        free(kv->path);
        return false;
    }
    return true;
}

/* If the address space is limited, threads and malloc need some of it: the map gets a quarter. LMDB
 * makes it larger if there is more data. */
static uint64_t first_map_size(const struct kv *kv, uint64_t size)
{
    uint64_t max = memory_address_space();

    if (max != UINT64_MAX) {
        max = max / 4 < MAP_MIN ? MAP_MIN : max / 4;
        max = max > MAP_MAX_LIMITED ? MAP_MAX_LIMITED : max;
    }
    size = size < max ? size : max;
    return size < kv->map_max ? size : kv->map_max;
}

int kv_open(const struct kv_options *options, struct err *err, struct kv **ret)
{
    struct kv *kv = calloc(1, sizeof *kv);
    int dead;

    if (!kv || !set_paths(kv, options->path)) {
        free(kv);
        return err_set(err, -ENOMEM, "out of memory");
    }
    pthread_rwlock_init(&kv->map_lock, NULL);
    pthread_mutex_init(&kv->pool_lock, NULL);
    kv->read_only = options->read_only;
    kv->map_max = options->map_max ? options->map_max : UINT64_MAX;
    int rc = 0;
    if (access(kv->mark, F_OK) == 0)
        rc = err_set(err, ERR_CORRUPT, "%s: the index is marked as corrupt", kv->path);
    else
        kv_watch_faults(kv);
    rc = rc ? rc : open_env(kv, first_map_size(kv, options->map_size), err);
    rc = rc ? rc : check_length(kv, err);
    rc = rc ? rc : open_tables(kv, err);
    if (rc) {
        kv_close(kv);
        return rc;
    }
    set_limit(kv);
    if (!kv->read_only)
        mdb_reader_check(kv->env, &dead); /* slots of killed processes prevent the reuse of pages */
    *ret = kv;
    return 0;
}

void kv_close(struct kv *kv)
{
    if (!kv)
        return;
    kv_ignore_faults(kv);
    kv_abort_idle(kv);
    if (kv->env)
        mdb_env_close(kv->env);
    pthread_rwlock_destroy(&kv->map_lock);
    pthread_mutex_destroy(&kv->pool_lock);
    free(kv->path);
    free(kv->mark);
    free(kv);
}

int kv_reopen(struct kv *kv, uint64_t size)
{
    kv_abort_idle(kv);
    if (kv->env)
        mdb_env_close(kv->env);
    kv->env = NULL;
    kv->map_size = size;
    int rc = open_env(kv, size, NULL);
    if (rc == 0 && (rc = open_tables(kv, NULL))) {
        mdb_env_close(kv->env);
        kv->env = NULL; /* reads fail until the next commit, which tries again */
    }
    return rc;
}

uint64_t kv_map_size(struct kv *kv)
{
    MDB_envinfo info;

    return !kv->env || mdb_env_info(kv->env, &info) ? 0 : info.me_mapsize;
}

uint64_t kv_bytes(struct kv *kv)
{
    pthread_rwlock_rdlock(&kv->map_lock);
    uint64_t bytes = kv_bytes_used(kv);
    pthread_rwlock_unlock(&kv->map_lock);
    return bytes;
}
