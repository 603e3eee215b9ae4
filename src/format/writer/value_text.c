/* value_text.c - one value in the formats of answers. */
#include "format/writer/value_text.h"

#include <math.h>
#include <string.h>

bool value_is_number(const struct value *v)
{
    switch (v->type) {
    case VALUE_INT:
    case VALUE_UINT:
    case VALUE_WIDE:
    case VALUE_TIME:
        return true;
    case VALUE_DOUBLE:
        return isfinite(v->d);
    default:
        return false;
    }
}

size_t value_format_number(const struct value *v, char *out)
{
    switch (v->type) {
    case VALUE_INT:
        return num_format_i64(v->i, out);
    case VALUE_UINT:
        return num_format_u64(v->u, out);
    case VALUE_WIDE:
        return num_format_i128(v->wide, out);
    case VALUE_TIME: /* nanoseconds, written as microseconds */
        return v->wide == (int64_t)v->wide ? num_format_milli((int64_t)v->wide, out)
                                           : num_format_milli128(v->wide, out);
    case VALUE_DOUBLE:
        return isfinite(v->d) ? num_format_double(v->d, out) : 0;
    default:
        return 0;
    }
}

static void put_number(struct buf *out, const struct value *v)
{
    char *to = buf_reserve(out, VALUE_NUMBER_BYTES);

    if (to)
        out->len += value_format_number(v, to);
}

void value_json(struct buf *out, const struct value *v)
{
    if (value_is_number(v))
        put_number(out, v);
    else if (v->type == VALUE_TEXT)
        jw_escape(out, v->text);
    else if (v->type == VALUE_JSON)
        buf_text(out, v->text);
    else if (v->type == VALUE_BOOL)
        buf_puts(out, v->i ? "true" : "false");
    else
        buf_append(out, "null", 4);
}

void csv_text(struct buf *out, struct text t)
{
    bool quote = t.len == 0; /* an empty text is quoted, because null is written as nothing */

    for (size_t i = 0; i < t.len && !quote; i++)
        quote = t.ptr[i] == ',' || t.ptr[i] == '"' || t.ptr[i] == '\n' || t.ptr[i] == '\r';
    if (!quote) {
        buf_text(out, t);
        return;
    }
    buf_putc(out, '"');
    for (const char *p = t.ptr, *end = t.ptr + t.len; p < end;) {
        const char *next = memchr(p, '"', (size_t)(end - p));
        size_t len = next ? (size_t)(next - p) + 1 : (size_t)(end - p);
        buf_append(out, p, len);
        if (next)
            buf_putc(out, '"');
        p += len;
    }
    buf_putc(out, '"');
}

void value_csv(struct buf *out, const struct value *v)
{
    if (value_is_number(v))
        put_number(out, v);
    else if (v->type == VALUE_TEXT || v->type == VALUE_JSON)
        csv_text(out, v->text);
    else if (v->type == VALUE_BOOL)
        buf_puts(out, v->i ? "true" : "false");
}

static void plain_text(struct buf *out, struct text t)
{
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '\t')
            buf_puts(out, "\\t");
        else if (c < 0x20 || c == 0x7F)
            buf_printf(out, "\\u%04x", c);
        else
            buf_putc(out, (char)c);
    }
}

void value_plain(struct buf *out, const struct value *v)
{
    if (value_is_number(v))
        put_number(out, v);
    else if (v->type == VALUE_TEXT || v->type == VALUE_JSON)
        plain_text(out, v->text);
    else if (v->type == VALUE_BOOL)
        buf_puts(out, v->i ? "true" : "false");
    else
        buf_putc(out, '-');
}

size_t text_width(struct text t)
{
    size_t n = 0;

    for (size_t i = 0; i < t.len; i++)
        n += ((unsigned char)t.ptr[i] & 0xC0) != 0x80;
    return n;
}
