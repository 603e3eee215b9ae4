/* text_source.c - a part of a text that is read like a file. */
#include "trace/gzip/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A part up to this size is read whole the first time: its readers move back and forth, which is
 * expensive in the text below. */
#define KEPT_MAX (2u << 20)

struct text_source {
    struct trace_source source;
    struct trace_text *text;
    uint64_t offset, size;
    char *kept; /* the whole part, or NULL */
    void (*done)(void *arg);
    void *arg;
};

static void source_close(struct trace_source *source)
{
    struct text_source *s = (struct text_source *)source;
    trace_text_close(s->text);
    if (s->done)
        s->done(s->arg);
    free(s->kept);
    free(s);
}

static ssize_t source_read(struct trace_source *source, void *out, size_t len, uint64_t offset)
{
    struct text_source *s = (struct text_source *)source;
    int rc = 0;
    if (offset >= s->size)
        return 0;
    if (len > s->size - offset)
        len = (size_t)(s->size - offset);
    if (!s->kept && s->size <= KEPT_MAX) {
        char *all = malloc((size_t)s->size);
        rc = all ? trace_text_read(s->text, s->offset, all, (size_t)s->size) : -ENOMEM;
        if (rc < 0)
            free(all);
        else
            s->kept = all;
    }
    if (rc == 0 && s->kept)
        memcpy(out, s->kept + offset, len);
    else if (rc == 0)
        rc = trace_text_read(s->text, s->offset + offset, out, len);
    return rc == ERR_CORRUPT ? -EIO : rc < 0 ? rc : (ssize_t)len;
}

int trace_source_new(struct trace_text *text, uint64_t offset, uint64_t size,
                     void (*done)(void *arg), void *arg, struct trace_source **ret)
{
    struct text_source *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct text_source){{source_read, source_close}, text, offset, size, NULL, done, arg};
    *ret = &s->source;
    return 0;
}

void trace_source_close(struct trace_source *s)
{
    if (s)
        s->close(s);
}

struct trace_text *trace_source_release(struct trace_source *s)
{
    struct trace_text *text = s ? ((struct text_source *)s)->text : NULL;
    if (s)
        ((struct text_source *)s)->text = NULL;
    trace_source_close(s);
    return text;
}
