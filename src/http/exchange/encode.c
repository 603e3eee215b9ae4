/* encode.c - streaming gzip and zstd. */
#include "http/exchange/encode.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define FLUSH_NS (150 * 1000000ll)
#define ROOM (64u << 10)

struct encoder {
    enum coding coding;
    z_stream z;
    ZSTD_CStream *zstd;
    int64_t flushed_ns;
};

int encoder_new(enum coding coding, int level, struct encoder **ret)
{
    struct encoder *e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->coding = coding;
    e->flushed_ns = clock_mono_ns();
    if (coding == CODING_ZSTD && !(e->zstd = ZSTD_createCStream()))
        return free(e), -ENOMEM;
    if (coding == CODING_ZSTD)
        ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, level);
    if (coding == CODING_GZIP &&
        deflateInit2(&e->z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return free(e), -ENOMEM;
    *ret = e;
    return 0;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    if (e->coding == CODING_GZIP)
        deflateEnd(&e->z);
    ZSTD_freeCStream(e->zstd);
    free(e);
}

static int put_gzip(struct encoder *e, struct text in, int flush, struct buf *out)
{
    e->z.next_in = (Bytef *)(uintptr_t)in.ptr;
    e->z.avail_in = (uInt)in.len;
    do {
        char *room = buf_reserve(out, ROOM);
        if (!room)
            return -ENOMEM;
        e->z.next_out = (Bytef *)room;
        e->z.avail_out = ROOM;
        deflate(&e->z, flush);
        out->len += ROOM - e->z.avail_out;
    } while (e->z.avail_out == 0);
    return 0;
}

static int put_zstd(struct encoder *e, struct text in, ZSTD_EndDirective end, struct buf *out)
{
    ZSTD_inBuffer src = {in.ptr, in.len, 0};
    size_t left;
    do {
        char *room = buf_reserve(out, ROOM);
        if (!room)
            return -ENOMEM;
        ZSTD_outBuffer dst = {room, ROOM, 0};
        left = ZSTD_compressStream2(e->zstd, &dst, &src, end);
        if (ZSTD_isError(left))
            return -ENOMEM;
        out->len += dst.pos;
    } while (src.pos < src.size || (end != ZSTD_e_continue && left));
    return 0;
}

int encoder_put(struct encoder *e, struct text in, enum encode_end end, struct buf *out)
{
    static const int gzip_flush[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    static const ZSTD_EndDirective zstd_end[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    int64_t now = clock_mono_ns();
    if (end == ENCODE_MORE && now - e->flushed_ns > FLUSH_NS)
        end = ENCODE_FLUSH;
    if (end != ENCODE_MORE)
        e->flushed_ns = now;
    return e->coding == CODING_ZSTD ? put_zstd(e, in, zstd_end[end], out)
                                    : put_gzip(e, in, gzip_flush[end], out);
}
