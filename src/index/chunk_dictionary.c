/* chunk_dictionary.c - the distinct texts of one column of one chunk, found again at a few nanoseconds a value.
 *
 * What the data look like: names and categories are short and repeat at once or in small cycles; hashes have 4 to 32
 * characters; file names 100. So the last text is compared first, and texts up to 16 bytes are hashed and compared as
 * two words. */
#include "column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A text of at most 16 bytes as two words: overlapping, but different texts of one length give different words. */
static inline void short_words(const char *p, uint32_t len, uint64_t *a, uint64_t *b)
{
    *a = *b = 0;
    if (len >= 8) {
        memcpy(a, p, 8);
        memcpy(b, p + len - 8, 8);
    } else if (len >= 4) {
        memcpy(a, p, 4);
        memcpy(b, p + len - 4, 4);
    } else if (len > 0) {
        *a = (uint8_t)p[0] | (uint64_t)(uint8_t)p[len / 2] << 8 | (uint64_t)(uint8_t)p[len - 1] << 16;
    }
}

static inline bool equal_bytes(const char *x, const char *y, uint32_t len)
{
    uint64_t a, b, c, d;

    if (len > 16)
        return memcmp(x, y, len) == 0;
    short_words(x, len, &a, &b);
    short_words(y, len, &c, &d);
    return a == c && b == d;
}

static inline uint32_t quick_hash(const char *p, uint32_t len, uint8_t type)
{
    uint64_t a, b;

    if (len > 16) {
        a = text_hash((struct text){p, len});
        b = type;
    } else {
        short_words(p, len, &a, &b);
        a ^= (uint64_t)len << 56 ^ (uint64_t)type << 48;
    }
    unsigned __int128 m = (unsigned __int128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
    return (uint32_t)(m >> 64) ^ (uint32_t)m ^ (uint32_t)(m >> 32);
}

static bool grow(struct dictionary *d)
{
    uint32_t count = d->slot_count ? d->slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof(*slots));
    struct dictionary_entry *entries = realloc(d->entries, count / 2 * sizeof(*entries));

    if (entries != NULL) {
        d->entries = entries;
        d->cap = count / 2;
    }
    if (slots == NULL || entries == NULL) {
        d->cap = d->slot_count / 2;
        free(slots);
        return false;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t s = entries[i].hash & (count - 1);
        while (slots[s] != 0)
            s = (s + 1) & (count - 1);
        slots[s] = i + 1;
    }
    free(d->slots);
    d->slots = slots;
    d->slot_count = count;
    return true;
}

static bool keep_bytes(struct dictionary *d, const char *ptr, uint32_t len)
{
    if (d->bytes_cap - d->bytes_len < len) {
        size_t cap = d->bytes_cap * 2 + len + 256;
        char *bytes = realloc(d->bytes, cap);
        if (bytes == NULL)
            return false;
        d->bytes = bytes;
        d->bytes_cap = cap;
    }
    if (len > 0)
        memcpy(d->bytes + d->bytes_len, ptr, len);
    return true;
}

static int64_t add_entry(struct dictionary *d, uint32_t hash, uint8_t type, const char *ptr, uint32_t len)
{
    if ((d->count == d->cap && !grow(d)) || !keep_bytes(d, ptr, len))
        return -ENOMEM;
    uint32_t s = hash & (d->slot_count - 1);
    while (d->slots[s] != 0)
        s = (s + 1) & (d->slot_count - 1);
    d->slots[s] = d->count + 1;
    d->entries[d->count] = (struct dictionary_entry){hash, len, d->bytes_len, type, 0};
    d->bytes_len += len;
    d->last = d->count;
    return d->count++;
}

int64_t dictionary_code(struct dictionary *d, uint8_t type, const char *ptr, uint32_t len, bool *ret_new)
{
    const struct dictionary_entry *e;

    *ret_new = false;
    if (d->count > 0) {
        e = &d->entries[d->last];
        if (e->len == len && e->type == type && equal_bytes(d->bytes + e->at, ptr, len))
            return d->last;
    }
    uint32_t hash = quick_hash(ptr, len, type);
    for (uint32_t s = hash; d->slot_count > 0; s++) {
        uint32_t code = d->slots[s & (d->slot_count - 1)];
        if (code == 0)
            break;
        e = &d->entries[code - 1];
        if (e->hash == hash && e->len == len && e->type == type && equal_bytes(d->bytes + e->at, ptr, len))
            return d->last = code - 1;
    }
    *ret_new = true;
    return add_entry(d, hash, type, ptr, len);
}

/* Keeps the memory for the next chunk, unless it became large. */
void dictionary_clear(struct dictionary *d)
{
    if (d->slot_count > 1u << 14 || d->bytes_cap > 1u << 20) {
        dictionary_done(d);
        return;
    }
    if (d->count > 0)
        memset(d->slots, 0, d->slot_count * sizeof(*d->slots));
    d->count = d->last = 0;
    d->bytes_len = 0;
}

void dictionary_done(struct dictionary *d)
{
    free(d->slots);
    free(d->entries);
    free(d->bytes);
    memset(d, 0, sizeof(*d));
}

size_t dictionary_bytes(const struct dictionary *d)
{
    return d->slot_count * sizeof(*d->slots) + d->cap * sizeof(*d->entries) + d->bytes_cap;
}

/* ---- hashes of values --------------------------------------------------------------------------------------- */

const double column_pow10[COLUMN_SCALES_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

uint64_t column_hash_i64(int64_t v)
{
    char out[32];
    return text_hash((struct text){out, num_format_i64(v, out)});
}

uint64_t column_hash_f64(double v)
{
    char out[64];
    return text_hash((struct text){out, num_format_double(v, out)});
}

uint64_t column_hash_bool(bool v)
{
    return text_hash(v ? TEXT("true") : TEXT("false"));
}
