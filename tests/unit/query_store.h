/* query_store.h - a small index made from lines: write files, ingest them, ask. For tests of the
 * engine module. */
#ifndef DFTRACERD_QUERY_STORE_H
#define DFTRACERD_QUERY_STORE_H

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "dftracerd/query.h"

struct store {
    char dir[64], place[64]; /* traces, index */
    const char *root;
    const char *label;
    struct index *index;
    struct snapshot *snapshot;
    struct pool *pool;
    struct query_env env;
    bool may_fail; /* files that cannot be read are part of the test */
};

static int store_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static bool store_begin(struct store *s)
{
    memset(s, 0, sizeof(*s));
    strcpy(s->dir, "/tmp/test_query.XXXXXX");
    strcpy(s->place, "/tmp/test_index.XXXXXX");
    return CHECK(mkdtemp(s->dir)) && CHECK(mkdtemp(s->place));
}

/* Writes a file of lines, making its folders. */
static void store_file(struct store *s, const char *name, const char *text, size_t len)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    for (char *p = path + strlen(s->dir) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    if (CHECK(f)) {
        CHECK_INT(fwrite(text, 1, len, f), len);
        fclose(f);
    }
}

static struct store *store_walked;
static int store_offer(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    if (type == FTW_F)
        index_offer(store_walked->index, path + strlen(store_walked->dir) + 1, path);
    return 0;
}

/* Ingests all files that were written. chunk_size 0: the default. */
static bool store_ingest(struct store *s, uint64_t chunk_size, unsigned threads)
{
    struct index_options options = {
        .path = s->place, .checkpoint_size = chunk_size, .settle_ms = -1, .workers = 2};
    struct index_progress progress;
    struct err err = {0};

    if (!CHECK_INT(index_open(&options, &err, &s->index), 0)) {
        printf("   %s\n", err.text);
        return false;
    }
    store_walked = s;
    nftw(s->dir, store_offer, 16, FTW_PHYS);
    index_listed(s->index);
    for (int i = 0; i < 3000; i++) {
        index_progress(s->index, &progress);
        if (progress.files_pending == 0 && progress.files > 0)
            break;
        usleep(10000);
    }
    CHECK_INT(progress.files_pending, 0);
    CHECK(s->may_fail || progress.files_failed == 0);
    s->snapshot = index_snapshot(s->index);
    if (threads > 1)
        CHECK_INT(pool_new(threads, "test", &s->pool), 0);
    s->root = s->dir;
    s->label = "";
    s->env = (struct query_env){.index = s->index,
                                .pool = s->pool,
                                .root_paths = &s->root,
                                .root_labels = &s->label,
                                .root_count = 1};
    return true;
}

static void store_end(struct store *s)
{
    pool_free(s->pool);
    snapshot_release(s->snapshot);
    index_close(s->index);
    nftw(s->dir, store_remove, 16, FTW_DEPTH | FTW_PHYS);
    nftw(s->place, store_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* The end of a file whose tests share one store, which `make` fills. */
#define STORE_MAIN(tests, store, make) \
    static bool store_made(void) \
    { \
        if (!store_begin(store)) \
            return false; \
        make(); \
        return true; \
    } \
    static bool store_gone(void) \
    { \
        store_end(store); \
        return true; \
    } \
    CHECK_MAIN_BETWEEN(tests, store_made, store_gone)

#endif
