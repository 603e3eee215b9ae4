/* gen_out.c - text to a file: plain, or in gzip members. */
#include "gen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void write_all(struct out *o, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = write(o->fd, p, len);
        if (n < 0 && errno != EINTR)
            die("%s: %s", o->path, strerror(errno));
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

void out_open(struct out *o, const char *path, const struct options *opt)
{
    *o = (struct out){.path = path, .plain = opt->plain, .member_bytes = opt->member_bytes};
    bool to_stdout = strcmp(path, "-") == 0;
    o->fd = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (o->fd < 0)
        die("%s: %s", path, strerror(errno));
    o->text = malloc(OUT_BUFFER);
    o->packed = malloc(OUT_BUFFER);
    if (!o->text || !o->packed)
        die("no memory");
    if (!o->plain && deflateInit2(&o->z, opt->level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
        die("no memory");
}

/* Gives the buffered text to the file; `end` closes the gzip member. */
void out_flush(struct out *o, bool end)
{
    o->total += o->len;
    o->in_member += o->len;
    if (o->plain) {
        write_all(o, o->text, o->len);
    } else if (o->in_member || !end) {
        o->z.next_in = (unsigned char *)o->text;
        o->z.avail_in = (unsigned)o->len;
        do {
            o->z.next_out = o->packed;
            o->z.avail_out = OUT_BUFFER;
            deflate(&o->z, end ? Z_FINISH : Z_NO_FLUSH);
            write_all(o, o->packed, OUT_BUFFER - o->z.avail_out);
        } while (!o->z.avail_out);
        if (end) {
            deflateReset(&o->z);
            o->in_member = 0;
        }
    }
    o->len = 0;
}

void out_close(struct out *o)
{
    out_flush(o, true);
    if (!o->plain)
        deflateEnd(&o->z);
    if (o->fd != STDOUT_FILENO && close(o->fd))
        die("%s: %s", o->path, strerror(errno));
    free(o->text);
    free(o->packed);
}
