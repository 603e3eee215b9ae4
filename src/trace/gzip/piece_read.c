/* piece_read.c - makes pieces (see piece.c) with a separate reader, and finds members where one may
 * begin. */
#include "trace/gzip/chunk_pool.h"
#include "trace/gzip/member.h"
#include "trace/gzip/piece.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Blocks may be empty, so their number is limited: one for this many bytes of `max_text`. */
#define MARK_TEXT 512

static struct trace_piece *piece_new(size_t max_text)
{
    struct trace_piece *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->memory = chunk_pool_alloc(INFLATE_WINDOW + max_text, &p->memory_cap);
    if (!p->memory) {
        free(p);
        return NULL;
    }
    p->text = (uint8_t *)p->memory + INFLATE_WINDOW;
    return p;
}

static int add_mark(struct trace_piece *p, struct trace_reader *r, size_t text)
{
    bool block = r->state == READER_BLOCK;
    struct mark mark = {
        .bit = block ? r->inflate->bit : input_offset(&r->in) * 8,
        .text = text,
        .members = r->members,
        .member_start = r->member_start,
        .member_text = block ? r->member_text : 0,
        .crc = r->crc,
        .block = block,
    };
    return vec_push(&p->marks, mark);
}

/* Reads blocks until `max_text`, corrupt data, or `stop` is reached. */
static int read_blocks(struct trace_reader *r, struct trace_piece *p, size_t max_text,
                       uint64_t stop)
{
    struct output out = {p->text, max_text, 0};
    size_t marks = max_text / MARK_TEXT + 2;
    for (;;) {
        if (r->state == READER_MEMBER)
            member_skip_padding(r);
        if (r->state == READER_MEMBER || r->state == READER_BLOCK) {
            int rc = add_mark(p, r, out.done);
            if (rc < 0 || p->marks.count == marks || p->marks.at[p->marks.count - 1].bit >= stop)
                return rc;
        } else if (r->state != READER_TRAILER && out.done == max_text) {
            return 0;
        }
        int rc = member_step(r, &out);
        if (r->damages.lost)
            return -ENOMEM;
        if (rc <= 0 || r->damages.list.count)
            return rc;
    }
}

int trace_piece_read(struct trace_reader *r, size_t max_text, uint64_t stop,
                     struct trace_piece **ret)
{
    const struct inflate *f = r->inflate;
    bool block = r->state == READER_BLOCK;
    if (!(block && !r->partial) && r->state != READER_MEMBER)
        return ERR_END;
    struct trace_piece *p = piece_new(max_text);
    if (!p)
        return -ENOMEM;
    if (block) {
        p->window_len = f->history_len;
        memcpy(p->text - f->history_len, f->history, f->history_len);
    }
    r->damages.list.count = 0;
    int rc = read_blocks(r, p, max_text, stop);
    inflate_pause(r->inflate);
    const struct mark *end = p->marks.count ? &p->marks.at[p->marks.count - 1] : NULL;
    if (rc < 0 || p->marks.count < 2 || (block && p->window_len != piece_window(&p->marks.at[0]))) {
        trace_piece_free(p);
        return rc < 0 ? rc : ERR_END;
    }
    piece_seek(r, end, p->text + end->text);
    r->members = end->members;
    *ret = p;
    return 0;
}

uint64_t trace_piece_end(const struct trace_piece *p)
{
    return p->marks.at[p->marks.count - 1].bit;
}

/* ---- where one may begin --------------------------------------------------------------------- */

static int search_member(struct inflate *f, struct input *in, uint64_t to, uint64_t *ret)
{
    while (member_find_magic(in) && input_offset(in) < to) {
        uint64_t offset = input_offset(in);
        int rc = member_probe(f, offset);
        if (rc == 1) {
            *ret = offset;
            return 0;
        }
        if (rc < 0 && rc != -EAGAIN)
            return rc;
        input_seek(in, offset + 1);
    }
    return in->error ? -in->error : ERR_END;
}

int trace_find_member(int fd, uint64_t from, uint64_t to, uint64_t *ret)
{
    struct inflate *f = malloc(sizeof(*f));
    struct input in;
    if (!f || input_init(&in, fd) < 0) {
        free(f);
        return -ENOMEM;
    }
    int rc = inflate_open(f, &in, TRACE_ENGINE_ZLIB);
    if (rc == 0) {
        input_seek(&in, from);
        rc = search_member(f, &in, to, ret);
        inflate_close(f);
    }
    free(f);
    input_done(&in);
    return rc;
}
