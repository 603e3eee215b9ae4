/* open.c - opens and closes the index: options, schema, and the catalog. */
#include "index/catalog/archive_members.h"
#include "index/catalog/catalog.h"
#include "index/catalog/catalog_record.h"
#include "index/catalog/names.h"
#include "index/catalog/snapshot.h"
#include "index/ingest/garbage.h"
#include "index/ingest/ingest.h"
#include "index/mirror.h"
#include "index/place.h"
#include "index/ranks/ranks.h"
#include "index/spread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* version of the tables, and of the values read from a trace; CHUNK_VERSION and the sizes below are
 * part of the schema text, too */
#define STORE_SCHEMA 13

/* ---- options --------------------------------------------------------------------------------- */

/* bytes of memory for each name: a name takes some 2 KB, in each part that is not committed yet */
#define NAMES_SHARE (128u << 10)
/* fraction of memory for bytes of texts, which take two or three times as much */
#define TEXTS_SHARE 32

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* The text of a chunk, its builder and its value are in memory together: about five times its size.
 * text_len of a chunk must fit 32 bits, too. */
static uint64_t largest_chunk(size_t memory_limit)
{
    return clamp(memory_limit / 5, INDEX_CHECKPOINT_MIN, INDEX_CHECKPOINT_MAX);
}

/* If memory is short: less text in flight, earlier commits, fewer names of events that are counted
 * separately, and a smaller table of texts (new_state). Texts that are not in that table are stored
 * in the chunks. */
static void fill_limits(struct index *ix)
{
    struct index_options *o = &ix->options;

    if (o->memory == 0)
        o->memory = memory_limit().bytes;
    if (o->memory_limit == 0)
        o->memory_limit = (size_t)clamp(o->memory / 6, 20u << 20, 160u << 20);
    ix->commit_bytes = clamp(o->memory_limit / 8, 1u << 20, 16u << 20);
    summary_limit_names((uint32_t)clamp(o->memory / NAMES_SHARE, 64, SUMMARY_NAMES_MAX));
    if (o->bloom_rate <= 0)
        o->bloom_rate = 0.01;
    ix->checkpoint_max = largest_chunk(o->memory_limit);
    o->checkpoint_size = clamp(o->checkpoint_size ? o->checkpoint_size : 4u << 20,
                               INDEX_CHECKPOINT_MIN, ix->checkpoint_max);
    if (o->workers == 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        o->workers = n > 0 ? (unsigned)n : 1;
    }
    o->commit_ms = o->commit_ms ? o->commit_ms : 500;
    o->upkeep_ms = o->upkeep_ms ? o->upkeep_ms : 1000;
    o->archive_traces = o->archive_traces ? o->archive_traces : 100000;
    o->map_size = o->map_size ? o->map_size : 64ull << 30;
    /* The batch and its pages take 32 MiB: the rest may be in flight. With large chunks there are
     * fewer workers. */
    uint64_t builder = builder_bytes(o->checkpoint_size);
    while (o->workers > 1 && o->workers * builder > o->memory_limit / 2)
        o->workers--;
    uint64_t spare = o->workers * builder + (32u << 20);
    o->memory_limit = o->memory_limit > spare ? o->memory_limit - spare : 0;
    if (o->memory_limit > (o->workers * 4 + 4) * o->checkpoint_size)
        /* enough to keep all workers busy */
        o->memory_limit = (o->workers * 4 + 4) * o->checkpoint_size;
    if (o->memory_limit < 2 * o->checkpoint_size)
        o->memory_limit = 2 * o->checkpoint_size;
}

static int fill_options(struct index *ix, const struct index_options *options)
{
    struct index_options *o = &ix->options;

    *o = *options;
    fill_limits(ix);
    ix->read_only = o->read_only;
    ix->purge_ns = (o->purge_ms > 0 ? o->purge_ms : 3600000) * 1000000LL;
    ix->settle_ns = o->settle_ms == 0  ? 10000000000LL
                    : o->settle_ms < 0 ? 0
                                       : o->settle_ms * 1000000LL;
    ix->path = strdup(options->path);
    o->path = ix->path;
    ix->index_params = index_params_new(o->checkpoint_size, o->bloom_rate, options->dimensions);
    o->dimensions = NULL; /* borrowed */
    return ix->path && ix->index_params ? 0 : -ENOMEM;
}

/* ---- schema ---------------------------------------------------------------------------------- */

/* The schema contains everything that changes stored values: a store with another schema is
 * rebuilt. */
static void schema_text(const struct index *ix, struct buf *out)
{
    buf_printf(out, "dftracerd %d chunk %d checkpoint %llu bloom %g", STORE_SCHEMA, CHUNK_VERSION,
               (unsigned long long)ix->index_params->checkpoint_size, ix->index_params->bloom_rate);
    for (unsigned i = 0; i < ix->index_params->dimension_count; i++)
        buf_printf(out, " %s", ix->index_params->dimensions[i]);
}

