/* module: index; alone, threads */
/* test_store_io.c - writes of the store that fail. LMDB refuses everything after a failed write of
 * its meta page, until it is opened again: nobody who reads may notice. */
#include "index_world.h"

#include "index/store/kv.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

/* ---- a disk that fails: these stand before those of the C library, for LMDB, too ------------- */

static atomic_int failing_meta;  /* so many writes of the meta page fail */
static atomic_bool written_too;  /* although their bytes are on the disk */
static atomic_int failing_open;  /* so many first reads of data.mdb fail */
static atomic_uint failed_metas; /* for the tests */

static bool is_data(int fd)
{
    char link[64], path[256];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n > 9 && memcmp(path + n - 9, "/data.mdb", 9) == 0;
}

static bool take(atomic_int *count)
{
    int n = atomic_load(count);

    while (n > 0 && !atomic_compare_exchange_weak(count, &n, n - 1))
        ;
    return n > 0;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    if (offset < 8192 && len < 4096 && is_data(fd) && take(&failing_meta)) {
        atomic_fetch_add(&failed_metas, 1);
        if (atomic_load(&written_too))
            syscall(SYS_pwrite64, fd, data, len, offset);
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, data, len, offset);
}

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
    if (offset == 0 && is_data(fd) && take(&failing_open)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, data, len, offset);
}

/* ---- the wrapper of LMDB --------------------------------------------------------------------- */

static struct kv *open_kv(void)
{
    struct kv_options options = {.path = path_of(""), .map_size = 64 << 20};
    struct kv *kv = NULL;

    CHECK_INT(kv_open(&options, NULL, &kv), 0);
    return kv;
}

static int commit_one(struct kv *kv, uint32_t key, const char *value)
{
    struct kv_batch *b = kv_batch_new();
    struct kv_key k = kv_key_of_u32(key);
    int rc, tries = 0;

    kv_put(b, KV_META, &k, value, strlen(value));
    while ((rc = kv_commit(kv, b)) && tries++ < 5)
        CHECK_INT(rc, -EIO);
    kv_batch_free(b);
    return tries;
}

static void check_value(struct kv *kv, uint32_t key, const char *value)
{
    struct kv_key k = kv_key_of_u32(key);
    struct text got;
    struct kv_read *r;

    if (!CHECK_INT(kv_read_begin(kv, &r), 0))
        return;
    CHECK_INT(kv_get(r, KV_META, &k, &got), 0);
    CHECK_TEXT(got, value);
    kv_read_end(r);
}

/* The batch stays, what was there is read, and the next commit succeeds. */
static void commits_again(void)
{
    struct kv *kv;

    world();
    kv = open_kv();
    CHECK_INT(commit_one(kv, 1, "one"), 0);
    for (int round = 0; round < 4; round++) {
        atomic_store(&written_too, round % 2);
        atomic_store(&failing_meta,
                     1 + round / 2); /* the old bytes are written back: that may fail, too */
        CHECK_INT(commit_one(kv, 2, round % 2 ? "two" : "zwei"), 1);
        check_value(kv, 1, "one");
        check_value(kv, 2, round % 2 ? "two" : "zwei");
    }
    CHECK_INT(atomic_load(&failing_meta), 0);
    kv_close(kv);
    kv = open_kv();
    check_value(kv, 1, "one");
    check_value(kv, 2, "two");
    kv_close(kv);
    world_end();
}

/* One who reads already reads on, and may begin to read again before the environment is open. */
static int tries_expected;

static void *commit_later(void *kv)
{
    atomic_store(&failing_meta, 1);
    CHECK_INT(commit_one(kv, 2, "two"), tries_expected);
    return NULL;
}

