/* piece.h - a sequence of deflate blocks that was inflated ahead of a reader: piece_read.c makes
 * it, piece.c passes it to the reader. */
#ifndef DFTRACERD_TRACE_GZIP_PIECE_H
#define DFTRACERD_TRACE_GZIP_PIECE_H

#include "trace/gzip/reader.h"
#include "dftracerd/vec.h"

/* A position between two steps of a reader: the first byte of a member, or a block. */
struct mark {
    uint64_t bit;     /* of the file */
    size_t text;      /* bytes of the piece before it */
    uint64_t members; /* members begun, as counted by the reader that made the piece */
    uint64_t member_start, member_text;
    uint32_t crc;
    bool block;
};

struct trace_piece {
    VEC(struct mark) marks; /* the last one is the end of the piece */
    char *memory;
    size_t memory_cap;
    uint8_t *text; /* preceded by at least `window_len` bytes of text */
    uint32_t window_len;
};

/* Returns the bytes of text that the mark's block may refer to. */
uint32_t piece_window(const struct mark *m);
/* Moves a reader to a mark. `end`: end of the member's text before it. */
void piece_seek(struct trace_reader *r, const struct mark *m, const uint8_t *end);
/* Begins to deliver a piece that begins at this member or block. Returns 1, 0 if there is none, or
 * -ENOMEM. */
int piece_begin(struct trace_reader *r, bool block, uint64_t bit);
/* Delivers text of the piece. */
int piece_step(struct trace_reader *r, struct output *out);
/* Releases the piece of a reader. */
void piece_drop(struct trace_reader *r);

#endif