static uint64_t read_meta_number(struct kv_read *r, const char *name)
{
    struct kv_key key = kv_key_of_name(name);
    struct text value;

    if (kv_get(r, KV_META, &key, &value) < 0)
        return 0;
    struct rec rec = rec_of(value);
    return rec_u(&rec);
}

/* Without a commit, the next id is computed from the files; generations must not be reused. */
static int check_meta(struct kv_read *r)
{
    struct kv_key generation = kv_key_of_name("generation"), next = kv_key_of_name("next_file");
    struct text value;
    int rc = kv_get(r, KV_META, &generation, &value);

    if (rc == 0 && (rc = kv_get(r, KV_META, &next, &value)) == -ENOENT)
        rc = 0;
    return rc == -ENOENT ? ERR_CORRUPT : rc;
}

/* The store is in the state of a clean end or a crash. From now on, a crash skips the generations
 * that may have been published: this is stored before the first change. */
static void reserve_generations(struct index *ix, struct kv_batch *b)
{
    struct kv_key key = kv_key_of_name("generation");
    struct buf value = {0};

    ix->generation_stored = ix->generation + GENERATIONS_AHEAD;
    rec_put_u(&value, ix->generation_stored);
    kv_put_buf(b, KV_META, &key, &value);
}

static int write_schema(struct index *ix, struct err *err)
{
    struct kv_batch *b = kv_batch_new();
    struct kv_key schema = kv_key_of_name("schema"), uuid = kv_key_of_name("uuid");
    struct buf text = {0};
    uint8_t random[16];

    if (!b)
        return err_set(err, -ENOMEM, "out of memory");
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        kv_batch_free(b);
        return err_set(err, -EIO, "cannot get random numbers");
    }
    for (int i = 0; i < 16; i++)
        snprintf(ix->uuid + 2 * i, 3, "%02x", random[i]);
    schema_text(ix, &text);
    kv_put(b, KV_META, &schema, text.data, text.len);
    kv_put(b, KV_META, &uuid, ix->uuid, 32);
    reserve_generations(ix, b);
    int rc = text.error ? text.error : kv_commit(ix->kv, b);
    buf_done(&text);
    kv_batch_free(b);
    return rc ? err_set(err, rc, "%s: %s", ix->path, err_text(rc)) : 0;
}

/* An inspecting process adopts chunk size, rate and dimensions from the schema. Returns 0,
 * ERR_CORRUPT (made by another version) or -ENOMEM. */
static int adopt_schema(struct index *ix, struct text schema)
{
    const char *list[DIMENSIONS_MAX + 1] = {NULL};
    unsigned long long checkpoint;
    char *copy = strndup(schema.ptr, schema.len), *at = copy, *item, head[64];
    double rate;
    int n = 0, rc = ERR_CORRUPT;

    if (!copy)
        return -ENOMEM;
    snprintf(head, sizeof head, "dftracerd %d chunk %d ", STORE_SCHEMA, CHUNK_VERSION);
    if (strncmp(at, head, strlen(head)) == 0 &&
        sscanf(at += strlen(head), "checkpoint %llu bloom %lf %n", &checkpoint, &rate, &n) == 2) {
        at += n;
        for (n = 0; n < (int)DIMENSIONS_MAX && (item = strsep(&at, " "));)
            list[n++] = item;
        index_params_release(ix->index_params);
        ix->index_params = index_params_new(checkpoint, rate, list);
        rc = ix->index_params ? 0 : -ENOMEM;
    }
    free(copy);
    return rc;
}

/* Returns 0, -ENOENT (the store is empty), ERR_CORRUPT (another schema) or -ENOMEM. */
static int read_schema(struct index *ix, struct kv_read *r)
{
    struct kv_key schema = kv_key_of_name("schema"), uuid = kv_key_of_name("uuid");
    struct text value;
    struct buf text = {0};
    int rc = kv_get(r, KV_META, &schema, &value);

    if (rc)
        return rc;
    schema_text(ix, &text);
    rc = text.error;
    if (rc == 0 && !text_eq(value, (struct text){text.data, text.len}))
        rc = ix->read_only ? adopt_schema(ix, value) : ERR_CORRUPT;
    buf_done(&text);
    if (rc)
        return rc;
    rc = kv_get(r, KV_META, &uuid, &value);
    if (rc || value.len != 32)
        return ERR_CORRUPT;
    memcpy(ix->uuid, value.ptr, 32);
    return 0;
}

