/* checkpoint_window.c - compresses the 32 KiB of text before a checkpoint (to about 6 KB).
 *
 * libdeflate takes half the time of zlib. ISA-L is not used: its output for the same window may
 * differ between two runs.
 */
#include "trace/gzip/checkpoint.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>

struct window_compressor {
    struct libdeflate_compressor *library;
    uint8_t out[INFLATE_WINDOW + 1024];
};

static struct window_compressor *window_compressor_new(void)
{
    struct window_compressor *p = malloc(sizeof(*p));
    if (p && !(p->library = libdeflate_alloc_compressor(1))) {
        free(p);
        return NULL;
    }
    return p;
}

void window_compressor_free(struct window_compressor *p)
{
    if (p)
        libdeflate_free_compressor(p->library);
    free(p);
}

static size_t compress_window(struct window_compressor *p, const uint8_t *window, uint32_t len)
{
    return libdeflate_deflate_compress(p->library, window, len, p->out, sizeof(p->out));
}
#else

struct window_compressor {
    uint8_t out[INFLATE_WINDOW + 1024];
};

static struct window_compressor *window_compressor_new(void)
{
    return malloc(sizeof(struct window_compressor));
}

void window_compressor_free(struct window_compressor *p)
{
    free(p);
}

static size_t compress_window(struct window_compressor *p, const uint8_t *window, uint32_t len)
{
    z_stream z = {0};
    if (deflateInit2(&z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_in = (Bytef *)window;
    z.avail_in = len;
    z.next_out = p->out;
    z.avail_out = sizeof(p->out);
    int rc = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return rc == Z_STREAM_END ? (size_t)z.total_out : 0;
}
#endif

int window_compress(struct window_compressor **compressor, const uint8_t *window, uint32_t len,
                    uint8_t **ret)
{
    if (!*compressor && !(*compressor = window_compressor_new()))
        return -ENOMEM;
    size_t compressed = compress_window(*compressor, window, len);
    uint8_t *copy = compressed ? malloc(compressed) : NULL;
    if (!copy)
        return -ENOMEM;
    memcpy(copy, (*compressor)->out, compressed);
    *ret = copy;
    return (int)compressed;
}
