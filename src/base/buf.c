/* buf.c - a growable buffer. After the first failed allocation, later data is ignored. */
#include "dftracerd/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void buf_done(struct buf *b)
{
    if (!b)
        return;
    free(b->data);
    memset(b, 0, sizeof(*b));
}

void buf_clear(struct buf *b)
{
    b->len = 0;
}

static bool buf_grow(struct buf *b, size_t need)
{
    size_t cap = b->cap ? b->cap : FIRST_CAPACITY;

    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    char *data = realloc(b->data, cap);
    if (!data) {
        b->error = -ENOMEM;
        return false;
    }
    large_advise(data, cap);
    b->data = data;
    b->cap = cap;
    return true;
}

char *buf_reserve(struct buf *b, size_t more)
{
    if (b->error)
        return NULL;
    if (more > SIZE_MAX - b->len) {
        b->error = -ENOMEM;
        return NULL;
    }
    if ((b->len + more > b->cap || !b->data) && !buf_grow(b, b->len + more))
        return NULL;
    return b->data + b->len;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    char *to = buf_reserve(b, len);

    if (!to || len == 0)
        return;
    memcpy(to, data, len);
    b->len += len;
}

void buf_text(struct buf *b, struct text t)
{
    buf_append(b, t.ptr, t.len);
}

static bool is_unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void buf_percent(struct buf *b, struct text t)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (is_unreserved(t.ptr[i])) {
            buf_putc(b, t.ptr[i]);
            continue;
        }
        buf_putc(b, '%');
        buf_putc(b, digits[c >> 4]);
        buf_putc(b, digits[c & 15]);
    }
}

void buf_puts(struct buf *b, const char *cstr)
{
    buf_append(b, cstr, strlen(cstr));
}

void buf_putc(struct buf *b, char c)
{
    buf_append(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int need = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *to = need >= 0 ? buf_reserve(b, (size_t)need + 1) : NULL;
    if (!to)
        return;
    va_start(args, fmt);
    vsnprintf(to, (size_t)need + 1, fmt, args);
    va_end(args);
    b->len += (size_t)need;
}

char *buf_steal(struct buf *b, size_t *ret_len)
{
    buf_putc(b, '\0');
    if (b->error) {
        buf_done(b);
        return NULL;
    }
    char *data = b->data;
    if (ret_len)
        *ret_len = b->len - 1;
    memset(b, 0, sizeof(*b));
    return data;
}
