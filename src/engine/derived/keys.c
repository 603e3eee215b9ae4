/* keys.c - one 64-bit key for any value: the type in the top 4 bits, the value or an id in the
 * rest.
 *
 * Equal values have the same key: a double without a fraction becomes an integer, a time is in us
 * if possible, a text of one chunk is looked up among the global texts. Values that do not fit are
 * stored in a table of the query: 16 shards, the shard in the low bits of the id. Stored form: a
 * letter for the type, then the bytes of the value.
 */
#include "engine/derived/keys.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int keys_init(struct query *q)
{
    for (unsigned i = 0; i < KEY_SHARDS; i++)
        pthread_mutex_init(&q->keys[i].lock, NULL);
    for (unsigned i = 0; i < KEY_SHARDS; i++) {
        q->keys[i].charge.budget = q->budget;
        q->keys[i].texts = intern_new();
        if (!q->keys[i].texts)
            return -ENOMEM;
    }
    return 0;
}

void keys_done(struct query *q)
{
    for (unsigned i = 0; i < KEY_SHARDS; i++) {
        charge_done(&q->keys[i].charge);
        intern_free(q->keys[i].texts);
        pthread_mutex_destroy(&q->keys[i].lock);
    }
}

/* Stores the type and the bytes of a value, except for texts that are global. A text may become
 * global at any time, but keeps its key: the table is searched first, and under the lock, so that
 * all threads come to the same result. Texts that are global in the snapshot are never in it. */
static int store_bytes(struct query *q, struct text bytes, uint64_t *ret)
{
    unsigned number = (unsigned)(text_hash(bytes) >> 60) % KEY_SHARDS;
    struct key_shard *shard = &q->keys[number];
    const bool is_text = bytes.ptr[0] == 't';
    uint32_t global = INDEX_NO_TEXT;
    int rc = 0;

    pthread_mutex_lock(&shard->lock);
    int64_t id = is_text ? intern_find(shard->texts, bytes) : -ENOENT;
    if (id < 0 && is_text)
        global = index_text_find(q->env.index, (struct text){bytes.ptr + 1, bytes.len - 1});
    if (id < 0 && global == INDEX_NO_TEXT) {
        id = intern_add(shard->texts, bytes);
        rc = id < 0 ? 0 : charge_up_to(&shard->charge, intern_bytes(shard->texts));
    }
    pthread_mutex_unlock(&shard->lock);
    if (global != INDEX_NO_TEXT) {
        *ret = key_make(KEY_TEXT, global);
        return 0;
    }
    if (id < 0)
        return (int)id;
    *ret = key_make(KEY_STORED, id << 4 | number);
    return rc;
}

static int store_typed(struct query *q, char type, const void *data, size_t len, uint64_t *ret)
{
    char small[256], *bytes = len < sizeof(small) ? small : malloc(len + 1);

    if (!bytes)
        return -ENOMEM;
    bytes[0] = type;
    if (len)
        memcpy(bytes + 1, data, len);
    int rc = store_bytes(q, (struct text){bytes, len + 1}, ret);
    if (bytes != small)
        free(bytes);
    return rc;
}

int key_of_i64(struct query *q, int64_t value, uint64_t *ret)
{
    if (!key_fits(value))
        return store_typed(q, 'i', &value, sizeof(value), ret);
    *ret = key_make(KEY_INT, value);
    return 0;
}

int key_of_f64(struct query *q, double value, uint64_t *ret)
{
    if (value >= -0x1p63 && value < 0x1p63 && floor(value) == value)
        return key_of_i64(q, (int64_t)value, ret);
    return store_typed(q, 'd', &value, sizeof(value), ret);
}

int key_of_time(struct query *q, int64_t value, bool nano, uint64_t *ret)
{
    bool whole = !nano || value % 1000 == 0;

    if (nano && whole)
        value /= 1000;
    if (!key_fits(value))
        return store_typed(q, whole ? 'u' : 'n', &value, sizeof(value), ret);
    *ret = key_make(whole ? KEY_US : KEY_NS, value);
    return 0;
}

int key_of_bool(int64_t value, uint64_t *ret)
{
    *ret = key_make(KEY_BOOL, value != 0);
    return 0;
}

static int key_of_text(struct query *q, const struct column_entry *e, uint64_t *ret)
{
    if (e->text_id != INDEX_NO_TEXT) {
        *ret = key_make(KEY_TEXT, e->text_id);
        return 0;
    }
    return store_typed(q, 't', e->text.ptr, e->text.len, ret);
}

int key_of_entry(struct query *q, const struct column_entry *e, uint64_t *ret)
{
    switch (e->type) {
    case TRACE_INT:
        return key_of_i64(q, e->i, ret);
    case TRACE_DOUBLE:
        return key_of_f64(q, e->d, ret);
    case TRACE_BOOL:
        return key_of_bool(e->i, ret);
    case TRACE_TEXT:
        return key_of_text(q, e, ret);
    case TRACE_BIG:
        return store_typed(q, 'b', e->text.ptr, e->text.len, ret);
    case TRACE_JSON:
        return store_typed(q, 'j', e->text.ptr, e->text.len, ret);
    default:
        *ret = QUERY_KEY_NULL;
        return 0;
    }
}

