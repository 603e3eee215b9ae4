/* member_read.c - reads a gzip file step by step: members, their blocks and trailers, and bytes
 * between members. */
#include "trace/gzip/member.h"
#include "trace/gzip/piece.h"
#include <errno.h>
#include <string.h>

bool member_is_open(const struct trace_reader *r)
{
    switch (r->state) {
    case READER_BLOCK:
    case READER_BODY:
    case READER_TRAILER:
        return true;
    case READER_MEMBER:
        return r->in.pos < r->in.len; /* true: an incomplete header */
    default:
        return false;
    }
}

static int add_checkpoint(struct trace_reader *r, uint8_t kind, uint64_t bit)
{
    const struct inflate *f = r->inflate;
    struct trace_checkpoint at = {.text_offset = r->text,
                                  .file_offset = bit >> 3,
                                  .bits = bit & 7,
                                  .kind = kind,
                                  .members = r->members};
    if (kind == TRACE_AT_BLOCK && !r->partial) {
        at.in_gzip_member = true;
        at.crc = r->crc;
        at.member_start = r->member_start;
        at.member_text = r->member_text;
    }
    r->next_checkpoint = checkpoint_after(r->text, r->checkpoint_size);
    return checkpoints_add(&r->checkpoints, &at, f->history,
                           kind == TRACE_AT_BLOCK ? f->history_len : 0);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Begins a search for a member after `from`. The bytes that all searches may read again are
 * limited: crafted members, each of which inflates to the end of the file before it fails, would
 * cost quadratic time. */
static int begin_search(struct trace_reader *r, uint64_t from)
{
    uint64_t here = input_offset(&r->in), back = here > from ? here - from : 0;
    if (r->reread + back <= 4 * here + (1u << 20)) {
        r->reread += back;
        input_seek(&r->in, from);
    }
    r->resumed = r->broken = true;
    r->state = READER_SEARCH;
    return 1;
}

/* Records that the present block is corrupt. */
static int skip_corrupt_data(struct trace_reader *r)
{
    if (r->in.error)
        return 0;
    uint64_t at = r->inflate->bit >> 3;
    reader_add_damage(r, TRACE_DAMAGE_DATA, at, at);
    return begin_search(r, r->member_start + 1);
}

/* The search belongs to the last corrupt range, which is extended as far as was searched. */
static void extend_damage(struct trace_reader *r, uint64_t to)
{
    struct trace_damage *d =
        r->damages.list.count ? &r->damages.list.at[r->damages.list.count - 1] : NULL;
    if (d && to > d->file_to)
        d->file_to = to;
}

/* If the file is too short to decide about a possible member, the search continues after it. If
 * nothing is found there, it is probed again when the file has grown. */
static int step_search(struct trace_reader *r)
{
    uint64_t undecided = UINT64_MAX;
    while (member_find_magic(&r->in)) {
        uint64_t offset = input_offset(&r->in);
        int rc = member_probe(r->inflate, offset);
        if (rc == 1) {
            input_seek(&r->in, offset);
            extend_damage(r, offset);
            r->state = READER_MEMBER;
            return 1;
        }
        if (rc < 0 && rc != -EAGAIN)
            return rc;
        if (rc == -EAGAIN && undecided == UINT64_MAX)
            undecided = offset;
        input_seek(&r->in, offset + 1);
    }
    extend_damage(r, r->in.base + r->in.len);
    if (undecided != UINT64_MAX)
        input_seek(&r->in, undecided);
    return 0;
}

/* ---- members --------------------------------------------------------------------------------- */

static int begin_member(struct trace_reader *r, struct output *out, uint64_t offset, size_t header)
{
    if (r->broken && r->last_byte != '\n') {
        out->data[out->done] = '\n';
        reader_deliver(r, out, 1);
    }
    if (r->text >= r->next_checkpoint || (r->resumed && r->damages.list.count < DAMAGES_MAX)) {
        int rc = add_checkpoint(r, TRACE_AT_MEMBER, offset * 8);
        if (rc < 0)
            return rc;
    }
    r->members++;
    r->member_start = offset;
    r->member_text = 0;
    r->crc = 0;
    r->partial = r->resumed = r->broken = false;
    inflate_start(r->inflate, (offset + header) * 8, NULL, 0);
    r->state = READER_BLOCK;
    return 1;
}

size_t member_skip_padding(struct trace_reader *r)
{
    struct input *in = &r->in;
    while (input_fill(in, 10) && r->members && in->buf[in->pos] == 0)
        in->pos++;
    return in->len - in->pos;
}

static int step_member(struct trace_reader *r, struct output *out)
{
    size_t have = member_skip_padding(r);
    if (!have)
        return 0;
    int taken = piece_begin(r, false, input_offset(&r->in) * 8);
    if (taken)
        return taken;
    int len = member_parse_header(r->in.buf + r->in.pos, have);
    if (len == -EAGAIN) {
        have = input_fill(&r->in, MEMBER_HEADER_MAX);
        len = member_parse_header(r->in.buf + r->in.pos, have);
    }
    if (len > 0)
        return begin_member(r, out, input_offset(&r->in), (size_t)len);
    if (len == -EAGAIN)
        return 0;
    uint64_t at = input_offset(&r->in);
    reader_add_damage(r, TRACE_DAMAGE_GARBAGE, at, at);
    return begin_search(r, at);
}

static int step_block(struct trace_reader *r)
{
    struct inflate *f = r->inflate;
    int rc = piece_begin(r, true, f->bit);
    if (rc)
        return rc;
    rc = inflate_block_begin(f);
    if (rc == -EAGAIN)
        return 0;
    if (rc == ERR_CORRUPT)
        return skip_corrupt_data(r);
    if (rc == 0 && r->text >= r->next_checkpoint)
        rc = add_checkpoint(r, TRACE_AT_BLOCK, f->bit);
    r->state = READER_BODY;
    return rc < 0 ? rc : 1;
}

static int step_body(struct trace_reader *r, struct output *out)
{
    size_t done;
    uint8_t *to = out->data + out->done;
    enum inflate_status st = inflate_block_read(r->inflate, to, out->len - out->done, &done);
    if (!r->partial)
        r->crc = inflate_crc(r->crc, to, done);
    r->member_text += done;
    reader_deliver(r, out, done);
    if (st == INFLATE_END)
        r->state = r->inflate->block.last ? READER_TRAILER : READER_BLOCK;
    return st == INFLATE_FAILED ? skip_corrupt_data(r) : st != INFLATE_NEEDS_INPUT;
}

/* A wrong checksum does not change the text: otherwise, text that is read from a checkpoint inside
 * the member, where the checksum may not be known, would differ. */
static int step_trailer(struct trace_reader *r)
{
    input_seek(&r->in, (r->inflate->bit + 7) >> 3);
    if (input_fill(&r->in, MEMBER_TRAILER) < MEMBER_TRAILER)
        return 0;
    bool fits = r->partial || member_trailer_fits(r->in.buf + r->in.pos, r->crc, r->member_text);
    r->in.pos += MEMBER_TRAILER;
    if (!fits) {
        reader_add_damage(r, TRACE_DAMAGE_CRC, r->member_start, input_offset(&r->in));
        r->resumed = true;
    }
    r->state = READER_MEMBER;
    return 1;
}

int member_step(struct trace_reader *r, struct output *out)
{
    switch (r->state) {
    case READER_MEMBER:
        return step_member(r, out);
    case READER_BLOCK:
        return step_block(r);
    case READER_BODY:
        return step_body(r, out);
    case READER_TRAILER:
        return step_trailer(r);
    case READER_PIECE:
        return piece_step(r, out);
    default:
        return step_search(r);
    }
}
