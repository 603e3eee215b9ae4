/* inflate.h - decodes deflate blocks, private to src/trace.
 *
 * A stream is read block by block with either library: the header of every block is checked here
 * (by zlib's rules, so that both libraries accept the same streams), then ISA-L or zlib decodes the
 * body and stops exactly at its end. So every block boundary is known, and both libraries return
 * the same text for corrupt data.
 */
#ifndef DFTRACERD_TRACE_GZIP_INFLATE_H
#define DFTRACERD_TRACE_GZIP_INFLATE_H

#include "dftracerd/trace.h"
#include "config.h"
#include <zlib.h>

#define INFLATE_WINDOW 32768u

/* ---- the file, buffered (inflate_input.c) ---------------------------------------------------- */

struct input {
    int fd;
    struct trace_source *source; /* replaces the descriptor; NULL: none */
    int error;                   /* last errno of pread, or 0: input_fill reads nothing after it */
    uint64_t base;               /* file offset of buf[0] */
    size_t len, pos;             /* bytes in buf; next byte */
    uint8_t *buf;
};
#define INPUT_SIZE (256u << 10)
int input_init(struct input *in, int fd);
void input_done(struct input *in);
/* Reads the file or the source, as pread, and keeps the error. */
ssize_t input_pread(struct input *in, void *out, size_t len, uint64_t offset);
/* Makes `want` (<= INPUT_SIZE / 2) bytes available if the file has them. Returns the number of
 * available bytes. */
size_t input_fill(struct input *in, size_t want);
void input_seek(struct input *in, uint64_t offset);
static inline uint64_t input_offset(const struct input *in)
{
    return in->base + in->pos;
}

/* ---- block headers (inflate_block.c) --------------------------------------------------------- */

enum { BLOCK_STORED, BLOCK_FIXED, BLOCK_DYNAMIC };
struct block {
    uint8_t type;
    bool last;
    uint8_t end_len;   /* of the end-of-block code, bits; 0 in a stored block */
    uint16_t end_code; /* its bits in the order of the stream, first bit lowest */
};
#define BLOCK_AHEAD 8192 /* ISA-L builds slower tables for a "last" block if it has less input */
/* Parses the header at `bit` (0-7) of data. Returns 0, -EAGAIN (more bytes needed) or
 * ERR_CORRUPT. */
int block_parse(const uint8_t *data, size_t len, unsigned bit, struct block *ret);

/* ---- libraries ------------------------------------------------------------------------------- */

enum inflate_status {
    INFLATE_OUTPUT_FULL, /* `out` is full */
    INFLATE_NEEDS_INPUT, /* no input left; of inflate_block_read: at the current end of the file */
    INFLATE_END,         /* end of the block */
    INFLATE_FAILED       /* the data are corrupt, or the end of the block is ambiguous */
};

struct inflate_isal;
struct inflate_isal *inflate_isal_new(void); /* NULL: no memory, or not built in */
void inflate_isal_free(struct inflate_isal *s);
/* Begins at the block `b`, which starts at bit (0-7) of the next input byte; reads that byte. */
void inflate_isal_begin(struct inflate_isal *s, struct input *in, unsigned bit,
                        const struct block *b, const uint8_t *window, uint32_t window_len);
/* Decodes to the end of the block; returns INFLATE_NEEDS_INPUT when the buffer is empty. At
 * INFLATE_END, `in` is after the last byte of the block, whose *ret_unused (0-7) high bits do
 * not belong to it. */
enum inflate_status inflate_isal_run(struct inflate_isal *s, struct input *in, uint8_t *out,
                                     size_t len, size_t *ret_done, unsigned *ret_unused);

/* The same with zlib, which may continue from block to block without a begin. */
int inflate_zlib_begin(z_stream *z, struct input *in, unsigned bit, const uint8_t *window,
                       uint32_t window_len);
enum inflate_status inflate_zlib_run(z_stream *z, struct input *in, uint8_t *out, size_t len,
                                     size_t *ret_done, unsigned *ret_unused);

/* ---- a deflate stream ------------------------------------------------------------------------ */

/* The history of a block is the text before it. While the blocks of one call follow each other in
 * the caller's memory, `history` points there and nothing is copied; inflate_pause moves it into
 * `window`. */
struct inflate {
    struct input *in;          /* borrowed */
    struct inflate_isal *isal; /* NULL: zlib alone */
    z_stream z;
    uint64_t z_bit;      /* position of z between blocks; UINT64_MAX: undefined */
    uint64_t bit;        /* start of the current block in the file (byte * 8 + bit) */
    uint64_t block_text; /* text bytes of the current block so far */
    uint64_t skip;       /* bytes that zlib decodes again after a failure of ISA-L */
    bool by_isal;        /* ISA-L decodes the current block */
    bool only_zlib;      /* zlib decodes all following blocks */
    int64_t mean_text;   /* mean text bytes of the last blocks */
    struct block block;
    const uint8_t *history; /* text before the block: in window or the caller's memory */
    uint32_t history_len, recent_len;
    uint8_t window[INFLATE_WINDOW];
    uint8_t recent[INFLATE_WINDOW]; /* the last text of the block before this call */
    uint8_t scratch[16384];
};
/* Returns 0, or -ENOMEM: nothing has to be closed then. */
int inflate_open(struct inflate *f, struct input *in, enum trace_engine engine);
void inflate_close(struct inflate *f);
/* Sets the position to a bit of the file, with the text before it (none at a member's start). */
void inflate_start(struct inflate *f, uint64_t bit, const uint8_t *window, uint32_t window_len);
/* Reads the header of the block at f->bit. Returns 0, -EAGAIN at the current end of the file,
 * ERR_CORRUPT or -ENOMEM. */
int inflate_block_begin(struct inflate *f);
/* Reads the text of the block. After INFLATE_END f->bit is the end of the block, and `out` must not
 * be changed until inflate_pause. */
enum inflate_status inflate_block_read(struct inflate *f, uint8_t *out, size_t len,
                                       size_t *ret_done);
void inflate_pause(struct inflate *f);

/* The fastest CRC-32 of the libraries. */
uint32_t inflate_crc(uint32_t crc, const uint8_t *data, size_t len);

#endif
