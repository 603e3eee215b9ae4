/* piece.h - a run of deflate blocks that was inflated out of turn: piece_read.c makes it, piece.c
 * gives it to its reader. */
#ifndef DFTRACERD_TRACE_GZIP_PIECE_H
#define DFTRACERD_TRACE_GZIP_PIECE_H

#include "trace/gzip/reader.h"
#include "dftracerd/vec.h"

/* Between two steps of a reader: at a member (its first byte) or at a block of one. */
struct mark {
    uint64_t bit;     /* of the file */
    size_t text;      /* of the piece before */
    uint64_t members; /* as the piece's own reader counts */
    uint64_t member_start, member_text;
    uint32_t crc;
    bool block;
};

struct trace_piece {
    VEC(struct mark) marks; /* the last is where the piece ends */
    char *memory;
    size_t memory_cap;
    uint8_t *text; /* at least `window_len` bytes of text are before it */
    uint32_t window_len;
};

/* Bytes of text that the mark's block may refer to. */
uint32_t piece_window(const struct mark *m);
/* Stands at a mark, before which (in the member) there is the text that ends at `end`. */
void piece_seek(struct trace_reader *r, const struct mark *m, const uint8_t *end);
/* At a member or block: whether a piece that begins here was taken: 1, 0, -ENOMEM. */
int piece_take(struct trace_reader *r, bool block, uint64_t bit);
/* The step of a reader that has one. */
int piece_step(struct trace_reader *r, struct output *out);
/* Gives back what a reader has. */
void piece_drop(struct trace_reader *r);

#endif
