/* module: index; threads */
/* test_kv.c - the wrapper of LMDB: order of keys, sticky errors, maps that grow under readers, and
 * what damage is told as. */
#include "check.h"

#include "index/store/kv.h"
#include "base/recbuf.h"
#include "index/place.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void make_dir(void)
{
    strcpy(dir, "/tmp/test_kv.XXXXXX");
    if (!mkdtemp(dir))
        abort();
}

static void remove_dir(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        abort();
}

static struct kv *open_kv(uint64_t map_size)
{
    struct kv_options options = {.path = dir, .map_size = map_size};
    struct err err = {0};
    struct kv *kv = NULL;

    CHECK_INT(kv_open(&options, &err, &kv), 0);
    CHECK_STR(err.text, "");
    return kv;
}

static void put_u32(struct kv_batch *b, enum kv_table t, uint32_t key, const char *value)
{
    struct kv_key k = kv_key_of_u32(key);

    kv_put(b, t, &k, value, strlen(value));
}

static void keys_sort_as_numbers(void)
{
    static const uint32_t keys[] = {0,     1,          255,        256,        65535,
                                    65536, 0x01000000, 0x7fffffff, 0x80000000, 0xffffffff};
    struct kv_batch *b = kv_batch_new();
    struct kv_cursor c;
    struct kv_read *r;
    struct kv *kv;
    unsigned n = 0;

    make_dir();
    kv = open_kv(64 << 20);
    for (int i = 9; i >= 0; i--)
        put_u32(b, KV_META, keys[(i * 7) % 10], "x");
    CHECK_INT(kv_commit(kv, b), 0);
    CHECK(kv_batch_is_empty(b));
    CHECK_INT(kv_read_begin(kv, &r), 0);
    kv_begin(r, KV_META, NULL, &c);
    while (kv_next(&c) && n < 10)
        CHECK_INT(kv_get_u32((const uint8_t *)c.key.ptr), keys[n++]);
    CHECK_INT(c.error, 0);
    CHECK_INT(n, 10);
    kv_end(&c);
    kv_read_end(r);
    kv_batch_free(b);
    kv_close(kv);
    remove_dir();
}

static void prefixes_and_below(void)
{
    struct kv_batch *b = kv_batch_new();
    struct kv_key prefix = kv_key_of_u32(7), at;
    struct text key, value;
    struct kv_cursor c;
    struct kv_read *r;
    struct kv *kv;
    unsigned n = 0;

    make_dir();
    kv = open_kv(64 << 20);
    for (uint32_t file = 6; file <= 8; file++) {
        for (uint32_t i = 0; i < 3000; i++) {
            at = kv_key_of_u32(file);
            kv_key_u64(&at, i * 10);
            kv_put(b, KV_CHECKPOINT, &at, &i, sizeof i);
        }
    }
    CHECK_INT(kv_commit(kv, b), 0);
    kv_read_begin(kv, &r);
    kv_begin(r, KV_CHECKPOINT, &prefix, &c);
    while (kv_next(&c))
        n++;
    kv_end(&c);
    CHECK_INT(n, 3000);
    at = kv_key_of_u32(7);
    kv_key_u64(&at, 105);
    CHECK_INT(kv_find_below(r, KV_CHECKPOINT, &at, 4, &key, &value), 0);
    CHECK_INT(kv_get_u64((const uint8_t *)key.ptr + 4), 100);
    at = kv_key_of_u32(8);
    kv_key_u64(&at, UINT64_MAX);
    CHECK_INT(kv_find_below(r, KV_CHECKPOINT, &at, 4, &key, &value), 0);
    CHECK_INT(kv_get_u64((const uint8_t *)key.ptr + 4), 29990);
    at = kv_key_of_u32(5);
    kv_key_u64(&at, 5);
    CHECK_INT(kv_find_below(r, KV_CHECKPOINT, &at, 4, &key, &value), -ENOENT);
    kv_read_end(r);
    kv_delete_prefix(b, KV_CHECKPOINT, &prefix);
    CHECK_INT(kv_commit(kv, b), 0);
    kv_read_begin(kv, &r);
    CHECK_INT(kv_count(r, KV_CHECKPOINT), 6000);
    kv_begin(r, KV_CHECKPOINT, &prefix, &c);
    CHECK(!kv_next(&c));
    kv_end(&c);
    kv_read_end(r);
    kv_batch_free(b);
    kv_close(kv);
    remove_dir();
}

