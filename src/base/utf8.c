/* utf8.c - checks, decodes and encodes UTF-8 (RFC 3629: no surrogates, no overlong forms). */
#include "dftracerd/base.h"

#include <string.h>

/* For each first byte of a sequence: its length, and the range of the second byte, which excludes
 * overlong forms, surrogates and codes beyond U+10FFFF. */
static const struct lead {
    unsigned char first, last, length, second_min, second_max;
} leads[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

static const struct lead *find_lead(unsigned char byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    }
    return NULL;
}

size_t text_utf8_next(struct text t, int32_t *ret_code)
{
    const unsigned char *p = (const unsigned char *)t.ptr;

    if (p[0] < 0x80) {
        *ret_code = p[0];
        return 1;
    }
    const struct lead *lead = find_lead(p[0]);
    *ret_code = -1;
    if (!lead)
        return 1;
    int32_t code = p[0] & (0x7F >> lead->length);
    for (size_t i = 1; i < lead->length; i++) {
        unsigned char low = i == 1 ? lead->second_min : 0x80;
        unsigned char high = i == 1 ? lead->second_max : 0xBF;
        if (i >= t.len || p[i] < low || p[i] > high)
            return i;
        code = (code << 6) | (p[i] & 0x3F);
    }
    *ret_code = code;
    return lead->length;
}

char *text_put_utf8(char *out, uint32_t code)
{
    static const unsigned char leads_of_length[] = {0, 0, 0xC0, 0xE0, 0xF0};
    unsigned length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    *out++ = (char)(leads_of_length[length] | code >> 6 * (length - 1));
    for (unsigned left = length - 1; left-- > 0;)
        *out++ = (char)(0x80 | (code >> 6 * left & 0x3F));
    return out;
}

/* Returns the length of the ASCII prefix, which is the whole of most texts. */
static size_t ascii_prefix(struct text t)
{
    size_t i = 0;

    for (; i + 8 <= t.len; i += 8) {
        uint64_t word;
        memcpy(&word, t.ptr + i, 8);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (i < t.len && (unsigned char)t.ptr[i] < 0x80)
        i++;
    return i;
}

bool text_is_utf8(struct text t)
{
    for (;;) {
        int32_t code;
        size_t plain = ascii_prefix(t);

        if (plain == t.len)
            return true;
        t = (struct text){t.ptr + plain, t.len - plain};
        size_t len = text_utf8_next(t, &code);
        if (code < 0)
            return false;
        t = (struct text){t.ptr + len, t.len - len};
    }
}

/* Writes the escape sequence of a byte below 0x20, '"' or '\\'. */
static void put_escape(struct buf *b, unsigned char c)
{
    static const char letters[] = "btn?fr"; /* 0x08 ... 0x0D; 0x0B has none */

    if (c == '"' || c == '\\')
        buf_append(b, (char[]){'\\', (char)c}, 2);
    else if (c >= 0x08 && c <= 0x0D && c != 0x0B)
        buf_append(b, (char[]){'\\', letters[c - 0x08]}, 2);
    else
        buf_printf(b, "\\u%04x", c);
}

/* Returns the length of the prefix that needs no escape in a JSON string. */
static size_t plain_prefix(struct text t)
{
    size_t i = 0;

    while (i < t.len) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\')
            break;
        i++;
    }
    return i;
}

void buf_json_text(struct buf *b, struct text t)
{
    buf_putc(b, '"');
    while (t.len > 0) {
        int32_t code;
        size_t len = plain_prefix(t);

        if (len > 0) {
            buf_append(b, t.ptr, len);
        } else {
            len = text_utf8_next(t, &code);
            if (code < 0)
                buf_puts(b, "\xEF\xBF\xBD");
            else if (code < 0x80 && code != 0x7F)
                put_escape(b, (unsigned char)code);
            else
                buf_append(b, t.ptr, len);
        }
        t = (struct text){t.ptr + len, t.len - len};
    }
    buf_putc(b, '"');
}
