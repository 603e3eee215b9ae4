/* reader.h - struct trace_reader, private to the files that implement it. */
#ifndef DFTRACERD_TRACE_GZIP_READER_H
#define DFTRACERD_TRACE_GZIP_READER_H

#include "trace/gzip/checkpoint.h"
#include "trace/gzip/inflate.h"

enum reader_state {
    READER_FORMAT, /* the first two bytes have not been read */
    READER_PLAIN,
    READER_MEMBER,  /* where a gzip member should start */
    READER_BLOCK,   /* at a deflate block */
    READER_BODY,    /* inside a deflate block */
    READER_TRAILER, /* at the 8 bytes after the last block */
    READER_SEARCH,  /* after corrupt data or garbage: searches the next member */
    READER_PIECE    /* in text that was inflated ahead */
};

struct trace_reader {
    enum reader_state state;
    enum trace_format format;
    enum trace_engine engine;
    struct input in;
    struct inflate *inflate; /* NULL until the file is known to be gzip */
    struct checkpoints checkpoints;
    struct damages damages;
    uint64_t checkpoint_size;
    uint64_t next_checkpoint; /* the next block boundary from this text offset on is one */
    uint64_t text;            /* text offset: bytes delivered */
    uint64_t members;
    uint64_t member_start; /* file offset; that of the checkpoint if reading began inside it */
    uint64_t member_text;  /* text bytes of the member so far */
    uint64_t reread;       /* bytes of the file that searches have read again */
    uint32_t crc;          /* CRC-32 of the member's text so far */
    uint8_t last_byte;     /* of the text; '\n' if it is not known */
    bool partial;          /* reading began inside the member, so its checksum is not known */
    bool resumed;          /* the next member follows corrupt data: it gets a checkpoint */
    bool broken;           /* it also gets a newline before it, if the text does not end in one */
    bool finished;
    bool failed;               /* pread failed with EIO, which is recorded */
    bool named_gzip;           /* the name of the file is that of a gzip file */
    struct trace_ahead *ahead; /* borrowed */
    struct trace_piece *piece; /* being delivered */
    size_t piece_done;         /* bytes of its text that were delivered */
};

/* The memory that text is written to. */
struct output {
    uint8_t *data;
    size_t len, done;
};

/* For a file whose name says gzip, but which does not begin so: returns 1 if it is text, 0 if its
 * beginning is corrupt, -EAGAIN if that is not decided yet or it cannot be read, or -ENOMEM. */
int front_is_text(struct trace_reader *r);
/* Moves the reader to a checkpoint (NULL: to 0), as a newly opened one, but keeps its memory.
 * Returns 0, ERR_CORRUPT or -ENOMEM. */
int reader_seek(struct trace_reader *r, const struct trace_checkpoint *from);
/* Records a corrupt range (reader_text.c). */
void reader_add_damage(struct trace_reader *r, uint8_t kind, uint64_t from, uint64_t to);
/* Counts `len` bytes that were written to out. */
void reader_deliver(struct trace_reader *r, struct output *out, size_t len);
/* One step of a gzip file (member_read.c). Returns 1 to continue, 0 at the current end of the file,
 * or -errno. */
int member_step(struct trace_reader *r, struct output *out);
/* At a member: skips zeros, with which some writers fill the last disk block or tape record.
 * Returns the bytes that are available after them; fewer than 10 are the last of the file. */
size_t member_skip_padding(struct trace_reader *r);
/* Returns true if the file would be truncated inside a member, if it ended here. */
bool member_is_open(const struct trace_reader *r);

#endif
