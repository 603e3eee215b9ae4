/* text_at.c - reads the bytes at a text offset, from the nearest checkpoint before it. */
#include "trace/gzip/reader.h"
#include "trace/gzip/source.h"
#include <errno.h>
#include <stdlib.h>

/* Up to this distance, reading forward is cheaper than starting at a checkpoint. */
#define READ_FORWARD_MAX (128u << 10)

struct trace_text {
    int fd;
    struct trace_source *source; /* replaces the descriptor; owned. NULL: none */
    enum trace_format format;
    trace_find_checkpoint *find;
    void *arg;
    struct trace_reader *reader; /* NULL for a plain file */
    bool usable;                 /* the reader can continue from its position */
    char skipped[65536];
};

static int open_text(int fd, struct trace_source *source, enum trace_format format,
                     enum trace_engine engine, trace_find_checkpoint *find, void *arg,
                     struct trace_text **ret)
{
    struct trace_reader_options options = {engine, 0, source, format == TRACE_GZIP};
    struct trace_text *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->fd = fd;
    t->format = format;
    t->find = find;
    t->arg = arg;
    int rc = format == TRACE_GZIP ? trace_reader_open(fd, &options, NULL, NULL, &t->reader) : 0;
    if (rc < 0) {
        free(t);
        return rc;
    }
    t->usable = !t->reader || t->reader->format == format; /* the file may have been replaced */
    t->source = source;
    *ret = t;
    return 0;
}

int trace_text_open(int fd, enum trace_format format, enum trace_engine engine,
                    trace_find_checkpoint *find, void *arg, struct trace_text **ret)
{
    return open_text(fd, NULL, format, engine, find, arg, ret);
}

int trace_text_open_source(struct trace_source *source, enum trace_format format,
                           enum trace_engine engine, trace_find_checkpoint *find, void *arg,
                           struct trace_text **ret)
{
    return open_text(-1, source, format, engine, find, arg, ret);
}

void trace_text_close(struct trace_text *t)
{
    if (!t)
        return;
    trace_reader_close(t->reader);
    if (t->source)
        t->source->close(t->source);
    free(t);
}

static int read_plain(struct trace_text *t, uint64_t offset, char *out, size_t len)
{
    struct input in = {.fd = t->fd, .source = t->source};
    while (len) {
        ssize_t n = input_pread(&in, out, len, offset);
        if (n <= 0)
            return n == 0 || n == -EIO ? ERR_CORRUPT : (int)n;
        out += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* Reads the next bytes of the reader. out NULL: skips them. */
static int read_forward(struct trace_text *t, char *out, size_t len)
{
    while (len) {
        size_t step = out || len < sizeof(t->skipped) ? len : sizeof(t->skipped);
        ssize_t n = trace_reader_read(t->reader, out ? out : t->skipped, step);
        if (n <= 0)
            return n == 0 ? ERR_CORRUPT : (int)n;
        len -= (size_t)n;
        out = out ? out + n : NULL;
    }
    return 0;
}

static int seek_text(struct trace_text *t, uint64_t offset)
{
    struct trace_checkpoint at = {.kind = TRACE_AT_MEMBER};
    if (t->usable && t->reader->text == offset)
        return 0;
    int rc = t->find ? t->find(t->arg, offset, &at) : 0;
    if (rc < 0)
        return rc;
    if (at.text_offset > offset)
        return -EINVAL;
    uint64_t here = t->reader->text;
    if (!t->usable || here > offset || at.text_offset > here + READ_FORWARD_MAX)
        rc = reader_seek(t->reader, &at);
    return rc < 0 ? rc : read_forward(t, NULL, (size_t)(offset - t->reader->text));
}

int trace_text_read(struct trace_text *t, uint64_t offset, char *out, size_t len)
{
    if (t->format == TRACE_PLAIN)
        return read_plain(t, offset, out, len);
    int rc = seek_text(t, offset);
    if (rc == 0)
        rc = read_forward(t, out, len);
    t->usable = rc == 0;
    return rc;
}
