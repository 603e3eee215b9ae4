/* gzip.c - gzip members by ISA-L, libdeflate or zlib.
 *
 * The levels correspond to those of gzip: about the same size, in much less time. On traces, a
 * member for each MiB, one core (part of the text, MB/s): gzip 1: 12.3 %, 177; 6: 9.3 %, 49; 9:
 * 8.8 %, 27. ISA-L 1: 11.5 %, 970. libdeflate 1: 10.8 %, 400; 3: 10.3 %, 206; 5: 9.5 %, 163; 6:
 * 9.0 %, 118; 7: 8.6 %, 82; 8: 8.3 %, 28. Its levels 2 and 4 and ISA-L's 2 and 3 are worse than
 * the ones beside them.
 */
#include "rewrite/gzip.h"

#include "config.h"

#include <stdlib.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

struct gzip_encoder {
    int level;
#ifdef HAVE_LIBDEFLATE
    struct libdeflate_compressor *deflate; /* NULL if ISA-L or zlib compresses this level */
#endif
#ifdef HAVE_ISAL
    unsigned char isal[ISAL_DEF_LVL1_DEFAULT];
#endif
};

struct gzip_encoder *gzip_encoder_new(int level)
{
    struct gzip_encoder *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->level = level;
#ifdef HAVE_LIBDEFLATE
    static const int levels[GZIP_LEVEL_MAX + 1] = {1, 1, 1, 1, 3, 5, 6, 7, 8, 9};
#ifdef HAVE_ISAL
    if (level == 1)
        return p;
#endif
    if (!(p->deflate = libdeflate_alloc_compressor(levels[level]))) {
        free(p);
        return NULL;
    }
#endif
    return p;
}

void gzip_encoder_free(struct gzip_encoder *p)
{
#ifdef HAVE_LIBDEFLATE
    if (p && p->deflate)
        libdeflate_free_compressor(p->deflate);
#endif
    free(p);
}

/* Each returns the number of bytes written, 0 on failure. */
#ifdef HAVE_ISAL
static size_t encode_isal(struct gzip_encoder *p, struct text text, char *out, size_t size)
{
    struct isal_zstream z;
    isal_deflate_stateless_init(&z);
    z.hist_bits = 0; /* the whole window; isal_deflate_init does not set it */
    z.gzip_flag = IGZIP_GZIP;
    z.end_of_stream = 1;
    z.level = 1;
    z.level_buf = p->isal;
    z.level_buf_size = sizeof p->isal;
    z.next_in = (uint8_t *)(uintptr_t)text.ptr;
    z.avail_in = (uint32_t)text.len;
    z.next_out = (uint8_t *)out;
    z.avail_out = (uint32_t)size;
    return isal_deflate_stateless(&z) == COMP_OK ? z.total_out : 0;
}
#endif

static size_t encode_zlib(int level, struct text text, char *out, size_t size)
{
    z_stream z = {0};
    if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_in = (Bytef *)(uintptr_t)text.ptr;
    z.avail_in = (uInt)text.len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)size;
    int rc = deflate(&z, Z_FINISH);
    size_t made = rc == Z_STREAM_END ? z.total_out : 0;
    deflateEnd(&z);
    return made;
}

static size_t compress_member(struct gzip_encoder *p, struct text text, char *out, size_t size)
{
    size_t made = 0;
#ifdef HAVE_LIBDEFLATE
    if (p->deflate)
        made = libdeflate_gzip_compress(p->deflate, text.ptr, text.len, out, size);
#endif
#ifdef HAVE_ISAL
    if (!made && p->level == 1)
        made = encode_isal(p, text, out, size);
#endif
    return made ? made : encode_zlib(p->level, text, out, size);
}

/* Stored blocks are the worst case; zlib may make them of 16 KiB, with 5 bytes each. */
static size_t size_bound(size_t len)
{
    return len + len / 1024 + 256;
}

int gzip_encoder_member(struct gzip_encoder *p, struct text text, struct buf *out)
{
    size_t bound = size_bound(text.len);
    char *to = buf_reserve(out, bound);
    size_t made = to ? compress_member(p, text, to, bound) : 0;
    out->len += made;
    return made ? 0 : -ENOMEM;
}

int gunzip_member(struct text member, size_t len, struct buf *out)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)member.ptr, .avail_in = (uInt)member.len};
    char *to = buf_reserve(out, len + 1);
    if (!to || inflateInit2(&z, 15 + 16) != Z_OK)
        return -ENOMEM;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)len + 1;
    int rc = inflate(&z, Z_FINISH);
    bool whole = rc == Z_STREAM_END && z.total_out == len && !z.avail_in;
    out->len += whole ? len : 0;
    inflateEnd(&z);
    return whole ? 0 : -EIO;
}
