/* scan_text.c - decodes and repairs strings; the memory of decoded strings. */
#include <errno.h>
#include <stdlib.h>

#include "trace/scan/scan.h"

enum { SCRATCH_FIRST = 64 << 10, SCRATCH_KEEP = 1 << 20, SCRATCH_PAD = 64 };

/* ---- scratch: blocks that do not move; each begins with a pointer to the previous one, and the
 * last one is kept over events ---- */

char *scan_scratch(struct trace_scanner *s, size_t size)
{
    struct scan_scratch *a = &s->scratch;

    size += SCRATCH_PAD;
    if (a->cap - a->used < size) {
        size_t cap = a->cap * 2 > SCRATCH_FIRST ? a->cap * 2 : SCRATCH_FIRST;
        cap = cap > SCRATCH_KEEP ? SCRATCH_KEEP : cap;
        cap = cap > size + sizeof(void *) ? cap : size + sizeof(void *);
        char *block = malloc(cap);
        if (!block) {
            s->error = -ENOMEM;
            return NULL;
        }
        memcpy(block, &a->data, sizeof(a->data));
        a->data = block;
        a->cap = cap;
        a->used = sizeof(void *);
    }
    a->used += size;
    return a->data + (a->used - size);
}

static char *scratch_before(char *block)
{
    char *before;

    memcpy(&before, block, sizeof(before));
    return before;
}

void scan_scratch_reset(struct trace_scanner *s)
{
    struct scan_scratch *a = &s->scratch;
    char *keep = a->cap <= SCRATCH_KEEP ? a->data : NULL;
    char *next;

    if (!a->data)
        return;
    for (char *block = keep ? scratch_before(keep) : a->data; block; block = next) {
        next = scratch_before(block);
        free(block);
    }
    if (keep)
        memcpy(keep, &(char *){NULL}, sizeof(char *));
    a->data = keep;
    a->cap = keep ? a->cap : 0;
    a->used = keep ? sizeof(char *) : 0;
}

/* ---- repairs --------------------------------------------------------------------------------- */

void scan_patch_add(struct scan_patch *patch, const char *from, const char *to, const char *text,
                    size_t len)
{
    patch->count++;
    if (!patch->out)
        return;
    buf_append(patch->out, patch->copied, (size_t)(from - patch->copied));
    buf_append(patch->out, text, len);
    patch->copied = to;
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct decoder {
    const char *end;
    struct scan_patch *patch;
    bool *repaired;
    char out[8]; /* the decoded bytes of one escape or character */
    size_t out_len;
};

static void repair_bytes(struct decoder *d, const char *from, const char *to, const char *text,
                         size_t len)
{
    *d->repaired = true;
    if (d->patch)
        scan_patch_add(d->patch, from, to, text, len);
}

static void set_decoded(struct decoder *d, const char *text, size_t len)
{
    memcpy(d->out, text, len);
    d->out_len = len;
}

/* Returns the value of the four digits of \uXXXX at p, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t value = 0;

    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        char c = p[i], letter = c | 0x20;

        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = value * 16 + (letter - 'a') + 10;
        else
            return -1;
    }
    return value;
}

static size_t decode_unicode(struct decoder *d, const char *p, int32_t c)
{
    int32_t low;

    if (c < 0xD800 || c > 0xDFFF) {
        d->out_len = (size_t)(text_put_utf8(d->out, (uint32_t)c) - d->out);
        return 6;
    }
    low = c < 0xDC00 ? hex4(p + 6, d->end) : -1;
    if (low >= 0xDC00 && low <= 0xDFFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        d->out_len = (size_t)(text_put_utf8(d->out, (uint32_t)c) - d->out);
        return 12;
    }
    repair_bytes(d, p, p + 6, "\\ufffd", 6);
    set_decoded(d, "\xEF\xBF\xBD", 3);
    return 6;
}

static size_t decode_escape(struct decoder *d, const char *p)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = p + 1 < d->end && p[1] ? strchr(names, p[1]) : NULL;
    int32_t c;

    if (name) {
        set_decoded(d, values + (name - names), 1);
        return 2;
    }
    c = hex4(p, d->end);
    if (c >= 0)
        return decode_unicode(d, p, c);
    repair_bytes(d, p, p + 1, "\\\\", 2);
    set_decoded(d, "\\", 1);
    return 1;
}

static size_t decode_control(struct decoder *d, const char *p)
{
    static const char hex[] = "0123456789abcdef";
    unsigned char c = (unsigned char)*p;
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    if (c == '\n' || c == '\r' || c == '\t')
        repair_bytes(d, p, p + 1, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", 2);
    else
        repair_bytes(d, p, p + 1, text, 6);
    set_decoded(d, p, 1);
    return 1;
}

static size_t decode_high(struct decoder *d, const char *p)
{
    int32_t code;
    size_t n = text_utf8_next((struct text){p, (size_t)(d->end - p)}, &code);

    if (code >= 0) {
        set_decoded(d, p, n);
    } else {
        repair_bytes(d, p, p + n, "\xEF\xBF\xBD", 3);
        set_decoded(d, "\xEF\xBF\xBD", 3);
    }
    return n;
}

size_t scan_decode(const char *p, const char *end, char *out, struct scan_patch *patch,
                   bool *ret_repaired)
{
    struct decoder d = {end, patch, ret_repaired, {0}, 0};
    size_t len = 0;

    while (p < end) {
        unsigned char c = (unsigned char)*p;

        if (c >= 0x20 && c < 0x80 && c != '\\') {
            if (out)
                out[len] = *p;
            len++;
            p++;
            continue;
        }
        p += c == '\\'  ? decode_escape(&d, p)
             : c < 0x20 ? decode_control(&d, p)
                        : decode_high(&d, p);
        if (out)
            memcpy(out + len, d.out, d.out_len);
        len += d.out_len;
    }
    return len;
}

const char *scan_string_slow(struct trace_scanner *s, const char *start, struct text *ret)
{
    const char *p = start;
    bool escaped = false, repaired = false;
    char *out;

    for (; *p != '"'; p++) {
        if ((unsigned char)*p < 0x20)
            return NULL;
        if (*p == '\\') {
            escaped = true;
            p++;
            if ((unsigned char)*p < 0x20)
                return NULL;
        }
    }
    ret->ptr = start;
    ret->len = (size_t)(p - start);
    if (!escaped)
        return text_is_utf8(*ret) ? p + 1 : NULL;
    out = scan_scratch(s, ret->len); /* decoding never makes strictly valid text longer */
    if (!out)
        return NULL;
    scan_decode(start, p, NULL, NULL, &repaired);
    if (repaired)
        return NULL;
    ret->len = scan_decode(start, p, out, NULL, &repaired);
    ret->ptr = out;
    return p + 1;
}