struct reading {
    struct kv *kv;
    atomic_bool stop;
    atomic_uint reads;
};

static void *read_always(void *arg)
{
    struct reading *reading = arg;
    struct kv_key key = kv_key_of_u32(1);

    while (!atomic_load(&reading->stop)) {
        struct text value;
        struct kv_read *r;

        if (!CHECK_INT(kv_read_begin(reading->kv, &r), 0))
            return NULL;
        if (kv_get(r, KV_META, &key, &value) == 0)
            CHECK_TEXT(value, "steady");
        kv_read_end(r);
        atomic_fetch_add(&reading->reads, 1);
    }
    return NULL;
}

/* A map of 1 MiB takes MIB of them, more than one enlargement makes room for, while others read. */
static void full_maps_grow(void)
{
    const uint32_t mib = check_count(200, 40);
    struct kv_batch *b = kv_batch_new();
    struct reading reading = {0};
    pthread_t threads[3];
    struct kv_read *r;
    char *value = malloc(1 << 20);

    make_dir();
    memset(value, 'v', 1 << 20);
    reading.kv = open_kv(1 << 20);
    put_u32(b, KV_META, 1, "steady");
    CHECK_INT(kv_commit(reading.kv, b), 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, read_always, &reading);
    for (uint32_t i = 0; i < mib; i++) {
        struct kv_key key = kv_key_of_chunk(1, i, 1);

        kv_put(b, KV_CHUNK, &key, value, 1 << 20);
        if (i % 5 == 4)
            CHECK_INT(kv_commit(reading.kv, b), 0);
    }
    atomic_store(&reading.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&reading.reads) > 0);
    CHECK(kv_map_size(reading.kv) > (uint64_t)mib << 20);
    kv_read_begin(reading.kv, &r);
    CHECK_INT(kv_count(r, KV_CHUNK), mib);
    kv_read_end(r);
    kv_batch_free(b);
    kv_close(reading.kv);
    free(value);
    remove_dir();
}

/* Two readers; `begun` counts the reads of both. */
struct never_idle {
    struct kv *kv;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    unsigned begun;
    bool stop;
};

enum { HANDOVERS_MOST = 1000000 };

/* There always is a read open: each ends when the other reader has begun its next, or when that one
 * has waited at the gate for a while, which is less than the gate makes anybody wait. */
#define WAIT_NS 20000000
static void *read_without_end(void *arg)
{
    struct never_idle *n = arg;
    struct kv_read *r;
    bool stop = false;

    while (!stop) {
        if (!CHECK_INT(kv_read_begin(n->kv, &r), 0))
            return NULL;
        pthread_mutex_lock(&n->lock);
        unsigned mine = ++n->begun;
        int64_t until = clock_mono_ns() + WAIT_NS;
        pthread_cond_broadcast(&n->cond);
        while (n->begun == mine && !n->stop &&
               clock_cond_wait(&n->cond, &n->lock, until) != ETIMEDOUT)
            ;
        stop = n->stop || n->begun >= HANDOVERS_MOST;
        pthread_mutex_unlock(&n->lock);
        kv_read_end(r);
    }
    return NULL;
}

/* A map grows although there never is a moment without a reader, and although each reader waits for
 * the other one. */
