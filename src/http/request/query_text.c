/* query_text.c - writes values in the query language. */
#include "http/request/query_text.h"

void query_text_string(struct buf *out, struct text t)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (c == '"' || c == '\\')
            buf_putc(out, '\\');
        if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

void query_text_equals(struct buf *out, const char *path, const struct value *v)
{
    struct jw j;

    buf_puts(out, path);
    if (v->type == VALUE_NULL) {
        buf_puts(out, " IS NULL");
        return;
    }
    buf_puts(out, " == ");
    if (v->type == VALUE_TEXT || v->type == VALUE_JSON) {
        query_text_string(out, v->text);
        return;
    }
    jw_init(&j, out, false);
    jw_value(&j, v);
}
