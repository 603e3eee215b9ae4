/* member.c - parses gzip headers and trailers, and distinguishes members from bytes that look like
 * one. */
#include "trace/gzip/member.h"
#include <errno.h>
#include <string.h>

enum { FLAG_HCRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAG_RESERVED = 0xe0 };

/* Returns the offset after a NUL-terminated field, or len + 1 if there is no NUL. */
static size_t skip_text(const uint8_t *data, size_t len, size_t at)
{
    const uint8_t *nul = at < len ? memchr(data + at, 0, len - at) : NULL;
    return nul ? (size_t)(nul - data) + 1 : len + 1;
}

static size_t skip_fields(const uint8_t *data, size_t len, unsigned flags)
{
    size_t at = 10;
    if (flags & FLAG_EXTRA)
        at = at + 2 > len ? len + 1 : at + 2 + data[at] + ((size_t)data[at + 1] << 8);
    if (flags & FLAG_NAME)
        at = skip_text(data, len, at);
    if (flags & FLAG_COMMENT)
        at = skip_text(data, len, at);
    return at;
}

int member_parse_header(const uint8_t *data, size_t len)
{
    static const uint8_t magic[3] = {0x1f, 0x8b, 8};
    if (memcmp(data, magic, len < 3 ? len : 3) != 0 || (len > 3 && (data[3] & FLAG_RESERVED)))
        return ERR_CORRUPT;
    if (len < 10)
        return -EAGAIN;
    unsigned flags = data[3];
    size_t at = skip_fields(data, len, flags), end = at + (flags & FLAG_HCRC ? 2 : 0);
    if (end > len)
        return len < MEMBER_HEADER_MAX ? -EAGAIN : ERR_CORRUPT;
    if (flags & FLAG_HCRC) {
        unsigned crc = data[at] | (unsigned)data[at + 1] << 8;
        if ((inflate_crc(0, data, at) & 0xffff) != crc)
            return ERR_CORRUPT;
    }
    return (int)end;
}

static uint32_t little_endian(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool member_trailer_fits(const uint8_t *trailer, uint32_t crc, uint64_t text_len)
{
    return little_endian(trailer) == crc && little_endian(trailer + 4) == (uint32_t)text_len;
}

/* A member is accepted if this much text inflates, or if it is whole and its checksum is right.
 * Some garbage is accepted; it is found corrupt later, like any member. The number of empty
 * blocks is limited so that a probe ends soon. */
#define PROBE_TEXT 512
#define PROBE_BLOCKS 16

static int probe_blocks(struct inflate *f, uint8_t out[PROBE_TEXT])
{
    uint64_t text = 0;
    uint32_t crc = 0;
    for (int i = 0; i < PROBE_BLOCKS; i++) {
        int rc = inflate_block_begin(f);
        if (rc < 0)
            return rc == ERR_CORRUPT ? 0 : rc == -EAGAIN && text ? 1 : rc;
        size_t done;
        enum inflate_status st = inflate_block_read(f, out, PROBE_TEXT - text, &done);
        crc = inflate_crc(crc, out, done);
        text += done;
        if (st == INFLATE_FAILED)
            return 0;
        if (st == INFLATE_END && f->block.last) {
            input_seek(f->in, (f->bit + 7) >> 3);
            if (input_fill(f->in, MEMBER_TRAILER) < MEMBER_TRAILER)
                return text ? 1 : -EAGAIN;
            return member_trailer_fits(f->in->buf + f->in->pos, crc, text);
        }
        if (text == PROBE_TEXT)
            return 1;
        if (st == INFLATE_NEEDS_INPUT)
            return text ? 1 : -EAGAIN;
    }
    return 0;
}

int member_probe(struct inflate *f, uint64_t offset)
{
    input_seek(f->in, offset);
    size_t have = input_fill(f->in, 10);
    int len = member_parse_header(f->in->buf + f->in->pos, have);
    if (len == -EAGAIN && have >= 10) {
        have = input_fill(f->in, MEMBER_HEADER_MAX);
        len = member_parse_header(f->in->buf + f->in->pos, have);
    }
    if (len < 0)
        return len == -EAGAIN ? len : 0;
    bool only_zlib = f->only_zlib;
    f->only_zlib = true;
    inflate_start(f, (offset + (uint64_t)len) * 8, NULL, 0);
    uint8_t out[PROBE_TEXT];
    int rc = probe_blocks(f, out);
    inflate_pause(f); /* its history may be in `out` */
    f->only_zlib = only_zlib;
    return rc;
}

int member_find_magic(struct input *in)
{
    while (input_fill(in, 4) > 0) {
        const uint8_t *start = in->buf + in->pos, *end = in->buf + in->len;
        const uint8_t *p = memchr(start, 0x1f, (size_t)(end - start));
        in->pos = (size_t)((p ? p : end) - in->buf);
        if (!p)
            continue;
        if (input_fill(in, 4) < 4)
            return 0;
        p = in->buf + in->pos;
        if (p[1] == 0x8b && p[2] == 8 && (p[3] & 0xe0) == 0)
            return 1;
        in->pos++;
    }
    return 0;
}
