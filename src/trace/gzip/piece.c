/* piece.c - text inflated ahead of a reader.
 *
 * What follows a place in a deflate stream depends on the bits from there on and on the 32 KiB of
 * text before, on nothing else. So a piece that was begun in the very state that a reader has when
 * it comes there is what this reader would have made, however the place was guessed; and one that
 * nobody comes to was guessed wrongly. A piece consists of whole blocks and ends before the first
 * damage, which its reader then meets by itself. Every place between two blocks is noted, for only
 * the reader knows the text offset and with it which of them are checkpoints.
 */
#include "trace/gzip/piece.h"
#include "trace/gzip/chunker.h"
#include "trace/gzip/member.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* blocks may be empty: there are no more than one for so much room, and then the piece ends */
#define MARK_TEXT 512

static uint32_t window_of(const struct mark *m)
{
    return m->member_text < INFLATE_WINDOW ? (uint32_t)m->member_text : INFLATE_WINDOW;
}

/* ---- making one ------------------------------------------------------------------------------ */

void trace_piece_free(struct trace_piece *p)
{
    if (!p)
        return;
    chunk_pool_give(p->memory, p->memory_cap);
    free(p->marks);
    free(p);
}

static struct trace_piece *piece_new(size_t most)
{
    struct trace_piece *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->memory = chunk_pool_take(INFLATE_WINDOW + most, &p->memory_cap);
    if (!p->memory) {
        free(p);
        return NULL;
    }
    p->text = (uint8_t *)p->memory + INFLATE_WINDOW;
    return p;
}

static int add_mark(struct trace_piece *p, struct trace_reader *r, size_t text)
{
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? p->cap * 2 : 64;
        struct mark *more = realloc(p->marks, cap * sizeof(*more));
        if (!more)
            return -ENOMEM;
        p->marks = more;
        p->cap = cap;
    }
    bool block = r->state == READER_BLOCK;
    p->marks[p->count++] = (struct mark){
        .bit = block ? r->inflate->bit : input_offset(&r->in) * 8,
        .text = text,
        .members = r->members,
        .member_start = r->member_start,
        .member_text = block ? r->member_text : 0,
        .crc = r->crc,
        .block = block,
    };
    return 0;
}

/* Goes on as long as there is room, no damage, and `stop` is not reached. */
static int run(struct trace_reader *r, struct trace_piece *p, size_t most, uint64_t stop)
{
    struct output out = {p->text, most, 0};
    size_t marks = most / MARK_TEXT + 2;
    for (;;) {
        if (r->state == READER_MEMBER)
            member_skip_padding(r);
        if (r->state == READER_MEMBER || r->state == READER_BLOCK) {
            int rc = add_mark(p, r, out.done);
            if (rc < 0 || p->count == marks || p->marks[p->count - 1].bit >= stop)
                return rc;
        } else if (r->state != READER_TRAILER && out.done == most) {
            return 0;
        }
        int rc = member_step(r, &out);
        if (rc <= 0 || r->damages.count)
            return rc;
    }
}

/* Stands at a mark, before which (in the member) there is the text that ends at `end`. */
static void stand_at(struct trace_reader *r, const struct mark *m, const uint8_t *end)
{
    input_seek(&r->in, m->bit >> 3);
    if (m->block)
        inflate_start(r->inflate, m->bit, end - window_of(m), window_of(m));
    r->state = m->block ? READER_BLOCK : READER_MEMBER;
    r->member_start = m->member_start;
    r->member_text = m->member_text;
    r->crc = m->crc;
}

int trace_piece_read(struct trace_reader *r, size_t most, uint64_t stop, struct trace_piece **ret)
{
    const struct inflate *f = r->inflate;
    bool block = r->state == READER_BLOCK;
    if (!(block && !r->partial) && r->state != READER_MEMBER)
        return ERR_END;
    struct trace_piece *p = piece_new(most);
    if (!p)
        return -ENOMEM;
    if (block) {
        p->window_len = f->history_len;
        memcpy(p->text - f->history_len, f->history, f->history_len);
    }
    r->damages.count = 0;
    int rc = run(r, p, most, stop);
    inflate_pause(r->inflate);
    const struct mark *end = p->count ? &p->marks[p->count - 1] : NULL;
    if (rc < 0 || p->count < 2 || (block && p->window_len != window_of(&p->marks[0]))) {
        trace_piece_free(p);
        return rc < 0 ? rc : ERR_END;
    }
    stand_at(r, end, p->text + end->text);
    r->members = end->members;
    *ret = p;
    return 0;
}