static void maps_grow_under_load(void)
{
    struct kv_batch *b = kv_batch_new();
    struct never_idle n = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[2];
    char *value = calloc(1, 1 << 20);

    make_dir();
    n.kv = open_kv(1 << 20);
    clock_cond_init(&n.cond);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, read_without_end, &n);
    pthread_mutex_lock(&n.lock);
    while (n.begun < 2)
        pthread_cond_wait(&n.cond, &n.lock);
    pthread_mutex_unlock(&n.lock);
    for (uint32_t i = 0; i < 4; i++) {
        struct kv_key key = kv_key_of_chunk(1, i, 1);

        kv_put(b, KV_CHUNK, &key, value, 1 << 20);
        CHECK_INT(kv_commit(n.kv, b), 0);
    }
    pthread_mutex_lock(&n.lock);
    CHECK(n.begun < HANDOVERS_MOST);
    n.stop = true;
    pthread_cond_broadcast(&n.cond);
    pthread_mutex_unlock(&n.lock);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(kv_map_size(n.kv) > (4u << 20));
    pthread_cond_destroy(&n.cond);
    kv_batch_free(b);
    kv_close(n.kv);
    free(value);
    remove_dir();
}

/* With a limit: what does not fit is refused and stays in the batch, deletions get through, and
 * then there is room. */
static void limits_hold(void)
{
    struct kv_options options = {.path = dir, .map_size = 1 << 20, .map_max = 16 << 20};
    struct kv_batch *b = kv_batch_new(), *d = kv_batch_new();
    char *value = malloc(1 << 20), path[128];
    struct stat st;
    struct kv *kv;
    int rc = 0;

    make_dir();
    memset(value, 'v', 1 << 20);
    CHECK_INT(kv_open(&options, NULL, &kv), 0);
    for (uint32_t round = 0; round < check_count(20, 4); round++) {
        uint32_t i = 0;

        for (; rc == 0; i++) {
            struct kv_key key = kv_key_of_chunk(round, i, 1);

            kv_put(b, KV_CHUNK, &key, value, (1 << 20) - 5000 * round);
            put_u32(b, KV_META, round * 100 + i, "and a small one");
            rc = kv_commit(kv, b);
        }
        CHECK_INT(rc, ERR_STORE_FULL);
        CHECK(!kv_batch_is_empty(b));
        CHECK(i >= 10 && i <= 16);
        CHECK_INT(kv_commit(kv, b), ERR_STORE_FULL);
        for (uint32_t k = 0; k < i; k++) {
            struct kv_key key = kv_key_of_chunk(round, k, 1);

            kv_delete(d, KV_CHUNK, &key);
        }
        CHECK_INT(kv_commit_freeing(kv, d), 0);
        put_u32(d, KV_META, 1, "what was freed can be used behind the next commit");
        CHECK_INT(kv_commit_freeing(kv, d), 0);
        rc = kv_commit(kv, b);
        CHECK_INT(rc, 0);
        for (uint32_t k = i - 1; k < i; k++) {
            struct kv_key key = kv_key_of_chunk(round, k, 1);

            kv_delete(d, KV_CHUNK, &key);
        }
        CHECK_INT(kv_commit_freeing(kv, d), 0);
    }
    snprintf(path, sizeof path, "%s/data.mdb", dir);
    CHECK(stat(path, &st) == 0 && st.st_size <= 16 << 20);
    kv_batch_free(b);
    kv_batch_free(d);
    kv_close(kv);
    free(value);
    remove_dir();
}

/* What cannot be committed stays in the batch, and nothing of it is in the store. */
static void failed_batches_stay(void)
{
    struct kv_batch *b = kv_batch_new();
    struct kv_key empty = {0}, key = kv_key_of_u32(1);
    struct text value;
    struct kv_read *r;
    struct kv *kv;

    make_dir();
    kv = open_kv(64 << 20);
    put_u32(b, KV_META, 1, "one");
    kv_put(b, KV_META, &empty, "x", 1); /* LMDB takes no empty key */
    CHECK(kv_commit(kv, b) < 0);
    CHECK(!kv_batch_is_empty(b));
    kv_read_begin(kv, &r);
    CHECK_INT(kv_get(r, KV_META, &key, &value), -ENOENT);
    kv_read_end(r);
    kv_batch_free(b);
    kv_close(kv);
    remove_dir();
}

