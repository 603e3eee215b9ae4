/* chunker.c - divides text into chunks of whole lines.
 *
 * Text is inflated directly into the buffer that is delivered; only text after the last line of the
 * chunk is copied, into the next buffer. To keep this part small, reading stops at the chunk's
 * nominal end and continues in small steps until the end of the last line, and the line after it,
 * are known.
 */
#include "trace/gzip/chunk_pool.h"
#include "trace/gzip/reader.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP (32u << 10)
#define STEP_MAX (8u << 20)
#define PADDING 64 /* zero bytes after the text that scanners may read */
#define CONTINUATIONS_MAX 8
/* Replaces an over-long line: an invalid line that does not continue the line before it. */
#define LONG_MARK "!\n"

struct trace_chunker {
    struct trace_reader *reader;
    uint64_t size;
    uint64_t start;      /* text offset of buf[0]: the start of the chunk's first line */
    uint64_t min_number; /* number of the last final chunk, plus one */
    uint64_t skip;       /* text bytes to discard first */
    char *buf;
    size_t len, cap;
    /* offsets in buf */
    size_t line;      /* a line start: no line before it is too long */
    size_t searched;  /* there is no newline between the nominal end and this */
    size_t delivered; /* end of the provisional chunk delivered last */
    bool discarding;  /* the rest of an over-long line is being skipped */
};

int trace_chunker_new(struct trace_reader *r, uint64_t chunk_size, uint64_t skip_to,
                      struct trace_chunker **ret)
{
    if (chunk_size < 65536 || skip_to < r->text)
        return -EINVAL;
    struct trace_chunker *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->reader = r;
    c->size = chunk_size;
    c->start = skip_to;
    c->skip = skip_to - r->text;
    chunk_pool_enter();
    *ret = c;
    return 0;
}

void trace_chunker_free(struct trace_chunker *c)
{
    if (!c)
        return;
    chunk_pool_free(c->buf, c->cap);
    chunk_pool_leave();
    free(c);
}

void trace_chunk_done(struct trace_chunk *chunk)
{
    chunk_pool_free(chunk->text, chunk->cap);
    memset(chunk, 0, sizeof(*chunk));
}

int trace_chunk_copy(struct text text, struct trace_chunk *ret)
{
    char *copy = chunk_pool_alloc(text.len + PADDING, &ret->cap);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, text.ptr, text.len);
    memset(copy + text.len, 0, PADDING);
    ret->text = copy;
    ret->len = text.len;
    return 0;
}

/* ---- filling the buffer ---------------------------------------------------------------------- */

static int reserve_buffer(struct trace_chunker *c, size_t more)
{
    size_t need = c->len + more + PADDING, cap = c->cap;
    if (need <= cap)
        return 0;
    if (!c->buf) {
        size_t usual = (c->size < STEP_MAX ? (size_t)c->size : STEP_MAX) + 2 * STEP;
        c->buf = chunk_pool_alloc(need > usual ? need : usual, &c->cap);
        return c->buf ? 0 : -ENOMEM;
    }
    while (cap < need)
        cap += cap / 2;
    char *p = realloc(c->buf, cap);
    if (!p)
        return -ENOMEM;
    c->buf = p;
    c->cap = cap;
    return 0;
}

/* Returns the offset in the buffer from which on lines belong to the next chunk. */
static uint64_t nominal_end(const struct trace_chunker *c)
{
    return c->start / c->size * c->size + c->size - c->start;
}

/* Returns 1, 0 at the current end of the file, or -errno. */
static int fill_buffer(struct trace_chunker *c, bool finish)
{
    uint64_t end = nominal_end(c);
    uint64_t left = c->len < end ? end - c->len : 0;
    size_t want = left < STEP ? STEP : left < STEP_MAX ? (size_t)left : STEP_MAX;
    int rc = reserve_buffer(c, want);
    if (rc < 0)
        return rc;
    ssize_t n = trace_reader_read(c->reader, c->buf + c->len, want);
    if (n == 0 && finish) {
        trace_reader_finish(c->reader);
        n = trace_reader_read(c->reader, c->buf + c->len, want);
    }
    if (n <= 0)
        return (int)n;
    c->len += (size_t)n;
    return 1;
}

static void drop_front(struct trace_chunker *c, size_t len)
{
    memmove(c->buf, c->buf + len, c->len - len);
    c->len -= len;
    c->start += len;
    c->line = c->searched = c->delivered = 0;
}

/* Discards text before the first requested line, or the rest of an over-long line. Returns as
 * fill_buffer. */
static int discard_text(struct trace_chunker *c, bool finish)
{
    while (c->skip || c->discarding) {
        int rc = c->len ? 1 : fill_buffer(c, finish);
        if (rc <= 0)
            return rc;
        if (c->skip) {
            size_t step = c->skip < c->len ? (size_t)c->skip : c->len;
            c->skip -= step;
            c->start -= step; /* start was set to the target; drop_front adds it again */
            drop_front(c, step);
            continue;
        }
        const char *newline = memchr(c->buf, '\n', c->len);
        c->discarding = !newline;
        drop_front(c, newline ? (size_t)(newline - c->buf) + 1 : c->len);
    }
    return 1;
}

/* ---- ends of chunks -------------------------------------------------------------------------- */

