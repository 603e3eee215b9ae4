/* kv_batch.c - tables, keys, and writes that wait for their commit. No LMDB here. */
#include "index/store/kv_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const table_names[KV_TABLES] = {"meta",  "file",    "path", "span", "checkpoint",
                                                   "chunk", "summary", "text", "name", "garbage"};

const char *kv_table_name(enum kv_table t)
{
    return table_names[t];
}

/* ---- keys ------------------------------------------------------------------------------------ */

void kv_key_bytes(struct kv_key *k, const void *data, size_t len)
{
    if (k->len + len > sizeof k->data)
        len = sizeof k->data - k->len;
    memcpy(k->data + k->len, data, len);
    k->len += len;
}

void kv_key_u8(struct kv_key *k, uint8_t v)
{
    kv_key_bytes(k, &v, 1);
}

void kv_key_u32(struct kv_key *k, uint32_t v)
{
    uint32_t be = __builtin_bswap32(v);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    be = v;
#endif
    kv_key_bytes(k, &be, 4);
}

void kv_key_u64(struct kv_key *k, uint64_t v)
{
    kv_key_u32(k, v >> 32);
    kv_key_u32(k, (uint32_t)v);
}

struct kv_key kv_key_of_name(const char *name)
{
    struct kv_key k = {0};

    kv_key_bytes(&k, name, strlen(name));
    return k;
}

struct kv_key kv_key_of_u32(uint32_t a)
{
    struct kv_key k = {0};

    kv_key_u32(&k, a);
    return k;
}

struct kv_key kv_key_of_chunk(uint32_t file, uint32_t chunk, uint32_t version)
{
    struct kv_key k = kv_key_of_u32(file);

    kv_key_u32(&k, chunk);
    kv_key_u32(&k, version);
    return k;
}

uint32_t kv_get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

uint64_t kv_get_u64(const uint8_t *p)
{
    return (uint64_t)kv_get_u32(p) << 32 | kv_get_u32(p + 4);
}

/* ---- batches --------------------------------------------------------------------------------- */

struct kv_batch *kv_batch_new(void)
{
    return calloc(1, sizeof(struct kv_batch));
}

void kv_batch_clear(struct kv_batch *b)
{
    for (size_t i = 0; i < b->ops.count; i++)
        free(b->ops.at[i].data);
    b->ops.count = b->bytes = 0;
    b->error = 0;
}

void kv_batch_free(struct kv_batch *b)
{
    if (!b)
        return;
    kv_batch_clear(b);
    vec_done(&b->ops);
    free(b);
}

size_t kv_batch_bytes(const struct kv_batch *b)
{
    return b->bytes;
}

bool kv_batch_is_empty(const struct kv_batch *b)
{
    return b->ops.count == 0 && b->error == 0;
}

void kv_batch_fail(struct kv_batch *b, int error)
{
    b->error = b->error ? b->error : error;
}

int kv_batch_error(const struct kv_batch *b)
{
    return b->error;
}

/* Returns about the bytes that an operation takes in the pages of LMDB. */
static size_t op_bytes(const struct kv_key *key, size_t value_len)
{
    return value_len + key->len + 32;
}

static void batch_add(struct kv_batch *b, enum op_kind kind, enum kv_table t,
                      const struct kv_key *key, void *data, size_t len)
{
    if (b->error == 0)
        b->error = vec_push(&b->ops, {kind, t, *key, data, len});
    if (b->error)
        free(data);
    else
        b->bytes += op_bytes(key, len);
}

void kv_put(struct kv_batch *b, enum kv_table t, const struct kv_key *key, const void *data,
            size_t len)
{
    void *copy = malloc(len ? len : 1);

    if (!copy) {
        kv_batch_fail(b, -ENOMEM);
        return;
    }
    if (len)
        memcpy(copy, data, len);
    batch_add(b, OP_PUT, t, key, copy, len);
}

/* Values may wait long for their commit, so the unused end of the buffer is freed. */
void kv_put_buf(struct kv_batch *b, enum kv_table t, const struct kv_key *key, struct buf *value)
{
    if (value->error) {
        kv_batch_fail(b, value->error);
        buf_done(value);
        return;
    }
    char *data = value->len < value->cap && value->len ? realloc(value->data, value->len) : NULL;
    batch_add(b, OP_PUT, t, key, data ? data : value->data, value->len);
    *value = (struct buf){0};
}

void kv_delete(struct kv_batch *b, enum kv_table t, const struct kv_key *key)
{
    batch_add(b, OP_DELETE, t, key, NULL, 0);
}

void kv_delete_prefix(struct kv_batch *b, enum kv_table t, const struct kv_key *prefix)
{
    batch_add(b, OP_DELETE_PREFIX, t, prefix, NULL, 0);
}

void kv_batch_forget(struct kv_batch *b, enum kv_table t, size_t skip, const struct kv_key *prefix)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->ops.count; i++) {
        struct op *op = &b->ops.at[i];
        if (op->table == t && op->key.len >= skip + prefix->len &&
            memcmp(op->key.data + skip, prefix->data, prefix->len) == 0) {
            b->bytes -= op_bytes(&op->key, op->len);
            free(op->data);
        } else {
            b->ops.at[kept++] = *op;
        }
    }
    b->ops.count = kept;
}