static int load_all(struct index *ix, struct kv_read *r, struct err *err)
{
    int rc = read_schema(ix, r);

    if (rc == -ENOENT)
        return rc;
    if (rc == ERR_CORRUPT)
        return err_set(
            err, rc,
            "%s has a different schema: it was written by another version or with other options",
            ix->path);
    if (rc)
        return err_set(err, rc, "%s: cannot read the schema: %s", ix->path, err_text(rc));
    rc = texts_load(ix->texts, r);
    if (rc == ERR_MEMORY_LIMIT)
        return err_set(err, rc, "%s: the string table is too large for the memory limit of %s",
                       ix->path, memory_limit().source);
    if (rc)
        return err_set(err, rc, "%s: cannot load the string table: %s", ix->path, err_text(rc));
    rc = check_meta(r);
    if (rc)
        return err_set(err, rc, "%s: %s", ix->path, err_text(rc));
    ix->generation = read_meta_number(r, "generation");
    ix->generation_stored = ix->generation;
    ix->next_file = (uint32_t)read_meta_number(r, "next_file");
    if (ix->next_file == 0)
        ix->next_file = 1;
    rc = catalog_load(ix, r, err);
    rc = rc ? rc : archive_link(ix);
    ix->generation = ix->generation_stored; /* loading does not change the generation */
    return rc;
}

/* Deletes what the last process had left to delete: no snapshot reads it now. */
static int collect_garbage(struct kv_read *r, struct kv_batch *b)
{
    struct kv_cursor c;

    kv_begin(r, KV_GARBAGE, NULL, &c);
    while (kv_next(&c)) {
        const uint8_t *p = (const uint8_t *)c.key.ptr;
        struct garbage g = {0};
        if (c.key.len != 13)
            continue;
        g = (struct garbage){.kind = p[0],
                             .file = kv_get_u32(p + 1),
                             .a = kv_get_u32(p + 5),
                             .b = kv_get_u32(p + 9)};
        garbage_delete(b, &g);
    }
    kv_end(&c);
    return c.error;
}

/* On a full disk, what cannot be written stays for the next start, except for the generations,
 * which must not be reused. */
static int clean_up(struct index *ix)
{
    struct kv_batch *b = kv_batch_new();
    struct kv_read *r;
    uint16_t random = 0;
    int rc = b ? kv_read_begin(ix->kv, &r) : -ENOMEM;

    if (rc == 0) {
        rc = collect_garbage(r, b);
        kv_read_end(r);
    }
    for (uint32_t i = 0; rc == 0 && i < ix->lost.count; i++) {
        struct kv_key key = kv_key_of_u32(ix->lost.at[i]);
        kv_delete(b, KV_FILE, &key);
        garbage_delete(b, &(struct garbage){.kind = GARBAGE_FILE, .file = ix->lost.at[i]});
    }
    if (rc == 0) {
        reserve_generations(ix, b);
        if (kv_commit_freeing(ix->kv, b) < 0 && getrandom(&random, sizeof random, 0) > 0)
            ix->generation += (1ull << 32) + random;
    }
    kv_batch_free(b);
    return rc;
}

/* ---- the store itself ------------------------------------------------------------------------ */

static int open_tables(struct index *ix, struct err *err)
{
    struct kv_options options = {.path = ix->path,
                                 .map_size = ix->options.map_size,
                                 .map_max = ix->options.map_max,
                                 .read_only = ix->read_only};
    struct kv_read *r;
    int rc = kv_open(&options, err, &ix->kv);

    if (rc)
        return rc;
    rc = kv_read_begin(ix->kv, &r);
    if (rc)
        return err_set(err, rc, "%s: %s", ix->path, err_text(rc));
    rc = load_all(ix, r, err);
    kv_read_end(r);
    if (rc == -ENOENT && !ix->read_only)
        return write_schema(ix, err);
    if (rc == -ENOENT)
        return err_set(err, -ENOENT, "%s contains no index", ix->path);
    if (rc || ix->read_only)
        return rc;
    rc = clean_up(ix);
    return rc ? err_set(err, rc, "%s: cannot remove outdated data: %s", ix->path, err_text(rc)) : 0;
}

static int new_state(struct index *ix)
{
    ix->texts = texts_new();
    ix->entry_names = intern_new();
    ix->next_file = 1;
    if (ix->texts)
        texts_limit(ix->texts, ix->options.memory / TEXTS_SHARE);
    return ix->texts && ix->entry_names ? 0 : -ENOMEM;
}

static void drop_state(struct index *ix)
{
    pthread_mutex_lock(&ix->lock);
    struct snapshot *s = ix->current;
    ix->current = NULL;
    pthread_mutex_unlock(&ix->lock);
    snapshot_release(s);
    total_summary_release(ix->total);
    ix->total = NULL;
    kv_close(ix->kv);
    ix->kv = NULL;
    catalog_done(ix);
    ix->entry_names = NULL;
    lines_done(ix);
    texts_free(ix->texts);
    ix->texts = NULL;
    vec_done(&ix->lost);
    ix->files_corrupt = 0;
}

