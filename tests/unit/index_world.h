/* index_world.h - a directory with traces and an index, for tests of what goes in.
 *
 * world() makes it, world_end() removes it. Every test opens and closes its index itself.
 */
#ifndef DFTRACERD_INDEX_WORLD_H
#define DFTRACERD_INDEX_WORLD_H

#include "index/catalog/index.h"
#include "index/ingest/flow.h"
#include "check.h"
#include "dftracerd/index.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#pragma GCC diagnostic ignored "-Wunused-function"

static char dir[64];

/* ---- a small world --------------------------------------------------------------------------- */

static void world(void)
{
    char path[128];

    strcpy(dir, "/tmp/test_ingest.XXXXXX");
    if (!mkdtemp(dir))
        abort();
    snprintf(path, sizeof path, "%s/t", dir);
    mkdir(path, 0700);
}

static void world_end(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        abort();
}

static const char *path_of(const char *name)
{
    static _Thread_local char path[4][256];
    static _Thread_local int next;
    char *p = path[next++ % 4];

    snprintf(p, 256, "%s/t/%s", dir, name);
    return p;
}

static void write_file(const char *name, const char *mode, const char *data, size_t len)
{
    FILE *f = fopen(path_of(name), mode);

    if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
        abort();
}

static void read_file(const char *name, char *data, size_t len)
{
    FILE *f = fopen(path_of(name), "r");

    if (!f || fread(data, 1, len, f) != len || fclose(f) != 0)
        abort();
}

static void write_gz(const char *name, const char *data, size_t len)
{
    gzFile f = gzopen(path_of(name), "wb");

    if (!f || gzwrite(f, data, (unsigned)len) != (int)len || gzclose(f) != Z_OK)
        abort();
}

/* `n` events of one process, one microsecond long, then two, ... named read and write in turn. */
static void put_events(struct buf *b, int from, int n, int pid)
{
    for (int i = from; i < from + n; i++)
        buf_printf(b,
                   "{\"id\":%d,\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
                   "\"dur\":%d,\"ph\":\"X\","
                   "\"args\":{\"hhash\":\"h1\",\"fhash\":\"f%d\",\"ret\":%d}}\n",
                   i, i % 2 ? "write" : "read", pid, pid, 1000 + i * 10, i % 100, i % 7, i);
}

static void put_head(struct buf *b, int pid, int ppid)
{
    buf_printf(b,
               "[\n{\"id\":0,\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":%d,\"tid\":%d,\"ph\":"
               "\"M\",\"args\":{\"name\":\"node1\","
               "\"value\":\"h1\"}}\n",
               pid, pid);
    buf_printf(b,
               "{\"id\":0,\"name\":\"start\",\"cat\":\"dftracer\",\"pid\":%d,\"tid\":%d,\"ts\":999,"
               "\"dur\":0,\"ph\":\"X\",\"args\":"
               "{\"hhash\":\"h1\",\"version\":100008,\"ppid\":%d,\"cmd_hash\":\"c1\",\"exec_hash\":"
               "\"e1\",\"cwd\":\"w1\"}}\n",
               pid, pid, ppid);
}

static struct index *open_with(struct index_options options)
{
    char path[128];
    struct err err = {0};
    struct index *ix = NULL;

    snprintf(path, sizeof path, "%s/index", dir);
    options.path = path;
    if (!options.workers)
        options.workers = 3;
    options.commit_ms = 20;
    CHECK_INT(index_open(&options, &err, &ix), 0);
    CHECK_STR(err.text, "");
    if (!ix)
        abort();
    return ix;
}

static struct index *open_index(int64_t settle_ms, uint64_t chunk)
{
    return open_with((struct index_options){.checkpoint_size = chunk, .settle_ms = settle_ms});
}

static void offer(struct index *ix, const char *name)
{
    CHECK_INT(index_offer(ix, name, path_of(name)), 0);
}

