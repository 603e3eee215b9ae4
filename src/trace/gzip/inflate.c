/* inflate.c - decodes a deflate stream, block by block: with ISA-L if that is faster, and with zlib
 * if the result of ISA-L is not final.
 *
 * zlib decodes a block again from its start, and text that was delivered already is dropped, in
 * three cases: ISA-L reports an error (the result of zlib counts), the end of the block is
 * ambiguous, or the current end of the file is reached: ISA-L decodes several literals at a step
 * and holds the last ones back, while zlib returns every byte that the bits decide.
 */
#include "trace/gzip/inflate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#endif

/* Larger blocks count as this in the mean, so that a huge one does not decide about the next. */
#define MEAN_TEXT_MAX 65536

/* If blocks have fewer bytes of text than this, starting ISA-L costs more than it gains. A running
 * mean is compared, since pigz and writers that flush put empty blocks between large ones. */
#define SMALL_BLOCK 6000

uint32_t inflate_crc(uint32_t crc, const uint8_t *data, size_t len)
{
#ifdef HAVE_ISAL
    return crc32_gzip_refl(crc, data, len);
#else
    return (uint32_t)crc32_z(crc, data, len);
#endif
}

int inflate_open(struct inflate *f, struct input *in, enum trace_engine engine)
{
    memset(f, 0, sizeof(*f));
    f->in = in;
    if (inflateInit2(&f->z, -15) != Z_OK)
        return -ENOMEM;
    /* allocates zlib's window now: later, a lack of memory would look like corrupt data */
    if (inflateSetDictionary(&f->z, f->window, 1) != Z_OK ||
        (engine == TRACE_ENGINE_ISAL && !(f->isal = inflate_isal_new()))) {
        inflate_close(f);
        return -ENOMEM;
    }
    f->z_bit = UINT64_MAX;
    f->mean_text = MEAN_TEXT_MAX;
    f->history = f->window;
    return 0;
}

void inflate_close(struct inflate *f)
{
    inflateEnd(&f->z);
    inflate_isal_free(f->isal);
    f->isal = NULL;
}

void inflate_start(struct inflate *f, uint64_t bit, const uint8_t *window, uint32_t window_len)
{
    f->bit = bit;
    f->z_bit = UINT64_MAX;
    f->history = f->window;
    f->history_len = window_len;
    f->recent_len = 0;
    if (window_len)
        memcpy(f->window, window, window_len);
}

/* ---- history --------------------------------------------------------------------------------- */

/* Appends to a buffer that holds the last INFLATE_WINDOW bytes. */
static void append_history(uint8_t *buf, uint32_t *buf_len, const uint8_t *text, size_t len)
{
    if (len > INFLATE_WINDOW) {
        text += len - INFLATE_WINDOW;
        len = INFLATE_WINDOW;
    }
    if (!len)
        return;
    size_t keep = *buf_len + len > INFLATE_WINDOW ? INFLATE_WINDOW - len : *buf_len;
    memmove(buf, buf + *buf_len - keep, keep);
    memcpy(buf + keep, text, len);
    *buf_len = (uint32_t)(keep + len);
}

void inflate_pause(struct inflate *f)
{
    if (f->history != f->window)
        memcpy(f->window, f->history, f->history_len);
    f->history = f->window;
}

/* At the end of a block, its text becomes the history of the next one. */
static void move_history(struct inflate *f, const uint8_t *out, size_t done)
{
    bool joined = f->recent_len == 0 && (f->history_len == 0 || f->history + f->history_len == out);
    size_t len = joined ? f->history_len + done : done;
    if (joined || done >= INFLATE_WINDOW) {
        f->history_len = len < INFLATE_WINDOW ? (uint32_t)len : INFLATE_WINDOW;
        f->history = out + done - f->history_len;
    } else {
        inflate_pause(f);
        append_history(f->window, &f->history_len, f->recent, f->recent_len);
        append_history(f->window, &f->history_len, out, done);
    }
    f->recent_len = 0;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

int inflate_block_begin(struct inflate *f)
{
    struct input *in = f->in;
    unsigned bit = f->bit & 7;
    input_seek(in, f->bit >> 3);
    size_t have = input_fill(in, BLOCK_AHEAD); /* which may move the bytes in the buffer */
    int rc = block_parse(in->buf + in->pos, have, bit, &f->block);
    if (rc < 0)
        return rc;
    f->block_text = f->skip = 0;
    f->by_isal = f->isal && !f->only_zlib && f->mean_text >= SMALL_BLOCK;
    if (f->by_isal) {
        f->z_bit = UINT64_MAX;
        inflate_isal_begin(f->isal, in, bit, &f->block, f->history, f->history_len);
        return 0;
    }
    if (f->z_bit != f->bit)
        return inflate_zlib_begin(&f->z, in, bit, f->history, f->history_len);
    in->pos += bit != 0; /* zlib has the rest of that byte */
    return 0;
}

/* Switches from ISA-L to zlib, at the start of the block. */
static bool switch_to_zlib(struct inflate *f)
{
    struct input *in = f->in;
    f->by_isal = false;
    f->skip = f->block_text;
    input_seek(in, f->bit >> 3);
    return input_fill(in, 1) &&
           inflate_zlib_begin(&f->z, in, f->bit & 7, f->history, f->history_len) == 0;
}

static enum inflate_status run_once(struct inflate *f, uint8_t *out, size_t len, size_t *ret_done,
                                    unsigned *ret_unused)
{
    if (f->by_isal)
        return inflate_isal_run(f->isal, f->in, out, len, ret_done, ret_unused);
    if (!f->skip)
        return inflate_zlib_run(&f->z, f->in, out, len, ret_done, ret_unused);
    size_t step = f->skip < sizeof(f->scratch) ? (size_t)f->skip : sizeof(f->scratch);
    enum inflate_status st = inflate_zlib_run(&f->z, f->in, f->scratch, step, ret_done, ret_unused);
    f->skip -= *ret_done;
    *ret_done = 0;
    return st;
}

static enum inflate_status run_decoder(struct inflate *f, uint8_t *out, size_t len,
                                       size_t *ret_done)
{
    for (;;) {
        size_t done;
        unsigned unused = 0;
        bool more = input_fill(f->in, 1) > 0;
        enum inflate_status st = run_once(f, out + *ret_done, len - *ret_done, &done, &unused);
        *ret_done += done;
        f->block_text += done;
        if (st == INFLATE_END) {
            f->bit = input_offset(f->in) * 8 - unused;
            f->z_bit = f->by_isal ? UINT64_MAX : f->bit;
            int64_t text = f->block_text < MEAN_TEXT_MAX ? (int64_t)f->block_text : MEAN_TEXT_MAX;
            f->mean_text += (text - f->mean_text) / 4;
            return st;
        }
        if ((st == INFLATE_OUTPUT_FULL && f->skip == 0 && *ret_done == len) ||
            (st == INFLATE_NEEDS_INPUT && !more && !f->by_isal))
            return st;
        if (st == INFLATE_FAILED && !f->by_isal)
            return st;
        if ((st == INFLATE_FAILED || (st == INFLATE_NEEDS_INPUT && !more)) && !switch_to_zlib(f))
            return INFLATE_FAILED;
    }
}

enum inflate_status inflate_block_read(struct inflate *f, uint8_t *out, size_t len,
                                       size_t *ret_done)
{
    *ret_done = 0;
    enum inflate_status st = run_decoder(f, out, len, ret_done);
    if (st == INFLATE_END)
        move_history(f, out, *ret_done);
    else
        append_history(f->recent, &f->recent_len, out, *ret_done);
    return st;
}
