/* garbage.c - values that are to be deleted later: they are recorded as garbage in the commit that
 * replaces them, and deleted when no snapshot reads them any more. */
#include "index/ingest/garbage.h"
#include "index/catalog/snapshot.h"
#include "index/ingest/order.h"
#include "index/ingest/write.h"

#include <time.h>

static struct kv_key garbage_key(const struct garbage *g)
{
    struct kv_key k = {0};

    kv_key_u8(&k, g->kind);
    kv_key_u32(&k, g->file);
    kv_key_u32(&k, g->a);
    kv_key_u32(&k, g->b);
    return k;
}

/* The garbage record is in the same batch, so that a crash loses nothing. Snapshots older than the
 * commit may still read the value. */
void garbage_retire(struct writer *w, enum garbage_kind kind, uint32_t file, uint32_t a, uint32_t b)
{
    struct garbage g = {
        .generation = UINT64_MAX, .kind = (uint8_t)kind, .file = file, .a = a, .b = b};
    struct kv_key key = garbage_key(&g);

    kv_put(w->batch, KV_GARBAGE, &key, "", 0);
    if (vec_push(&w->garbage, g) < 0)
        return; /* the next start collects it */
    w->garbage_files += kind == GARBAGE_FILE;
}

void garbage_retire_file(struct writer *w, uint32_t id)
{
    struct kv_key key = kv_key_of_u32(id);

    kv_delete(w->batch, KV_FILE, &key);
    garbage_retire(w, GARBAGE_FILE, id, 0, 0);
}

void garbage_delete(struct kv_batch *b, const struct garbage *g)
{
    struct kv_key file = kv_key_of_u32(g->file), key = garbage_key(g),
                  chunk = kv_key_of_chunk(g->file, g->a, g->b), summary = kv_key_of_u32(g->file);

    kv_key_u32(&summary, g->a);
    if (g->kind == GARBAGE_FILE) {
        static const uint8_t tables[] = {KV_SPAN, KV_CHECKPOINT, KV_CHUNK, KV_SUMMARY, KV_NAME};
        for (size_t i = 0; i < sizeof tables; i++)
            kv_delete_prefix(b, tables[i], &file);
    } else if (g->kind == GARBAGE_CHUNK) {
        kv_delete(b, KV_CHUNK, &chunk);
        kv_delete(b, KV_NAME, &chunk);
    } else {
        kv_delete(b, KV_SUMMARY, &summary);
    }
    kv_delete(b, KV_GARBAGE, &key);
}

/* Processor time of this thread: waiting for the lock or the processor is not work. */
static int64_t thread_time_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void garbage_collect(struct writer *w)
{
    /* A new snapshot of many files takes long: the next one is made after 20 times as long. */
    enum { REST = 20 };
    uint32_t kept = 0;

    if (w->garbage.count == 0 || clock_mono_ns() < w->collect_ns)
        return;
    int64_t begin = thread_time_ns();
    pthread_mutex_lock(&w->ix->lock);
    uint64_t oldest = snapshot_oldest(w->ix);
    pthread_mutex_unlock(&w->ix->lock);
    w->collect_ns = clock_mono_ns() + (thread_time_ns() - begin) * REST;
    for (uint32_t i = 0; i < w->garbage.count; i++) {
        /* Still in the batch, or committed in generation g: snapshots from g on do not refer to
         * it. */
        if (w->garbage.at[i].generation > oldest || w->garbage.at[i].generation == UINT64_MAX) {
            w->garbage.at[kept++] = w->garbage.at[i];
            continue;
        }
        garbage_delete(w->batch, &w->garbage.at[i]);
        orders_forget(w->ix, &w->garbage.at[i]);
        w->files_deleted += w->garbage.at[i].kind == GARBAGE_FILE;
        w->garbage_files -= w->garbage.at[i].kind == GARBAGE_FILE;
    }
    w->garbage.count = kept;
}
