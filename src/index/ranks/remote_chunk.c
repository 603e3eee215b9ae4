/* remote_chunk.c - a cache of chunk values that other ranks have, and of checkpoints, which rank 0
 * has: fetched when they are opened, and kept as long as there is space.
 *
 * The hash of a key selects its slot in the cache. A new value replaces the one in its slot; beyond
 * the limit, slots are emptied in turn.
 */
#include "index/ranks/ranks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 14 };

struct remote_cache {
    struct ranks *ranks; /* borrowed */
    uint64_t bytes_max;
    pthread_mutex_t lock; /* guards the next members, and the references of all values */
    uint64_t bytes;       /* of the values in slots */
    uint32_t next;        /* next slot to be emptied */
    struct remote_chunk *slots[SLOTS];
};

struct remote_cache *remote_cache_new(struct ranks *r, uint64_t bytes)
{
    struct remote_cache *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->ranks = r;
    c->bytes_max = bytes;
    return c;
}

static void chunk_free(struct remote_chunk *c)
{
    buf_done(&c->value);
    free(c);
}

void remote_cache_free(struct remote_cache *c)
{
    for (unsigned i = 0; c && i < SLOTS; i++)
        if (c->slots[i])
            chunk_free(c->slots[i]);
    if (c)
        pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- slots; all under the lock --------------------------------------------------------------- */

static uint32_t slot_of(const struct kv_key *key)
{
    return (uint32_t)(text_hash((struct text){(const char *)key->data, key->len}) % SLOTS);
}

static void release_value(struct remote_chunk *c)
{
    if (--c->references == 0)
        chunk_free(c);
}

static void empty_slot(struct remote_cache *cache, uint32_t slot)
{
    struct remote_chunk *c = cache->slots[slot];

    if (!c)
        return;
    cache->slots[slot] = NULL;
    cache->bytes -= c->value.len;
    release_value(c);
}

static struct remote_chunk *find_value(struct remote_cache *cache, const struct kv_key *key)
{
    struct remote_chunk *c = cache->slots[slot_of(key)];
    bool same = c && c->key.len == key->len && memcmp(c->key.data, key->data, key->len) == 0;

    if (!same)
        return NULL;
    c->references++;
    return c;
}

static void fill_slot(struct remote_cache *cache, struct remote_chunk *c)
{
    uint32_t slot = slot_of(&c->key);

    if (c->value.len > cache->bytes_max / 8) /* it would replace too many others */
        return;
    empty_slot(cache, slot);
    while (cache->bytes + c->value.len > cache->bytes_max)
        empty_slot(cache, cache->next++ % SLOTS);
    cache->slots[slot] = c;
    cache->bytes += c->value.len;
    c->references++;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int fetch_value(struct ranks *r, unsigned rank, const struct kv_key *key,
                       struct remote_chunk **ret)
{
    struct remote_chunk *c = calloc(1, sizeof *c);
    struct buf request = {0};

    if (!c)
        return -ENOMEM;
    c->key = *key;
    c->references = 1;
    buf_putc(&request, (char)key->data[0]);
    rec_put_text(&request, (struct text){(const char *)key->data + 1, key->len - 1u});
    int rc = ranks_request(r, rank, &request, &c->value);
    buf_done(&request);
    if (rc)
        chunk_free(c);
    else
        *ret = c;
    return rc;
}

/* Opens the value that the rank returns for a request of this kind. */
static int far_open(struct remote_cache *cache, unsigned rank, enum rank_request kind,
                    const struct kv_key *key, struct remote_chunk **ret)
{
    struct kv_key own = {0};

    kv_key_u8(&own, kind);
    kv_key_bytes(&own, key->data, key->len);
    pthread_mutex_lock(&cache->lock);
    *ret = find_value(cache, &own);
    pthread_mutex_unlock(&cache->lock);
    if (*ret)
        return 0;
    int rc = fetch_value(cache->ranks, rank, &own, ret);
    if (rc)
        return rc;
    pthread_mutex_lock(&cache->lock);
    fill_slot(cache, *ret);
    pthread_mutex_unlock(&cache->lock);
    return 0;
}

int remote_chunk_open(struct remote_cache *cache, unsigned home, const struct kv_key *key,
                      struct remote_chunk **ret)
{
    unsigned rank = ranks_at(cache->ranks, home);

    return rank ? far_open(cache, rank, RANK_CHUNK, key, ret) : ERR_STORE;
}

void remote_chunk_release(struct remote_cache *cache, struct remote_chunk *c)
{
    pthread_mutex_lock(&cache->lock);
    release_value(c);
    pthread_mutex_unlock(&cache->lock);
}

/* The cached answer is valid from one checkpoint to the next, so lines of a chunk need the same few
 * of them. */
int remote_checkpoint(struct remote_cache *cache, uint32_t file, uint64_t from,
                      uint64_t text_offset, struct trace_checkpoint *ret)
{
    int rc = 0;

    for (uint64_t next = from; rc == 0 && next <= text_offset;) {
        struct kv_key key = kv_key_of_u32(file);
        struct remote_chunk *c;
        kv_key_u64(&key, next);
        rc = far_open(cache, 0, RANK_CHECKPOINT, &key, &c);
        if (rc)
            break;
        struct rec rec = rec_of((struct text){c->value.data, c->value.len});
        struct text found = rec_text(&rec), value = rec_text(&rec);
        next = rec_u(&rec);
        if (rec.bad)
            rc = ERR_CORRUPT;
        else if (next > text_offset)
            rc = checkpoint_decode(found, value, ret);
        if (rc == 0 && next > text_offset)
            rc = checkpoint_copy_window(ret, CHECKPOINT_FILE);
        remote_chunk_release(cache, c);
    }
    return rc == -ENOENT ? ERR_CORRUPT : rc;
}

/* ---- answers --------------------------------------------------------------------------------- */

static int read_key(struct rec *request, struct kv_key *ret)
{
    struct text name = rec_text(request);

    *ret = (struct kv_key){0};
    if (request->bad || name.len > sizeof ret->data)
        return -EINVAL;
    kv_key_bytes(ret, name.ptr, name.len);
    return 0;
}

int remote_chunk_answer(struct kv *kv, struct rec *request, struct buf *answer)
{
    struct kv_key key;
    struct kv_read *r;
    struct text value;
    int rc = read_key(request, &key);

    rc = rc ? rc : kv_read_begin(kv, &r);
    if (rc)
        return rc;
    rc = kv_get(r, KV_CHUNK, &key, &value);
    if (rc == 0)
        buf_text(answer, value);
    kv_read_end(r);
    return rc ? rc : answer->error;
}

/* Returns the text offset of the next checkpoint of the file; UINT64_MAX if there is none. */
static uint64_t next_checkpoint(struct kv_read *r, struct text found)
{
    struct kv_key key = {0};
    struct kv_cursor c;

    kv_key_bytes(&key, found.ptr, found.len);
    kv_begin(r, KV_CHECKPOINT, &key, &c);
    bool any = kv_next(&c);
    c.prefix.len = sizeof(uint32_t);
    any = any && kv_next(&c) && c.key.len > sizeof(uint32_t);
    uint64_t next = any ? kv_get_u64((const uint8_t *)c.key.ptr + sizeof(uint32_t)) : UINT64_MAX;
    kv_end(&c);
    return next;
}

int remote_checkpoint_answer(struct kv *kv, struct rec *request, struct buf *answer)
{
    struct text found, value;
    struct kv_key key;
    struct kv_read *r;
    int rc = read_key(request, &key);

    rc = rc ? rc : kv_read_begin(kv, &r);
    if (rc)
        return rc;
    rc = kv_find_below(r, KV_CHECKPOINT, &key, sizeof(uint32_t), &found, &value);
    if (rc == 0) {
        rec_put_text(answer, found);
        rec_put_text(answer, value);
        rec_put_u(answer, next_checkpoint(r, found));
    }
    kv_read_end(r);
    return rc ? rc : answer->error;
}
