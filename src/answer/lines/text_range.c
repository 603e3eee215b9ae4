/* text_range.c - parts of a file's text by bytes or lines, in pieces, through the checkpoints of
 * the index. */
#include "dftracerd/text_range.h"
#include "answer/lines/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (64u << 10)

struct text_range {
    struct index *index;
    struct snapshot *snapshot; /* borrowed */
    const struct index_file *file;
    struct budget *budget;
    struct trace_text *text;
    int fd;
    uint64_t at, stop; /* what is left: [at, stop) */
    uint64_t lines;    /* TEXT_LINES: number left */
    bool by_lines;
    char piece[PIECE];
};

static int read_piece(struct text_range *r, uint64_t from, uint64_t to, size_t *ret_len)
{
    size_t n = to - from < PIECE ? (size_t)(to - from) : PIECE;
    int rc = budget_check(r->budget);

    *ret_len = n;
    rc = rc < 0 ? rc : trace_text_read(r->text, from, r->piece, n);
    return lines_check_file(r->file, r->fd, rc);
}

/* ---- line_bytes ------------------------------------------------------------------------------ */

/* Sets *ret to the first start of a line at or after `from`; `to`: there is none before it. */
static int line_start(struct text_range *r, uint64_t from, uint64_t to, uint64_t *ret)
{
    uint64_t at = from ? from - 1 : 0;

    *ret = from;
    if (from == 0)
        return 0;
    while (at < to) {
        size_t n;
        int rc = read_piece(r, at, to, &n);
        if (rc < 0)
            return rc;
        const char *p = memchr(r->piece, '\n', n);
        if (p) {
            *ret = at + (uint64_t)(p - r->piece) + 1;
            return 0;
        }
        at += n;
    }
    *ret = to;
    return 0;
}

/* Sets *ret to the end of the last line that ends in [from, to]; `from`: there is none. */
static int line_stop(struct text_range *r, uint64_t from, uint64_t to, uint64_t *ret)
{
    *ret = to;
    if (to >= r->file->text_bytes)
        return 0; /* the end of the file ends a line, too */
    while (to > from) {
        uint64_t begin = to - from > PIECE ? to - PIECE : from;
        size_t n;
        int rc = read_piece(r, begin, to, &n);
        if (rc < 0)
            return rc;
        const char *p = memrchr(r->piece, '\n', n);
        if (p) {
            *ret = begin + (uint64_t)(p - r->piece) + 1;
            return 0;
        }
        to = begin;
    }
    *ret = from;
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The text before the first chunk, or from the begin of a chunk to that of the next one. */
struct stretch {
    uint64_t from, to;
    int64_t chunk; /* -1: none */
};

static struct stretch stretch_of(const struct index_file *f, uint32_t i)
{
    struct stretch s = {0, f->text_bytes, (int64_t)i - 1};

    if (i > 0)
        s.from = f->chunks[i - 1].text_offset;
    if (i < f->chunk_count)
        s.to = f->chunks[i].text_offset;
    return s;
}

/* Sets *ret to true if each line is an object, so that there are as many lines as rows. */
static int lines_are_rows(struct chunk_view *v, const struct column *gap, const struct column *len,
                          uint64_t bytes, bool *ret)
{
    uint64_t sum = 1;
    int64_t gaps[1024], lens[1024];

    *ret = false;
    for (uint32_t first = 0; first < gap->rows; first += 1024) {
        uint32_t n = gap->rows - first < 1024 ? gap->rows - first : 1024;
        int rc = column_read_i64(v, gap, first, n, gaps);
        rc = rc < 0 ? rc : column_read_i64(v, len, first, n, lens);
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < n; i++) {
            if (gaps[i] != (first + i > 0))
                return 0;
            sum += (uint64_t)(gaps[i] + lens[i]);
        }
    }
    *ret = sum == bytes;
    return 0;
}

/* Sets *ret to the number of lines, without reading the text; *ret_known false: this is not
 * possible. */
static int count_by_columns(struct text_range *r, const struct stretch *s, uint64_t *ret,
                            bool *ret_known)
{
    const struct trace_counts *c = &r->file->counts;
    struct chunk_view *v;
    struct column gap, len;

    *ret_known = false;
    if (s->chunk < 0 || c->repaired || c->glued || c->split)
        return 0;
    int rc = chunk_open(r->index, r->snapshot, r->file, (uint32_t)s->chunk, &v);
    if (rc < 0)
        return rc;
    if (chunk_find(v, TEXT("@gap"), &gap) == 0 && chunk_find(v, TEXT("@len"), &len) == 0)
        rc = lines_are_rows(v, &gap, &len, s->to - s->from, ret_known);
    *ret = chunk_rows(v);
    chunk_close(v);
    return rc;
}

