/* reader.h - the reader's inside, for the files of src/trace that are one object with it. */
#ifndef DFTRACERD_TRACE_GZIP_READER_H
#define DFTRACERD_TRACE_GZIP_READER_H

#include "trace/gzip/checkpoint.h"
#include "trace/gzip/inflate.h"

enum reader_state {
    READER_FORMAT, /* the first two bytes are not there yet */
    READER_PLAIN,
    READER_MEMBER,  /* at a place where a gzip member should start */
    READER_BLOCK,   /* at a deflate block */
    READER_BODY,    /* inside one */
    READER_TRAILER, /* at the 8 bytes behind the last block */
    READER_SEARCH,  /* behind damage or garbage: looking for the next member */
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
    uint64_t next_checkpoint; /* text offset from which on the next block boundary is one */
    uint64_t text;            /* text offset: bytes delivered */
    uint64_t members;
    uint64_t member_start; /* file offset; of the checkpoint when reading began inside it */
    uint64_t member_text;  /* text bytes of the member so far */
    uint64_t reread;       /* bytes of the file that searches went back over */
    uint32_t crc;
    uint8_t last_byte; /* of the text; '\n' where it is not known */
    bool partial;      /* reading began inside the member, and nobody knows its checksum so far */
    bool resumed;      /* the next member follows damage: it gets a checkpoint... */
    bool broken;       /* ...and a newline before it, if the text does not end in one */
    bool finished;
    bool failed;               /* EIO was met and recorded */
    bool named_gzip;           /* it should be gzip */
    struct trace_ahead *ahead; /* borrowed */
    struct trace_piece *piece; /* being delivered */
    size_t piece_done;         /* bytes of it that were */
};

/* Where text goes. */
struct output {
    uint8_t *data;
    size_t len, done;
};

/* Of a file that should be gzip and does not begin so: 1, 0 (its beginning is damaged), -EAGAIN
 * (that cannot be said yet, or it cannot be read), -ENOMEM. */
int front_is_text(struct trace_reader *r);
/* Stands anew at a checkpoint (NULL: at 0) as after open, but keeps its memory. 0, ERR_CORRUPT,
 * -ENOMEM. */
int reader_seek(struct trace_reader *r, const struct trace_checkpoint *from);
/* Notes of the reader (reader_text.c). */
void reader_add_damage(struct trace_reader *r, uint8_t kind, uint64_t from, uint64_t to);
/* Counts `len` bytes that were written to out. */
void reader_deliver(struct trace_reader *r, struct output *out, size_t len);
/* One step of a gzip file (member_read.c): 1 go on, 0 the present end of the file, -errno. */
int member_step(struct trace_reader *r, struct output *out);
/* At a member: goes over zeros, with which some writers fill up the last disk block or tape record.
 * The bytes there are behind them, if less than 10 the file's last. */
size_t member_skip_padding(struct trace_reader *r);
/* Whether the file, if it ended here, ended inside a member. */
bool member_is_open(const struct trace_reader *r);

#endif