static void damage_is_told(void)
{
    struct kv_options options = {.path = dir, .map_size = 64 << 20};
    struct kv_batch *b = kv_batch_new();
    struct err err = {0};
    struct kv *kv = NULL;
    char path[128];
    int fd;

    make_dir();
    kv = open_kv(64 << 20);
    for (uint32_t i = 0; i < 10000; i++)
        put_u32(b, KV_META, i, "some value that takes room in the file");
    CHECK_INT(kv_commit(kv, b), 0);
    kv_close(kv);
    snprintf(path, sizeof path, "%s/data.mdb", dir);
    CHECK_INT(truncate(path, 3 * 4096), 0);
    CHECK_INT(kv_open(&options, &err, &kv), ERR_CORRUPT);
    CHECK(strstr(err.text, "truncated"));
    err_done(&err);
    fd = open(path, O_WRONLY | O_TRUNC);
    CHECK(write(fd, "this is no database, but something longer than a header of one ........",
                70) == 70);
    CHECK_INT(ftruncate(fd, 65536), 0);
    close(fd);
    CHECK_INT(kv_open(&options, &err, &kv), ERR_CORRUPT);
    err_done(&err);
    kv_batch_free(b);
    remove_dir();
}

static void places(void)
{
    struct err err = {0};
    char path[128];
    struct stat st;
    int fd = -1, second = -1;

    make_dir();
    snprintf(path, sizeof path, "%s/a/b", dir);
    CHECK_INT(place_prepare(path, false, &err), 0);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    chmod(path, 0755);
    CHECK_INT(place_prepare(path, false, &err), 0);
    stat(path, &st);
    CHECK_INT(st.st_mode & 0777, 0700);
    CHECK_INT(place_lock(path, &err, &fd), 0);
    CHECK_INT(place_lock(path, &err, &second), ERR_STORE_BUSY);
    CHECK(strstr(err.text, "another daemon"));
    err_done(&err);
    close(fd);
    CHECK_INT(place_lock(path, &err, &fd), 0);
    close(fd);
    CHECK_STR(place_refused(0x6969), "NFS");
    CHECK_STR(place_refused(0x0BD00BD0), "Lustre");
    CHECK_STR(place_refused(0xEF53), NULL); /* ext4 */
    CHECK_INT(place_prepare("/proc/self/cmdline", true, &err), -ENOTDIR);
    err_done(&err);
    remove_dir();
}

static void records(void)
{
    static const int64_t values[] = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
    struct buf b = {0};
    struct text text;
    struct rec r;

    for (int i = 0; i < 9; i++) {
        rec_put_i(&b, values[i]);
        rec_put_u(&b, (uint64_t)values[i]);
        rec_put_i128(&b, (__int128)values[i] * 1000);
    }
    rec_put_text(&b, TEXT("text"));
    rec_put_text(&b, TEXT(""));
    r = rec_of((struct text){b.data, b.len});
    for (int i = 0; i < 9; i++) {
        CHECK_INT(rec_i(&r), values[i]);
        CHECK(rec_u(&r) == (uint64_t)values[i]);
        CHECK(rec_i128(&r) == (__int128)values[i] * 1000);
    }
    text = rec_text(&r);
    CHECK_TEXT(text, "text");
    text = rec_text(&r);
    CHECK_TEXT(text, "");
    CHECK(!r.bad);
    CHECK(r.ptr == r.end);
    rec_u(&r);
    CHECK(r.bad);
    r = rec_of((struct text){"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11});
    rec_u(&r);
    CHECK(r.bad);
    r = rec_of((struct text){"\x7f"
                             "abc",
                             4});
    rec_text(&r);
    CHECK(r.bad);
    buf_done(&b);
}

static const struct check_test tests[] = {{"keys_sort_as_numbers", keys_sort_as_numbers, true},
                                          {"prefixes_and_below", prefixes_and_below, true},
                                          {"full_maps_grow", full_maps_grow},
                                          {"maps_grow_under_load", maps_grow_under_load},
                                          {"limits_hold", limits_hold, true},
                                          {"failed_batches_stay", failed_batches_stay, true},
                                          {"damage_is_told", damage_is_told, true},
                                          {"places", places, true},
                                          {"records", records, true},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
