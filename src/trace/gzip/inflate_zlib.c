/* inflate_zlib.c - decodes block bodies with zlib. */
#include "trace/gzip/inflate.h"
#include <errno.h>

int inflate_zlib_begin(z_stream *z, struct input *in, unsigned bit, const uint8_t *window,
                       uint32_t window_len)
{
    if (inflateReset(z) != Z_OK)
        return -ENOMEM;
    if (bit) {
        if (inflatePrime(z, 8 - (int)bit, in->buf[in->pos] >> bit) != Z_OK)
            return -ENOMEM;
        in->pos++;
    }
    return window_len && inflateSetDictionary(z, window, window_len) != Z_OK ? -ENOMEM : 0;
}

enum inflate_status inflate_zlib_run(z_stream *z, struct input *in, uint8_t *out, size_t len,
                                     size_t *ret_done, unsigned *ret_unused)
{
    z->next_in = in->buf + in->pos;
    z->avail_in = (uInt)(in->len - in->pos);
    z->next_out = out;
    z->avail_out = len < (1u << 30) ? (uInt)len : 1u << 30;
    int rc = inflate(z, Z_BLOCK);
    in->pos = in->len - z->avail_in;
    *ret_done = (size_t)(z->next_out - out);
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return INFLATE_FAILED;
    if (z->data_type & 128) {
        *ret_unused = (unsigned)z->data_type & 7;
        return INFLATE_END;
    }
    return z->avail_out ? INFLATE_NEEDS_INPUT : INFLATE_OUTPUT_FULL;
}
