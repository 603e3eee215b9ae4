/* json_text.c - JSON strings. */
#include "dftracerd/format.h"

#include <string.h>

/* Tests eight bytes at once: a byte that a JSON string must escape, below 0x20, above 0x7E, '"' or
 * '\\', sets its high bit. */
static inline uint64_t special_bytes(const char *p)
{
    const uint64_t ones = 0x0101010101010101ull, high = 0x8080808080808080ull;
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
    return ((w - ones * 0x20) | (w + ones) | (quote - ones) | (slash - ones) | w) & high;
}

/* True if no byte must be escaped. */
static bool is_plain(const char *p, size_t len)
{
    uint64_t bad = 0;

    if (len < 8) {
        for (size_t i = 0; i < len; i++) {
            unsigned char c = (unsigned char)p[i];
            bad |= c < 0x20 || c >= 0x7F || c == '"' || c == '\\';
        }
        return !bad;
    }
    for (size_t i = 0; i + 8 <= len && !bad; i += 8)
        bad = special_bytes(p + i);
    return !(bad | special_bytes(p + len - 8));
}

void jw_escape(struct buf *out, struct text t)
{
    if (!is_plain(t.ptr, t.len)) {
        buf_json_text(out, t);
        return;
    }
    char *to = buf_reserve(out, t.len + 2);
    if (!to)
        return;
    to[0] = '"';
    if (t.len)
        memcpy(to + 1, t.ptr, t.len);
    to[t.len + 1] = '"';
    out->len += t.len + 2;
}