/* Returns true if a line is longer than allowed; c->line is its start. */
static bool line_too_long(struct trace_chunker *c)
{
    while (c->len - c->line > TRACE_LINE_MAX) {
        const char *newline = memrchr(c->buf + c->line, '\n', (size_t)TRACE_LINE_MAX + 1);
        if (!newline)
            return true;
        c->line = (size_t)(newline - c->buf) + 1;
    }
    return false;
}

enum line_kind { LINE_OPEN, LINE_OWN, LINE_CONTINUES };

/* Finds out whether the line at `at` may continue the one before it; LINE_OPEN: its end, or a byte
 * that decides, has not been read. */
static enum line_kind classify_line(const struct trace_chunker *c, size_t at, size_t *ret_end)
{
    const char *newline = at < c->len ? memchr(c->buf + at, '\n', c->len - at) : NULL;
    size_t end = newline ? (size_t)(newline - c->buf) : c->len;
    bool bracket = true, blank = true;
    for (size_t i = at; i < end && bracket; i++) {
        unsigned char b = (unsigned char)c->buf[i];
        if (blank && b == '{')
            return LINE_OWN;
        blank = blank && b <= ' ';
        bracket = b <= ' ' || b == '[' || b == ']' || b == ',';
    }
    if (!newline)
        return LINE_OPEN;
    *ret_end = end + 1;
    return bracket ? LINE_OWN : LINE_CONTINUES;
}

/* Returns the offset after the chunk's last line, or 0 if more text is needed. */
static size_t find_end(struct trace_chunker *c)
{
    uint64_t nominal = nominal_end(c);
    if (c->len < nominal)
        return 0;
    size_t from = c->searched > nominal - 1 ? c->searched : (size_t)nominal - 1;
    const char *newline = memchr(c->buf + from, '\n', c->len - from);
    if (!newline) {
        c->searched = c->len;
        return 0;
    }
    c->searched = (size_t)(newline - c->buf);
    size_t end = c->searched + 1, next = 0;
    for (int i = 0; i < CONTINUATIONS_MAX; i++) {
        enum line_kind kind = classify_line(c, end, &next);
        if (kind != LINE_CONTINUES)
            return kind == LINE_OWN ? end : 0;
        end = next;
    }
    return end;
}

/* ---- delivery -------------------------------------------------------------------------------- */

/* Numbers ascend even if an over-long line has ended a chunk early. */
static uint64_t chunk_number(const struct trace_chunker *c)
{
    uint64_t number = c->start / c->size;
    return number < c->min_number ? c->min_number : number;
}

/* Delivers the buffer up to `len`; the text from `next` on is moved to a new buffer. */
static int deliver_buffer(struct trace_chunker *c, size_t len, size_t next, struct trace_chunk *ret)
{
    struct trace_chunker after = *c;
    after.start += next;
    after.min_number = chunk_number(c) + 1;
    after.buf = NULL;
    after.len = after.cap = after.line = after.searched = after.delivered = 0;
    if (next < c->len) {
        if (reserve_buffer(&after, c->len - next) < 0)
            return -ENOMEM;
        memcpy(after.buf, c->buf + next, c->len - next);
        after.len = c->len - next;
    }
    *ret = (struct trace_chunk){chunk_number(c), c->start, c->buf, len, c->cap, true};
    memset(ret->text + len, 0, PADDING);
    *c = after;
    return 0;
}

/* Delivers the buffer up to an over-long line, which is replaced by LONG_MARK. */
static int deliver_long(struct trace_chunker *c, struct trace_chunk *ret)
{
    struct trace_damage damage = {TRACE_DAMAGE_LINE, 0, 0, c->start + c->line};
    size_t len = c->line + sizeof(LONG_MARK) - 1;
    memcpy(c->buf + c->line, LONG_MARK, sizeof(LONG_MARK) - 1);
    int rc = deliver_buffer(c, len, c->line + TRACE_LINE_MAX + 1, ret);
    if (rc < 0)
        return rc;
    c->discarding = true;
    damages_add(&c->reader->damages, &damage);
    char *less = realloc(ret->text, len + PADDING);
    if (less) {
        ret->text = less;
        ret->cap = len + PADDING;
    }
    return 0;
}

/* Delivers the complete lines so far as a copy: the buffer itself is continued. */
static int deliver_provisional(struct trace_chunker *c, struct trace_chunk *ret)
{
    const char *newline = c->len ? memrchr(c->buf, '\n', c->len) : NULL;
    size_t len = newline ? (size_t)(newline - c->buf) + 1 : 0;
    if (len == c->delivered)
        return ERR_END;
    *ret = (struct trace_chunk){.number = chunk_number(c), .text_offset = c->start};
    int rc = trace_chunk_copy((struct text){c->buf, len}, ret);
    c->delivered = rc < 0 ? c->delivered : len;
    return rc;
}

int trace_chunker_next(struct trace_chunker *c, bool finish, struct trace_chunk *ret)
{
    for (;;) {
        int rc = discard_text(c, finish);
        if (rc < 0)
            return rc;
        if (rc > 0 && c->len && line_too_long(c))
            return deliver_long(c, ret);
        size_t end = rc > 0 && c->len ? find_end(c) : 0;
        if (end)
            return deliver_buffer(c, end, end, ret);
        rc = rc > 0 ? fill_buffer(c, finish) : 0;
        if (rc < 0)
            return rc;
        if (rc == 0 && finish)
            return c->len ? deliver_buffer(c, c->len, c->len, ret) : ERR_END;
        if (rc == 0)
            return deliver_provisional(c, ret);
    }
}
