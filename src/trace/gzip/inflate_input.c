/* inflate_input.c - reads a file forward through a buffer.
 *
 * Some bytes before the position are kept: ISA-L loads 8 bytes ahead, and the position is then
 * moved back by the unused ones. The file is read with pread, not mapped: a trace that is truncated
 * meanwhile must not raise SIGBUS.
 */
#include "trace/gzip/inflate.h"
#include "trace/gzip/source.h"

#include "dftracerd/failpoint.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_KEEP 16

int input_init(struct input *in, int fd)
{
    memset(in, 0, sizeof(*in));
    in->fd = fd;
    in->buf = malloc(INPUT_SIZE);
    return in->buf ? 0 : -ENOMEM;
}

void input_done(struct input *in)
{
    free(in->buf);
    in->buf = NULL;
}

void input_seek(struct input *in, uint64_t offset)
{
    if (offset >= in->base && offset <= in->base + in->len) {
        in->pos = (size_t)(offset - in->base);
        return;
    }
    in->base = offset;
    in->len = in->pos = 0;
}

ssize_t input_pread(struct input *in, void *out, size_t len, uint64_t offset)
{
    ssize_t n;
    do {
        if (in->source)
            n = in->source->read(in->source, out, len, offset);
        else
            n = failpoint("trace.read") ? -1 : pread(in->fd, out, len, (off_t)offset);
        if (n < 0 && !in->source)
            n = -errno;
    } while (n == -EINTR);
    if (n < 0)
        in->error = (int)-n;
    return n;
}

size_t input_fill(struct input *in, size_t want)
{
    while (in->len - in->pos < want && !in->error) {
        if (INPUT_SIZE - in->len < INPUT_SIZE / 2) {
            size_t drop = in->pos > INPUT_KEEP ? in->pos - INPUT_KEEP : 0;
            memmove(in->buf, in->buf + drop, in->len - drop);
            in->base += drop;
            in->len -= drop;
            in->pos -= drop;
        }
        ssize_t n = input_pread(in, in->buf + in->len, INPUT_SIZE - in->len, in->base + in->len);
        if (n > 0)
            in->len += (size_t)n;
        else if (n == 0)
            break;
    }
    return in->len - in->pos;
}
