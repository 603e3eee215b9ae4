/* chunk_open.c - the chunks of a file that are stored: opening them, and whether a file can have a
 * value at all. */
#include "column/chunk/bloom.h"
#include "index/catalog/index.h"
#include "index/catalog/view.h"
#include "index/ranks/ranks.h"
#include "index/store/texts.h"

#include <errno.h>

static struct text text_by_id(void *arg, uint32_t id)
{
    const struct index *ix = arg;

    return texts_get(ix->texts, id);
}

_Static_assert(CHUNK_HEAD_BYTES == KV_CHUNK_HEAD, "what kv.h checks of a chunk");

static void on_corrupt_part(void *file)
{
    index_file_corrupt(view_of_file(file)->ix, file);
}

static int open_here(struct index *ix, const struct kv_key *key, const struct chunk_texts *texts,
                     struct chunk_view **ret)
{
    struct kv_read *r;
    struct text value;
    int rc = kv_read_begin(ix->kv, &r);

    if (rc)
        return rc;
    rc = kv_get(r, KV_CHUNK, key, &value);
    rc = rc ? rc : chunk_view_new(value.ptr, value.len, texts, ret);
    if (rc)
        kv_read_end(r);
    else
        chunk_view_set_owner(*ret, r);
    return rc;
}

static uint32_t translate_id(const void *ids, uint32_t id)
{
    return text_ids_get(ids, id);
}

/* The rank that has the chunk decodes it. */
static int open_remote(struct index *ix, unsigned home, const struct kv_key *key,
                       const struct chunk_texts *here, struct chunk_view **ret)
{
    struct chunk_texts texts = *here;
    struct remote_chunk *c;
    int rc = ix->remote_cache ? remote_chunk_open(ix->remote_cache, home, key, &c) : ERR_STORE;

    if (rc)
        return rc;
    texts.here = translate_id;
    texts.ids = ranks_ids(ix->ranks, ranks_at(ix->ranks, home));
    rc = chunk_view_new(c->value.data, c->value.len, &texts, ret);
    if (rc == 0)
        chunk_view_set_owner(*ret, c);
    else
        remote_chunk_release(ix->remote_cache, c);
    return rc;
}

int chunk_open(struct index *ix, const struct snapshot *s, const struct index_file *file,
               uint32_t i, struct chunk_view **ret)
{
    struct chunk_texts texts = {
        .text = text_by_id, .arg = ix, .corrupt = on_corrupt_part, .file = (void *)(uintptr_t)file};

    (void)s;
    if (i >= file->chunk_count)
        return -EINVAL;
    if (!file->chunks[i].home) /* that of another rank may be fetched again */
        texts.valid = view_chunk_flag(view_of_file(file), i);
    struct kv_key key = kv_key_of_chunk(file->id, file->chunks[i].number, file->chunks[i].version);
    int rc = file->chunks[i].home ? open_remote(ix, file->chunks[i].home, &key, &texts, ret)
                                  : open_here(ix, &key, &texts, ret);
    /* A missing chunk may have been deleted, unless a snapshot is held: scan_run.c reports that
     * case. */
    if (rc == ERR_CORRUPT)
        index_file_corrupt(ix, file);
    return rc == -ENOENT ? ERR_CORRUPT : rc;
}

void chunk_close(struct chunk_view *v)
{
    if (!v)
        return;
    const struct chunk_texts *texts = chunk_view_texts(v);
    struct index *ix = texts->arg;
    bool far = texts->here != NULL;
    void *owner = chunk_view_owner(v);
    chunk_view_free(v);
    if (far)
        remote_chunk_release(ix->remote_cache, owner);
    else
        kv_read_end(owner);
}

bool index_file_may_have(struct index *ix, const struct index_file *file, struct text path,
                         uint64_t hash)
{
    const struct view *v = view_of_file(file);
    const struct index_params *t = v->index_params;
    int i = t ? index_params_find(t, path) : -1;
    const struct view_filter *f = i >= 0 && v->filters ? &v->filters[i] : NULL;

    (void)ix;
    return !f || f->len == 0 || bloom_may_have(f->bits, f->len, hash);
}

bool index_is_dimension(const struct index *ix, struct text path)
{
    return index_params_find(ix->index_params, path) >= 0;
}