/* With such a time to settle, files grow until they are left. */
enum { NEVER_SETTLES_MS = 3600 * 1000 };

/* It was written to long ago. */
static void leave(struct index *ix, const char *name)
{
    const struct timespec times[2] = {{.tv_sec = 1500000000}, {.tv_sec = 1500000000}};

    CHECK_INT(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
    offer(ix, name);
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 5000000}, NULL);
}

/* The view of a file in a *new* snapshot, once it is in the state (two minutes). */
static const struct index_file *wait_for(struct index *ix, const char *name, enum index_state state,
                                         struct snapshot **ret)
{
    for (int i = 0; i < 24000; i++, rest()) {
        struct snapshot *s = index_snapshot(ix);

        for (uint32_t k = 0; k < snapshot_file_count(s); k++) {
            const struct index_file *f = snapshot_file(s, k);

            if (strcmp(f->name, name) == 0 && f->state == state) {
                *ret = s;
                return f;
            }
        }
        snapshot_release(s);
    }
    check_fail(__FILE__, __LINE__, "%s never is %s", name, index_state_name(state));
    abort();
}

static void wait_quiet(struct index *ix)
{
    struct index_progress p;

    do {
        rest();
        index_progress(ix, &p);
    } while (p.files_pending > 0);
}

/* Closes an index when it has read `chunks` chunks more; the reader is held until it has to stop.
 */
struct stop_behind {
    unsigned chunks;
    sem_t reached, go;
};

static void stop_behind_chunk(void *arg)
{
    struct stop_behind *stop = arg;

    if (stop->chunks > 0 && --stop->chunks == 0) {
        sem_post(&stop->reached);
        while (sem_wait(&stop->go) != 0)
            ;
    }
}

static struct index_options stopping_behind(struct stop_behind *stop, unsigned chunks)
{
    stop->chunks = chunks;
    sem_init(&stop->reached, 0, 0);
    sem_init(&stop->go, 0, 0);
    return (struct index_options){.checkpoint_size = 65536,
                                  .settle_ms = -1,
                                  .on_chunk = stop_behind_chunk,
                                  .on_chunk_arg = stop};
}

static void *close_index(void *ix)
{
    index_close(ix);
    return NULL;
}

static void close_behind_chunk(struct index *ix, struct stop_behind *stop)
{
    pthread_t closer;

    while (sem_wait(&stop->reached) != 0)
        ;
    CHECK_INT(pthread_create(&closer, NULL, close_index, ix), 0);
    while (!ingest_stopping(ix->ingest))
        rest();
    sem_post(&stop->go);
    pthread_join(closer, NULL);
    sem_destroy(&stop->reached);
    sem_destroy(&stop->go);
}

static int no_flush(void *arg, struct buf *out)
{
    (void)arg;
    (void)out;
    return 0;
}

static struct buf dump_of(struct index *ix)
{
    struct buf out = {0};

    CHECK_INT(index_dump(ix, &out, no_flush, NULL), 0);
    buf_putc(&out, 0);
    return out;
}

/* The sum of a column over all chunks of a file. */
static int64_t sum_of(struct index *ix, const struct snapshot *s, const struct index_file *f,
                      const char *path)
{
    static _Thread_local int64_t values[1 << 16];
    int64_t sum = 0;

    for (uint32_t i = 0; i < f->chunk_count; i++) {
        struct chunk_view *v;
        struct column c;

        if (!CHECK_INT(chunk_open(ix, s, f, i, &v), 0))
            return -1;
        CHECK_INT(chunk_rows(v), f->chunks[i].rows);
        if (chunk_find(v, text_of(path), &c) == 0) {
            CHECK_INT(column_read_i64(v, &c, 0, chunk_rows(v), values), 0);
            for (uint32_t k = 0; k < chunk_rows(v); k++)
                sum += values[k];
        }
        chunk_close(v);
    }
    return sum;
}

#endif