static struct text stored_bytes(struct query *q, uint64_t key)
{
    struct key_shard *shard = &q->keys[key & (KEY_SHARDS - 1)];

    pthread_mutex_lock(&shard->lock);
    struct text bytes = intern_text(shard->texts, (uint32_t)(key_payload(key) >> 4));
    pthread_mutex_unlock(&shard->lock);
    return bytes;
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Writes the stored form; for other values 'k' and the key. */
void key_encode(struct query *q, uint64_t key, struct buf *out)
{
    struct text text = {NULL, 0};

    if (key_tag(key) == KEY_STORED)
        text = stored_bytes(q, key);
    else if (key_tag(key) == KEY_TEXT)
        text = index_text(q->env.index, (uint32_t)key_payload(key));
    else
        text = (struct text){(const char *)&key, sizeof(key)};
    rec_put_u(out, text.len + (key_tag(key) != KEY_STORED));
    if (key_tag(key) != KEY_STORED)
        buf_putc(out, key_tag(key) == KEY_TEXT ? 't' : 'k');
    buf_text(out, text);
}

int key_decode(struct query *q, struct rec *r, uint64_t *ret)
{
    struct text bytes = rec_text(r);

    *ret = QUERY_KEY_NULL;
    r->bad |= bytes.len == 0;
    if (r->bad)
        return 0;
    struct text rest = {bytes.ptr + 1, bytes.len - 1};
    switch (bytes.ptr[0]) {
    case 't':
    case 'b':
    case 'j':
        return store_bytes(q, bytes, ret);
    case 'd':
    case 'i':
    case 'u':
    case 'n':
        r->bad |= rest.len != sizeof(int64_t);
        return r->bad ? 0 : store_bytes(q, bytes, ret);
    case 'k':
        r->bad |= rest.len != sizeof(*ret);
        if (!r->bad)
            memcpy(ret, rest.ptr, sizeof(*ret));
        r->bad |= !key_is_value(*ret);
        return 0;
    default:
        r->bad = true;
        return 0;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* All marks are in one shard, so that only one of two threads is the first. */
bool keys_mark(struct query *q, unsigned kind, uint32_t hash)
{
    struct key_shard *shard = &q->keys[0];
    char mark[32];
    int len = snprintf(mark, sizeof(mark), "c%u %u", kind, hash);

    pthread_mutex_lock(&shard->lock);
    uint32_t before = intern_count(shard->texts);
    (void)intern_add(shard->texts, (struct text){mark, (size_t)len});
    bool first = intern_count(shard->texts) > before;
    pthread_mutex_unlock(&shard->lock);
    return first;
}

uint64_t query_key_text_id(uint32_t id)
{
    return id == INDEX_NO_TEXT ? QUERY_KEY_NULL : key_make(KEY_TEXT, id);
}

static void stored_value(struct query *q, uint64_t key, struct value *ret)
{
    struct text bytes = stored_bytes(q, key), rest = {bytes.ptr + 1, bytes.len - 1};
    int64_t i;

    switch (bytes.ptr[0]) {
    case 't':
    case 'b':
    case 'j':
        ret->type = bytes.ptr[0] == 't' ? VALUE_TEXT : VALUE_JSON;
        ret->text = rest;
        return;
    case 'd':
        ret->type = VALUE_DOUBLE;
        memcpy(&ret->d, rest.ptr, sizeof(ret->d));
        return;
    }
    memcpy(&i, rest.ptr, sizeof(i));
    ret->type = bytes.ptr[0] == 'i' ? VALUE_INT : VALUE_TIME;
    ret->i = i;
    ret->wide = bytes.ptr[0] == 'u' ? (__int128)i * 1000 : i;
}

void query_key_value(struct query *q, uint64_t key, struct value *ret)
{
    int64_t v = key_payload(key);

    memset(ret, 0, sizeof(*ret));
    switch (key_tag(key)) {
    case KEY_INT:
        ret->type = VALUE_INT;
        ret->i = v;
        break;
    case KEY_US:
    case KEY_NS:
        ret->type = VALUE_TIME;
        ret->wide = key_tag(key) == KEY_US ? (__int128)v * 1000 : v;
        break;
    case KEY_TEXT:
        ret->type = VALUE_TEXT;
        ret->text = index_text(q->env.index, (uint32_t)v);
        break;
    case KEY_BOOL:
        ret->type = VALUE_BOOL;
        ret->i = v;
        break;
    case KEY_STORED:
        stored_value(q, key, ret);
        break;
    default:
        break;
    }
}
