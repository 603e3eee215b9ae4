/* text.c - slices of bytes that usually are UTF-8. */
#include "dftracerd/base.h"

#include <string.h>
#include <xxhash.h>

const uint64_t text_masks[17][2] = {
#define M(n) ((((uint64_t)1 << 8 * (n)) - 1))
    {0, 0},
    {M(1), 0},
    {M(2), 0},
    {M(3), 0},
    {M(4), 0},
    {M(5), 0},
    {M(6), 0},
    {M(7), 0},
    {UINT64_MAX, 0},
    {UINT64_MAX, M(1)},
    {UINT64_MAX, M(2)},
    {UINT64_MAX, M(3)},
    {UINT64_MAX, M(4)},
    {UINT64_MAX, M(5)},
    {UINT64_MAX, M(6)},
    {UINT64_MAX, M(7)},
    {UINT64_MAX, UINT64_MAX},
#undef M
};

struct text text_of(const char *cstr)
{
    return cstr ? (struct text){cstr, strlen(cstr)} : (struct text){NULL, 0};
}

bool text_eq(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static unsigned char lower_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : (unsigned char)c;
}

bool text_eq_nocase(struct text a, struct text b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (lower_letter(a.ptr[i]) != lower_letter(b.ptr[i]))
            return false;
    }
    return true;
}

int text_cmp(struct text a, struct text b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

int text_find(struct text t, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (text_eq(t, text_of(list[i])))
            return i;
    return -1;
}

bool text_starts(struct text t, struct text prefix)
{
    return t.len >= prefix.len && text_eq((struct text){t.ptr, prefix.len}, prefix);
}

bool text_ends(struct text t, struct text suffix)
{
    return t.len >= suffix.len &&
           text_eq((struct text){t.ptr + (t.len - suffix.len), suffix.len}, suffix);
}

struct text text_trim(struct text t)
{
    while (t.len > 0 && (unsigned char)t.ptr[0] <= ' ')
        t = (struct text){t.ptr + 1, t.len - 1};
    while (t.len > 0 && (unsigned char)t.ptr[t.len - 1] <= ' ')
        t.len--;
    return t;
}

bool text_split(struct text *rest, char separator, struct text *ret_part)
{
    if (!rest->ptr)
        return false;
    const char *end = rest->len ? memchr(rest->ptr, separator, rest->len) : NULL;
    if (!end) {
        *ret_part = *rest;
        *rest = (struct text){NULL, 0};
        return true;
    }
    size_t len = (size_t)(end - rest->ptr);
    *ret_part = (struct text){rest->ptr, len};
    *rest = (struct text){end + 1, rest->len - len - 1};
    return true;
}

uint64_t text_hash(struct text t)
{
    return XXH3_64bits(t.len ? t.ptr : "", t.len);
}

struct hash128 text_hash128(struct text t)
{
    XXH128_hash_t hash = XXH3_128bits(t.len ? t.ptr : "", t.len);

    return (struct hash128){.high = hash.high64, .low = hash.low64};
}

void hash128_hex(struct hash128 hash, char out[33])
{
    for (int i = 0; i < 16; i++) {
        out[i] = "0123456789abcdef"[hash.high >> (60 - 4 * i) & 15];
        out[16 + i] = "0123456789abcdef"[hash.low >> (60 - 4 * i) & 15];
    }
    out[32] = '\0';
}
