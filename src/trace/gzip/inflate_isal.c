/* inflate_isal.c - decodes block bodies with ISA-L.
 *
 * ISA-L cannot stop at the end of a block, except for the last one. So every block is marked as the
 * last: ISA-L gets a copy of the byte that starts the block, with the first bit of the header set.
 * For the next block ISA-L is started again with the 32 KiB of text before it, which costs some
 * microseconds.
 */
#include "trace/gzip/inflate.h"
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>

struct inflate_isal {
    struct block block;
    bool keeps_bits; /* ISA-L has returned unused bits before, so its count is right */
    struct inflate_state state;
};

struct inflate_isal *inflate_isal_new(void)
{
    struct inflate_isal *s = calloc(1, sizeof(*s));
    if (s)
        isal_inflate_init(&s->state);
    return s;
}

void inflate_isal_free(struct inflate_isal *s)
{
    free(s);
}

void inflate_isal_begin(struct inflate_isal *s, struct input *in, unsigned bit,
                        const struct block *b, const uint8_t *window, uint32_t window_len)
{
    s->block = *b;
    isal_inflate_reset(&s->state);
    s->state.crc_flag = ISAL_DEFLATE;
    if (window_len)
        isal_inflate_set_dict(&s->state, (uint8_t *)window, window_len);
    s->state.read_in = (in->buf[in->pos++] >> bit) | 1u;
    s->state.read_in_length = 8 - (int)bit;
}

/* Returns true if the end-of-block code is directly before the last `unused` bits of end[-1]. */
static bool ends_at(const struct block *b, const uint8_t *end, unsigned unused)
{
    uint32_t bits = (uint32_t)end[-1] << 16 | (uint32_t)end[-2] << 8 | end[-3];
    return ((bits >> (24 - unused - b->end_len)) & ((1u << b->end_len) - 1)) == b->end_code;
}

/* Returns the number of unused bits in the last byte of a block. ISA-L up to 2.32.0 keeps them,
 * later versions only keep whole bytes: then the end-of-block code is searched, and -1 is returned
 * unless it is at exactly one position. */
static int unused_bits(struct inflate_isal *s, const struct input *in)
{
    int kept = s->state.read_in_length & 7, found = -1;
    s->keeps_bits |= kept != 0;
    if (s->keeps_bits || s->block.type == BLOCK_STORED)
        return kept;
    if (in->pos < 3)
        return -1;
    for (unsigned unused = 0; unused < 8; unused++) {
        if (!ends_at(&s->block, in->buf + in->pos, unused))
            continue;
        if (found >= 0)
            return -1;
        found = (int)unused;
    }
    return found;
}

enum inflate_status inflate_isal_run(struct inflate_isal *s, struct input *in, uint8_t *out,
                                     size_t len, size_t *ret_done, unsigned *ret_unused)
{
    struct inflate_state *st = &s->state;
    st->next_in = in->buf + in->pos;
    st->avail_in = (uint32_t)(in->len - in->pos);
    st->next_out = out;
    st->avail_out = len < (1u << 30) ? (uint32_t)len : 1u << 30;
    int rc = isal_inflate(st);
    *ret_done = (size_t)(st->next_out - out);
    in->pos = (size_t)(st->next_in - in->buf);
    if (rc != ISAL_DECOMP_OK) {
        /* ISA-L advances next_out before it rejects a match with an invalid distance, without
         * writing its bytes. */
        *ret_done = *ret_done > ISAL_DEF_MAX_MATCH ? *ret_done - ISAL_DEF_MAX_MATCH : 0;
        return INFLATE_FAILED;
    }
    if (st->block_state != ISAL_BLOCK_FINISH)
        return st->avail_out ? INFLATE_NEEDS_INPUT : INFLATE_OUTPUT_FULL;
    size_t ahead = (size_t)st->read_in_length / 8;
    if (ahead > in->pos)
        return INFLATE_FAILED;
    in->pos -= ahead;
    int unused = unused_bits(s, in);
    *ret_unused = (unsigned)unused;
    return unused < 0 ? INFLATE_FAILED : INFLATE_END;
}

#else

struct inflate_isal *inflate_isal_new(void)
{
    return NULL;
}

void inflate_isal_free(struct inflate_isal *s)
{
    (void)s;
}

void inflate_isal_begin(struct inflate_isal *s, struct input *in, unsigned bit,
                        const struct block *b, const uint8_t *window, uint32_t window_len)
{
    (void)s, (void)in, (void)bit, (void)b, (void)window, (void)window_len;
}

enum inflate_status inflate_isal_run(struct inflate_isal *s, struct input *in, uint8_t *out,
                                     size_t len, size_t *ret_done, unsigned *ret_unused)
{
    (void)s, (void)in, (void)out, (void)len, (void)ret_unused;
    *ret_done = 0;
    return INFLATE_FAILED;
}
#endif
