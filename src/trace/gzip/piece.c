/* piece.c - text that was inflated ahead of a reader.
 *
 * The text after a position in a deflate stream depends only on the bits from there on and on the
 * 32 KiB of text before. So if a piece was begun in the same state as the reader has at that
 * position, its text is what the reader would produce, however the position was guessed. A piece at
 * a wrong position is never used. A piece consists of whole blocks and ends before corrupt data,
 * which the reader then handles itself. The piece notes every boundary between two blocks, because
 * only the reader knows the text offset, and thereby which of them are checkpoints.
 */
#include "trace/gzip/piece.h"
#include "trace/gzip/chunk_pool.h"
#include <stdlib.h>
#include <string.h>

uint32_t piece_window(const struct mark *m)
{
    return m->member_text < INFLATE_WINDOW ? (uint32_t)m->member_text : INFLATE_WINDOW;
}

void trace_piece_free(struct trace_piece *p)
{
    if (!p)
        return;
    chunk_pool_free(p->memory, p->memory_cap);
    vec_done(&p->marks);
    free(p);
}

void piece_seek(struct trace_reader *r, const struct mark *m, const uint8_t *end)
{
    input_seek(&r->in, m->bit >> 3);
    if (m->block)
        inflate_start(r->inflate, m->bit, end - piece_window(m), piece_window(m));
    r->state = m->block ? READER_BLOCK : READER_MEMBER;
    r->member_start = m->member_start;
    r->member_text = m->member_text;
    r->crc = m->crc;
}

void trace_reader_set_ahead(struct trace_reader *r, struct trace_ahead *ahead)
{
    r->ahead = ahead;
}

/* Returns true if the piece was begun in the state of the reader. The first member after corrupt
 * data is always inflated by the reader. */
static bool piece_fits(const struct trace_reader *r, const struct trace_piece *p, bool block,
                       uint64_t bit)
{
    const struct mark *m = &p->marks.at[0];
    const struct inflate *f = r->inflate;
    if (m->bit != bit || m->block != block || r->resumed || r->broken)
        return false;
    if (!block)
        return true;
    return !r->partial && m->crc == r->crc && m->member_text == r->member_text &&
           m->member_start == r->member_start && f->history_len == p->window_len &&
           memcmp(p->text - p->window_len, f->history, f->history_len) == 0;
}

/* Adds the checkpoints that the reader itself would make. */
static int add_checkpoints(struct trace_reader *r, const struct trace_piece *p)
{
    for (uint32_t i = 0; i + 1 < p->marks.count; i++) {
        const struct mark *m = &p->marks.at[i];
        if (r->text + m->text < r->next_checkpoint)
            continue;
        struct trace_checkpoint at = {
            .text_offset = r->text + m->text,
            .file_offset = m->bit >> 3,
            .bits = m->bit & 7,
            .kind = m->block ? TRACE_AT_BLOCK : TRACE_AT_MEMBER,
            .members = r->members + (m->members - p->marks.at[0].members),
        };
        if (m->block) {
            at.in_gzip_member = true;
            at.crc = m->crc;
            at.member_start = m->member_start;
            at.member_text = m->member_text;
        }
        r->next_checkpoint = checkpoint_after(at.text_offset, r->checkpoint_size);
        int rc = checkpoints_add(&r->checkpoints, &at, p->text + m->text - piece_window(m),
                                 m->block ? piece_window(m) : 0);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int piece_begin(struct trace_reader *r, bool block, uint64_t bit)
{
    struct trace_ahead *a = r->ahead;
    if (!a || bit < atomic_load_explicit(&a->first, memory_order_relaxed))
        return 0;
    struct trace_piece *p = a->take(a, bit);
    if (!p)
        return 0;
    if (!piece_fits(r, p, block, bit)) {
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
    const struct mark *end = &p->marks.at[p->marks.count - 1];
    size_t space = out->len - out->done, left = end->text - r->piece_done;
    size_t len = left < space ? left : space;
    memcpy(out->data + out->done, p->text + r->piece_done, len);
    r->piece_done += len;
    reader_deliver(r, out, len);
    if (len < left)
        return 1;
    piece_seek(r, end, p->text + end->text);
    r->members += end->members - p->marks.at[0].members;
    r->partial = false;
    piece_drop(r);
    return 1;
}
