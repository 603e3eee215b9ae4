/* recbuf.c - see recbuf.h */
#include "base/recbuf.h"

#include <errno.h>
#include <string.h>

void rec_put_u(struct buf *b, uint64_t v)
{
    char *to = buf_reserve(b, 10);

    if (!to)
        return;
    for (; v >= 0x80; v >>= 7)
        *to++ = (char)(v | 0x80);
    *to++ = (char)v;
    b->len = (size_t)(to - b->data);
}

void rec_put_i(struct buf *b, int64_t v)
{
    rec_put_u(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void rec_put_i128(struct buf *b, __int128 v)
{
    rec_put_u(b, (uint64_t)v);
    rec_put_i(b, (int64_t)(v >> 64));
}

void rec_put_text(struct buf *b, struct text t)
{
    rec_put_u(b, t.len);
    if (t.len)
        buf_append(b, t.ptr, t.len);
}

void rec_put_buf(struct buf *b, const struct buf *bytes)
{
    rec_put_text(b, (struct text){bytes->data, bytes->len});
    b->error = b->error ? b->error : bytes->error;
}

struct rec rec_of(struct text t)
{
    const uint8_t *p = (const uint8_t *)t.ptr;

    return (struct rec){.ptr = p, .end = t.len ? p + t.len : p};
}

int rec_error(const struct rec *r)
{
    return r->no_memory ? -ENOMEM : r->bad ? ERR_CORRUPT : 0;
}

/* Concatenates the low 7 bits of the 8 bytes. */
static uint64_t join_bytes(uint64_t v)
{
    v = (v & 0x7f007f007f007f00) >> 1 | (v & 0x007f007f007f007f);
    v = (v & 0x3fff00003fff0000) >> 2 | (v & 0x00003fff00003fff);
    return (v & 0x0fffffff00000000) >> 4 | (v & 0x0fffffff);
}

uint64_t rec_u_long(struct rec *r)
{
    const uint8_t *p = r->ptr, *end = r->bad ? p : r->end;
    uint64_t v = 0;
    unsigned shift = 0;

    if (end - p >= 8) {
        uint64_t last;

        memcpy(&v, p, 8);
        last = ~v & 0x8080808080808080;
        if (last) {
            r->ptr = p + (__builtin_ctzll(last) / 8 + 1);
            return join_bytes(v & (last ^ (last - 1)));
        }
        v = join_bytes(v);
        p += 8;
        shift = 56;
    }
    for (; p != end && shift < 64; shift += 7) {
        uint8_t byte = *p++;

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            r->ptr = p;
            return v;
        }
    }
    r->bad = true;
    return 0;
}

int64_t rec_i(struct rec *r)
{
    uint64_t v = rec_u(r);

    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

__int128 rec_i128(struct rec *r)
{
    uint64_t low = rec_u(r);
    int64_t high = rec_i(r);

    return (__int128)((unsigned __int128)(uint64_t)high << 64 | low);
}

struct text rec_text(struct rec *r)
{
    uint64_t len = rec_u(r);
    struct text t = {NULL, 0};

    if (r->bad || len > (uint64_t)(r->end - r->ptr)) {
        r->bad = true;
        return t;
    }
    if (len) {
        t = (struct text){(const char *)r->ptr, len};
        r->ptr += len;
    }
    return t;
}

bool rec_array(struct rec *r, void *ret, size_t bytes)
{
    if (r->bad || bytes > (size_t)(r->end - r->ptr)) {
        r->bad = true;
        return false;
    }
    if (bytes)
        memcpy(ret, r->ptr, bytes);
    r->ptr += bytes;
    return true;
}

uint64_t rec_choice(struct rec *r, uint64_t max)
{
    uint64_t v = rec_u(r);

    if (v <= max)
        return v;
    r->bad = true;
    return 0;
}

uint64_t rec_count(struct rec *r, size_t min_bytes)
{
    uint64_t n = rec_u(r);

    if (r->bad || n > (uint64_t)(r->end - r->ptr) / (min_bytes ? min_bytes : 1)) {
        r->bad = true;
        return 0;
    }
    return n;
}