static void reads_within_reads(void)
{
    struct kv_read *outer, *inner, *third;
    struct kv_key k = kv_key_of_u32(1);
    struct text got;
    pthread_t thread;
    struct kv *kv;
    unsigned failed = atomic_load(&failed_metas);

    world();
    kv = open_kv();
    CHECK_INT(commit_one(kv, 1, "one"), 0);
    CHECK_INT(kv_read_begin(kv, &outer), 0);
    tries_expected = 1;
    pthread_create(&thread, NULL, commit_later, kv);
    while (atomic_load(&failed_metas) == failed)
        rest();
    for (int i = 0; i < 20; i++, rest()) {
        CHECK_INT(kv_read_begin(kv, &inner), 0);
        CHECK_INT(kv_get(inner, KV_META, &k, &got), 0);
        CHECK_TEXT(got, "one");
        kv_read_end(inner);
    }
    /* Ended in another order than begun. */
    CHECK_INT(kv_read_begin(kv, &inner), 0);
    CHECK_INT(kv_read_begin(kv, &third), 0);
    kv_read_end(outer);
    CHECK_INT(kv_get(inner, KV_META, &k, &got), 0);
    kv_read_end(inner);
    CHECK_INT(kv_get(third, KV_META, &k, &got), 0);
    CHECK_TEXT(got, "one");
    kv_read_end(third);
    pthread_join(thread, NULL);
    check_value(kv, 2, "two");
    kv_close(kv);
    world_end();
}

/* Nor can it be opened at once: reads wait, and the next commit opens it. */
static void opening_fails(void)
{
    pthread_t thread;
    struct kv *kv;
    unsigned failed = atomic_load(&failed_metas);

    world();
    kv = open_kv();
    CHECK_INT(commit_one(kv, 1, "one"), 0);
    atomic_store(&failing_open, 3);
    tries_expected = 3;
    pthread_create(&thread, NULL, commit_later, kv);
    while (atomic_load(&failed_metas) == failed)
        rest();
    check_value(kv, 1, "one");
    pthread_join(thread, NULL);
    CHECK_INT(atomic_load(&failing_open), 0);
    check_value(kv, 2, "two");
    kv_close(kv);
    world_end();
}

/* ---- the index ------------------------------------------------------------------------------- */

struct asker {
    struct index *ix;
    atomic_bool *stop;
    unsigned asked;
};

static void *ask(void *arg)
{
    struct asker *a = arg;

    while (!atomic_load(a->stop)) {
        struct snapshot *s = index_snapshot(a->ix);
        const struct summary *root;

        for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
            const struct index_file *f = snapshot_file(s, i);
            int64_t n = (int64_t)f->counts.events;

            if (f->state == INDEX_READY)
                CHECK_INT(sum_of(a->ix, s, f, "args.ret"), n * (n - 1) / 2);
            for (uint32_t k = 0; k < f->name_count; k++) {
                struct text line;

                CHECK_INT(index_name_line(a->ix, f, &f->names[k], &line), 0);
                CHECK(line.len > 0);
            }
        }
        CHECK_INT(index_total_summary(a->ix, s, &root), 0);
        snapshot_release(s);
        a->asked++;
    }
    return NULL;
}

/* Files are indexed and asked while every few commits the meta page cannot be written. */
static void questions_survive(void)
{
    struct asker askers[3];
    atomic_bool stop = false;
    pthread_t threads[3];
    unsigned before = atomic_load(&failed_metas);
    struct index_progress p;
    struct index *ix;
    char name[16];

    world();
    ix = open_index(-1, 65536);
    for (int i = 0; i < 3; i++) {
        askers[i] = (struct asker){ix, &stop, 0};
        pthread_create(&threads[i], NULL, ask, &askers[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct buf b = {0};

        put_events(&b, 0, 2000 + i, i);
        snprintf(name, sizeof name, "%d.pfw", i);
        write_file(name, "w", b.data, b.len);
        buf_done(&b);
        atomic_store(&written_too, i % 2);
        atomic_store(&failing_meta, 1);
        offer(ix, name);
        while (atomic_load(&failed_metas) <= before + (unsigned)i)
            rest();
        do {
            rest();
            index_progress(ix, &p);
        } while (p.files_ready <= (unsigned)i || p.store_error);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK(askers[i].asked > 0);
    }
    index_close(ix);
    world_end();
}

static const struct check_test tests[] = {{"commits_again", commits_again},
                                          {"reads_within_reads", reads_within_reads},
                                          {"opening_fails", opening_fails},
                                          {"questions_survive", questions_survive},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
