/* query_text.c - writes values in the query language, and joins queries. */
#include "http/request/query_text.h"

#include <stdio.h>

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

int query_text_check(struct text query, const char *param, struct err *err)
{
    struct buf ignored = {0};
    int rc = text_trim(query).len ? query_normalise(query, err, &ignored) : 0;
    if (rc == ERR_QUERY_SYNTAX)
        snprintf(err->param, sizeof err->param, "%s", param);
    buf_done(&ignored);
    return rc;
}

int query_text_and(struct arena *arena, struct text a, struct text b, struct text *ret)
{
    struct buf joined = {0};
    bool has_a = text_trim(a).len, has_b = text_trim(b).len;
    if (!has_a || !has_b) {
        *ret = has_a ? a : has_b ? b : (struct text){0};
        return 0;
    }
    buf_printf(&joined, "(%.*s) and (%.*s)", (int)a.len, a.ptr, (int)b.len, b.ptr);
    const char *copy =
        joined.error ? NULL : arena_strdup(arena, (struct text){joined.data, joined.len});
    *ret = (struct text){copy, joined.len};
    buf_done(&joined);
    return copy ? 0 : -ENOMEM;
}