uint64_t trace_piece_end(const struct trace_piece *p)
{
    return p->marks[p->count - 1].bit;
}

/* ---- where one may begin --------------------------------------------------------------------- */

static int search(struct inflate *f, struct input *in, uint64_t to, uint64_t *ret)
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
    input_seek(&in, from);
    if (rc == 0)
        rc = search(f, &in, to, ret);
    inflate_close(f);
    free(f);
    input_done(&in);
    return rc;
}

/* ---- taking one ------------------------------------------------------------------------------ */

void trace_reader_follow(struct trace_reader *r, struct trace_ahead *ahead)
{
    r->ahead = ahead;
}

/* Whether it was begun as the reader stands. After damage a reader goes into the next member by
 * itself. */
static bool fits(const struct trace_reader *r, const struct trace_piece *p, bool block,
                 uint64_t bit)
{
    const struct mark *m = &p->marks[0];
    const struct inflate *f = r->inflate;
    if (m->bit != bit || m->block != block || r->resumed || r->broken)
        return false;
    if (!block)
        return true;
    return !r->partial && m->crc == r->crc && m->member_text == r->member_text &&
           m->member_start == r->member_start && f->history_len == p->window_len &&
           memcmp(p->text - p->window_len, f->history, f->history_len) == 0;
}

/* As the reader would have placed them. */
static int add_checkpoints(struct trace_reader *r, const struct trace_piece *p)
{
    for (uint32_t i = 0; i + 1 < p->count; i++) {
        const struct mark *m = &p->marks[i];
        if (r->text + m->text < r->next_checkpoint)
            continue;
        struct trace_checkpoint at = {
            .text_offset = r->text + m->text,
            .file_offset = m->bit >> 3,
            .bits = m->bit & 7,
            .kind = m->block ? TRACE_AT_BLOCK : TRACE_AT_MEMBER,
            .members = r->members + (m->members - p->marks[0].members),
        };
        if (m->block) {
            at.in_member = true;
            at.crc = m->crc;
            at.member_start = m->member_start;
            at.member_text = m->member_text;
        }
        r->next_checkpoint = checkpoint_after(at.text_offset, r->checkpoint_size);
        int rc = checkpoints_add(&r->checkpoints, &at, p->text + m->text - window_of(m),
                                 m->block ? window_of(m) : 0);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int piece_take(struct trace_reader *r, bool block, uint64_t bit)
{
    struct trace_ahead *a = r->ahead;
    if (!a || bit < atomic_load_explicit(&a->first, memory_order_relaxed))
        return 0;
    struct trace_piece *p = a->take(a, bit);
    if (!p)
        return 0;
    if (!fits(r, p, block, bit)) {
        a->done(a, p, false);
        return 0;
    }
    r->piece = p;
    r->piece_done = 0;
    r->state = READER_PIECE;
    int rc = add_checkpoints(r, p);
    return rc < 0 ? rc : 1;
}

void piece_drop(struct trace_reader *r)
{
    if (r->piece)
        r->ahead->done(r->ahead, r->piece, true);
    r->piece = NULL;
}

int piece_step(struct trace_reader *r, struct output *out)
{
    const struct trace_piece *p = r->piece;
    const struct mark *end = &p->marks[p->count - 1];
    size_t room = out->len - out->done, left = end->text - r->piece_done;
    size_t len = left < room ? left : room;
    memcpy(out->data + out->done, p->text + r->piece_done, len);
    r->piece_done += len;
    reader_deliver(r, out, len);
    if (len < left)
        return 1;
    stand_at(r, end, p->text + end->text);
    r->members += end->members - p->marks[0].members;
    r->partial = false;
    piece_drop(r);
    return 1;
}
