/* generate_out.c - converts text to bytes: plain, or in gzip members. Text is compressed in pieces
 * of the same size, whatever the caller requests: the stored blocks of zlib depend on them. */
#include "tools/gen_fake_trace/generate.h"

#include <stdlib.h>

int out_open(struct out *o, const struct options *options)
{
    *o = (struct out){.plain = options->plain, .member_bytes = options->member_bytes};
    o->text = malloc(OUT_BUFFER);
    if (!o->text)
        return -ENOMEM;
    if (o->plain)
        return 0;
    int rc = deflateInit2(&o->z, (int)options->level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    return rc == Z_OK ? 0 : -ENOMEM;
}

static void compress_text(struct out *o, int flush)
{
    o->z.next_in = (unsigned char *)o->text;
    o->z.avail_in = (unsigned)o->len;
    do {
        char *out = buf_reserve(o->sink, OUT_BUFFER);
        if (!out)
            return;
        o->z.next_out = (unsigned char *)out;
        o->z.avail_out = OUT_BUFFER;
        deflate(&o->z, flush);
        o->sink->len += OUT_BUFFER - o->z.avail_out;
    } while (!o->z.avail_out);
}

void out_flush(struct out *o, bool end)
{
    o->total += o->len;
    o->in_gzip_member += o->len;
    if (o->plain) {
        buf_append(o->sink, o->text, o->len);
    } else if (o->in_gzip_member || !end) {
        compress_text(o, end ? Z_FINISH : Z_NO_FLUSH);
        if (end) {
            deflateReset(&o->z);
            o->in_gzip_member = 0;
        }
    }
    o->len = 0;
}

void out_close(struct out *o)
{
    deflateEnd(&o->z); /* does nothing if deflateInit was not called or failed */
    free(o->text);
}