/* The mark exists while the tables are loaded: a process that crashed there may do so at every
 * start. */
static int open_marked(struct index *ix, struct err *err)
{
    if (ix->read_only)
        return open_tables(ix, err);
    if (place_is_opening(ix->path))
        return err_set(err, ERR_CORRUPT, "%s: the last process ended while it opened the index",
                       ix->path);
    place_set_opening(ix->path, true);
    int rc = open_tables(ix, err);
    place_set_opening(ix->path, false);
    return rc;
}

/* The store is a cache: if it is corrupt, or was made by another version, it is removed and
 * rebuilt. */
static int open_store(struct index *ix, struct err *err)
{
    struct err first = {0};
    int rc = new_state(ix);

    rc = rc ? rc : open_marked(ix, &first);
    if ((rc == ERR_CORRUPT || rc == ERR_STORE || rc == ERR_MEMORY_LIMIT) && !ix->read_only) {
        ix->rebuilt = strdup(first.text[0] ? first.text : err_text(rc));
        drop_state(ix);
        rc = place_clear(ix->path);
        rc = rc ? rc : new_state(ix);
        if (rc == 0) {
            err_done(&first);
            rc = open_marked(ix, &first);
        }
    }
    if (rc)
        err_set(err, rc, "%s", first.text[0] ? first.text : err_text(rc));
    err_done(&first);
    return rc;
}

static void init_locks(struct index *ix)
{
    pthread_mutex_init(&ix->lock, NULL);
    pthread_mutex_init(&ix->total_lock, NULL);
    pthread_cond_init(&ix->files_cond, NULL);
    pthread_rwlock_init(&ix->lines_lock, NULL);
    ix->lock_fd = -1;
}

int index_open(const struct index_options *options, struct err *err, struct index **ret)
{
    struct index *ix = calloc(1, sizeof *ix);

    if (!ix)
        return err_set(err, -ENOMEM, "out of memory");
    init_locks(ix);
    int rc = fill_options(ix, options);
    rc = rc ? rc : spread_init(ix);
    if (rc)
        err_set(err, rc, rc == -ENOMEM ? "out of memory" : "too many processes for one index");
    rc = rc ? rc : place_prepare(ix->path, ix->read_only, err);
    if (rc == 0 && !ix->read_only)
        rc = place_lock(ix->path, err, &ix->lock_fd);
    rc = rc ? rc : open_store(ix, err);
    rc = rc ? rc : spread_connect(ix, err);
    ix->generation_opened = ix->generation;
    if (rc == 0) { /* from now on there always is a snapshot, even if memory is short */
        struct snapshot *first = index_snapshot(ix);
        if (!first)
            rc = err_set(err, -ENOMEM, "out of memory");
        snapshot_release(first);
    }
    if (rc == 0 && !ix->read_only)
        rc = ingest_start(ix, err);
    if (rc) {
        index_close(ix);
        return rc;
    }
    *ret = ix;
    return 0;
}

void index_close(struct index *ix)
{
    if (!ix)
        return;
    ingest_stop(ix);
    mirror_free(ix->mirror);
    drop_state(ix);
    if (ix->lock_fd >= 0)
        close(ix->lock_fd);
    queues_done(ix);
    remote_cache_free(ix->remote_cache);
    ranks_free(ix->ranks);
    index_params_release(ix->index_params);
    free(ix->path);
    free(ix->rebuilt);
    pthread_mutex_destroy(&ix->lock);
    pthread_mutex_destroy(&ix->total_lock);
    pthread_cond_destroy(&ix->files_cond);
    pthread_rwlock_destroy(&ix->lines_lock);
    free(ix);
}

const char *index_rebuilt(const struct index *ix)
{
    return ix->rebuilt;
}

const char *index_path(const struct index *ix)
{
    return ix->path;
}

uint64_t index_bytes(const struct index *ix)
{
    return kv_bytes(ix->kv);
}

_Static_assert(KV_TABLES <= INDEX_TABLES_MAX, "raise INDEX_TABLES_MAX");

bool index_store_stat(const struct index *ix, struct index_store *ret)
{
    struct kv_stat s;
    if (!kv_stat(ix->kv, &s))
        return false;
    *ret = (struct index_store){.page_bytes = s.page_bytes,
                                .pages = s.pages,
                                .free_pages = s.free_pages,
                                .map_bytes = s.map_bytes,
                                .table_count = KV_TABLES,
                                .readers = s.readers,
                                .reader_slots = s.reader_slots,
                                .reader_slots_max = s.reader_slots_max};
    for (unsigned t = 0; t < KV_TABLES; t++) {
        ret->tables[t].name = kv_table_name(t);
        ret->tables[t].pages = s.table_pages[t];
    }
    return true;
}