/* Subtracts from *lines, down to 0, the lines that end in the first n bytes of the piece.
 * Returns the position after the last of these; n if lines are left. */
static size_t pass_lines(const struct text_range *r, size_t n, uint64_t *lines)
{
    size_t used = 0;

    while (*lines && used < n) {
        const char *p = memchr(r->piece + used, '\n', n - used);
        used = p ? (size_t)(p - r->piece) + 1 : n;
        *lines -= p != NULL;
    }
    return used;
}

/* Skips *skip lines of the stretch, or all of it. */
static int skip_in_text(struct text_range *r, const struct stretch *s, uint64_t *skip)
{
    for (r->at = s->from; *skip && r->at < s->to;) {
        size_t n;
        int rc = read_piece(r, r->at, s->to, &n);
        if (rc < 0)
            return rc;
        r->at += pass_lines(r, n, skip);
    }
    return 0;
}

static int skip_lines(struct text_range *r, uint64_t skip)
{
    int rc = budget_check(r->budget);

    for (uint32_t i = 0; rc == 0 && skip && i <= r->file->chunk_count; i++) {
        struct stretch s = stretch_of(r->file, i);
        uint64_t lines = 0;
        bool known;
        rc = count_by_columns(r, &s, &lines, &known);
        if (rc < 0)
            break;
        if (known && lines <= skip) {
            skip -= lines;
            r->at = s.to;
        } else {
            rc = skip_in_text(r, &s, &skip);
        }
    }
    if (rc == 0 && skip)
        r->at = r->stop; /* the file has fewer */
    return rc;
}

/* ---- open and read --------------------------------------------------------------------------- */

static int find_range(struct text_range *r, enum text_mode mode, uint64_t start, uint64_t end)
{
    uint64_t size = r->file->text_bytes;

    r->at = mode == TEXT_LINES ? 0 : start < size ? start : size;
    r->stop = mode == TEXT_LINES ? size : end < size ? end : size;
    if (r->at >= r->stop)
        return 0;
    if (mode == TEXT_LINES) {
        r->by_lines = true;
        r->lines = end == UINT64_MAX ? UINT64_MAX : end - start + 1;
        return skip_lines(r, start - 1);
    }
    if (mode == TEXT_BYTES)
        return 0;
    int rc = line_start(r, r->at, r->stop, &r->at);
    return rc < 0 ? rc : line_stop(r, r->at, r->stop, &r->stop);
}

static int range_error(const struct text_range *r, struct err *err, int rc)
{
    if (rc == ERR_CORRUPT)
        return err_set(err, rc, "%s: the text from byte %llu on cannot be read", r->file->name,
                       (unsigned long long)r->at);
    return rc < 0 ? err_set(err, rc, "%s: %s", r->file->name, err_text(rc)) : rc;
}

int text_range_open(struct index *ix, struct snapshot *snapshot, const struct index_file *file,
                    enum text_mode mode, uint64_t start, uint64_t end, struct budget *budget,
                    struct err *err, struct text_range **ret)
{
    struct text_range *r = calloc(1, sizeof(*r));

    if (!r)
        return err_set_code(err, -ENOMEM);
    r->index = ix;
    r->snapshot = snapshot;
    r->file = file;
    r->budget = budget;
    r->fd = -1;
    int rc = file->text_bytes ? index_text_open(ix, snapshot, file, &r->text, &r->fd) : 0;
    if (rc == 0)
        rc = find_range(r, mode, start, end);
    if (rc < 0) {
        range_error(r, err, rc);
        text_range_close(r);
        return rc;
    }
    *ret = r;
    return 0;
}

int text_range_next(struct text_range *r, struct buf *out, struct err *err)
{
    size_t n;

    if (r->at >= r->stop || (r->by_lines && !r->lines))
        return ERR_END;
    int rc = read_piece(r, r->at, r->stop, &n);
    if (rc < 0)
        return range_error(r, err, rc);
    if (r->by_lines && r->lines != UINT64_MAX)
        n = pass_lines(r, n, &r->lines);
    buf_append(out, r->piece, n);
    r->at += n;
    return out->error;
}

void text_range_close(struct text_range *r)
{
    if (!r)
        return;
    trace_text_close(r->text);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}
