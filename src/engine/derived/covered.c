/* covered.c - the covered calls of files: those of one query, and a cache for all queries. */
#include "engine/derived/covered.h"
#include "engine/derived/derived.h"

#include <errno.h>
#include <stdlib.h>

/* ---- files ----------------------------------------------------------------------------------- */

int covered_new(struct query *q, uint32_t chunks, struct covered **ret)
{
    size_t bytes = sizeof(struct covered) + chunks * sizeof(size_t);
    int rc = budget_charge(q->budget, bytes);
    struct covered *c = rc == 0 ? calloc(1, sizeof(*c)) : NULL;
    size_t *first = c ? malloc(((size_t)chunks + 1) * sizeof(*first)) : NULL;

    if (!first) {
        free(c);
        if (rc == 0)
            budget_release(q->budget, bytes);
        return rc < 0 ? rc : -ENOMEM;
    }
    for (uint32_t i = 0; i < chunks; i++)
        first[i] = COVERED_NO_ROWS;
    atomic_init(&c->owners, 1);
    c->chunks = chunks;
    c->bytes = bytes;
    c->first = first;
    *ret = c;
    return 0;
}

const uint64_t *covered_bits(const struct covered *c, uint32_t chunk)
{
    return chunk < c->chunks && c->first[chunk] != COVERED_NO_ROWS ? c->bits + c->first[chunk]
                                                                   : NULL;
}

void covered_drop(struct covered *c)
{
    if (!c || atomic_fetch_sub(&c->owners, 1) > 1)
        return;
    free(c->first);
    free(c->bits);
    free(c);
}

/* ---- cache ----------------------------------------------------------------------------------- */

enum { SLOTS = 1024, LOCKS = 16 };
#define CACHE_BYTES (16u << 20)

struct covered_slot {
    uint32_t file;           /* index_file.id */
    uint64_t version;        /* of its chunks */
    struct covered *covered; /* the cache is one of its owners; NULL: the slot is free */
};
struct covered_cache {
    pthread_mutex_t lock;             /* for all below */
    struct covered_slot slots[SLOTS]; /* by file % SLOTS */
    unsigned next;                    /* the slot to evict next */
    size_t bytes;
};

struct covered_cache *covered_cache_new(void)
{
    struct covered_cache *c = calloc(1, sizeof(*c));

    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void clear_slot(struct covered_cache *c, struct covered_slot *slot)
{
    if (!slot->covered)
        return;
    c->bytes -= slot->covered->bytes;
    covered_drop(slot->covered);
    slot->covered = NULL;
}

void covered_cache_free(struct covered_cache *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        clear_slot(c, &c->slots[i]);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Chunks are added to a growing file, and its last one is replaced. */
static uint64_t version_of(const struct index_file *file)
{
    return text_hash(
        (struct text){(const char *)file->chunks, file->chunk_count * sizeof(*file->chunks)});
}

static struct covered *cache_get(struct covered_cache *c, const struct index_file *file)
{
    struct covered_slot *slot = &c->slots[file->id % SLOTS];
    struct covered *found = NULL;

    pthread_mutex_lock(&c->lock);
    if (slot->covered && slot->file == file->id && slot->version == version_of(file)) {
        found = slot->covered;
        atomic_fetch_add(&found->owners, 1);
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static void cache_put(struct covered_cache *c, const struct index_file *file, struct covered *found)
{
    struct covered_slot *slot = &c->slots[file->id % SLOTS];

    if (found->bytes > CACHE_BYTES)
        return;
    pthread_mutex_lock(&c->lock);
    clear_slot(c, slot);
    while (c->bytes + found->bytes > CACHE_BYTES)
        clear_slot(c, &c->slots[c->next++ % SLOTS]);
    *slot = (struct covered_slot){file->id, version_of(file), found};
    atomic_fetch_add(&found->owners, 1);
    c->bytes += found->bytes;
    pthread_mutex_unlock(&c->lock);
}

/* ---- queries --------------------------------------------------------------------------------- */

struct covered_files {
    pthread_mutex_t lock[LOCKS]; /* of file % LOCKS: one worker searches, the others wait */
    uint32_t count;
    struct covered *of[]; /* by position in the snapshot; NULL: not used yet */
};

void covered_files_free(struct covered_files *f, struct budget *budget)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->of[i])
            budget_release(budget, f->of[i]->bytes);
        covered_drop(f->of[i]);
    }
    for (unsigned i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&f->lock[i]);
    free(f);
}

/* Returns NULL without memory. */
static struct covered_files *covered_files_of(struct query *q)
{
    pthread_mutex_lock(&q->lock);
    struct covered_files *f = q->covered;
    if (!f) {
        uint32_t count = snapshot_file_count(q->snapshot);
        f = q->covered = calloc(1, sizeof(*f) + count * sizeof(*f->of));
        for (unsigned i = 0; f && i < LOCKS; i++)
            pthread_mutex_init(&f->lock[i], NULL);
        if (f)
            f->count = count;
    }
    pthread_mutex_unlock(&q->lock);
    return f;
}

static int covered_of_file(struct query *q, uint32_t position, struct covered **ret)
{
    const struct index_file *file = snapshot_file(q->snapshot, position);
    struct covered_cache *cache = q->env.covered;
    struct covered *found = cache ? cache_get(cache, file) : NULL;
    int rc = 0;

    if (found) {
        rc = budget_charge(q->budget, found->bytes);
        if (rc < 0)
            covered_drop(found);
    } else {
        rc = q->find_covered(q, position, COVERED_MAX, &found);
        if (rc == 0 && cache)
            cache_put(cache, file, found);
    }
    if (rc == 0)
        *ret = found;
    return rc;
}

/* ---- files that are divided over ranks ------------------------------------------------------- */

static bool uses_bytes(const struct query *q)
{
    for (const struct source *s = q->sources; s; s = s->next)
        if (s->info.kind == PATH_BYTES)
            return true;
    return false;
}

/* Returns true if some chunk of the file is on another rank than 0. */
static bool is_divided(const struct query *q, const struct index_file *file)
{
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (index_chunk_rank(q->env.index, file, i) != 0)
            return true;
    return false;
}

bool covered_by_others(const struct query *q, size_t position)
{
    const struct scan_place *p = &q->places[position];
    const struct index_file *file = snapshot_file(q->snapshot, p->file);
    struct chunk_view *view;

    if (!uses_bytes(q) || !is_divided(q, file) ||
        chunk_open(q->env.index, q->snapshot, file, p->chunk, &view) < 0)
        return false;
    bool ret = chunk_counts_items(view);
    chunk_close(view);
    return ret;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

int covered_rows(struct scan_worker *w, const uint64_t **ret)
{
    uint32_t file = w->chunk.place.file;
    int rc = 0;

    *ret = NULL;
    if (!chunk_counts_items(w->chunk.view))
        return 0;
    struct covered_files *files = covered_files_of(w->query);
    if (!files)
        return -ENOMEM;
    pthread_mutex_lock(&files->lock[file % LOCKS]);
    if (!files->of[file])
        rc = covered_of_file(w->query, file, &files->of[file]);
    if (rc == 0)
        *ret = covered_bits(files->of[file], w->chunk.place.chunk);
    pthread_mutex_unlock(&files->lock[file % LOCKS]);
    return rc;
}
