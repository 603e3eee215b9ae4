/* front.c - classifies a file whose name says gzip, but which does not begin as a gzip file:
 * text, or gzip with a corrupt beginning (docs/READING.md, rule 1). */
#include "trace/gzip/reader.h"

#include <errno.h>

#define FRONT_BYTES 4096
#define ZEROS_MAX (16u << 20) /* no text begins with more */
#define TAR_HEADER 512

/* A tenth of compressed bytes are control characters; text has hardly any. */
static bool is_text(const char *p, size_t len)
{
    size_t controls = 0;
    for (size_t i = 0; i < len; i++)
        controls += ((unsigned char)p[i] < ' ' && !(p[i] >= 9 && p[i] <= 13)) || p[i] == 0x7f;
    return controls * 32 < len;
}

/* Tar archives have zero bytes, but are text in the sense of this file. Returns 1, 0 or -ENOMEM. */
static int is_tar(const char *p, size_t len)
{
    struct trace_tar_member m;
    if (len < TAR_HEADER || !*p)
        return 0;
    struct trace_tar *t = trace_tar_new();
    int rc = t ? trace_tar_next(t, p, TAR_HEADER, &m) : -ENOMEM;
    trace_tar_free(t);
    return rc == -ENOMEM ? rc : rc == 0 || rc == 1;
}

static size_t count_zeros(const char *p, size_t len)
{
    size_t n = 0;
    while (n < len && !p[n])
        n++;
    return n;
}

int front_is_text(struct trace_reader *r)
{
    char front[FRONT_BYTES];
    ssize_t n = input_pread(&r->in, front, sizeof front, 0);
    int rc = n > 0 ? is_tar(front, (size_t)n) : 0;
    if (rc)
        return rc;
    uint64_t at = 0;
    while (n > 0 && at < ZEROS_MAX) {
        size_t skipped = count_zeros(front, (size_t)n);
        if (!skipped)
            return is_text(front, (size_t)n);
        at += skipped;
        n = input_pread(&r->in, front, sizeof front, at);
    }
    return n < 0 || (n == 0 && !r->finished) ? -EAGAIN : 0;
}
