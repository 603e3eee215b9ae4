/* json_text.c - texts of JSON. */
#include "dftracerd/format.h"

#include <string.h>

/* True when all bytes stand for themselves in a JSON string: 0x20 to 0x7E, but '"' and '\\'. Eight
 * at a time: a byte below 0x20, equal to one of the two, or above 0x7E sets the high bit of its
 * place. */
static bool is_plain(const char *p, size_t len)
{
    const uint64_t ones = 0x0101010101010101ull, high = 0x8080808080808080ull;
    uint64_t bad = 0, w;
    size_t i = 0;

    for (; i + 8 <= len; i += 8) {
        memcpy(&w, p + i, 8);
        uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
        bad |= (w - ones * 0x20) | (w + ones) | (quote - ones) | (slash - ones) | w;
        if (bad & high)
            return false;
    }
    for (; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        bad |= c < 0x20 || c >= 0x7F || c == '"' || c == '\\' ? high : 0;
    }
    return !(bad & high);
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
