/* compressor.h - declarations that the parts of the compressor share. */
#ifndef DFTRACERD_REWRITE_COMPRESSOR_H
#define DFTRACERD_REWRITE_COMPRESSOR_H

#include "rewrite/gzip.h"

#include <pthread.h>

#define COMPRESSOR_MEMBER (1u << 20)  /* bytes of text, continued to the end of the line */
#define COMPRESSOR_WAITING (2u << 20) /* bytes of text that wait, for each thread */

/* The text of a future member. With `name` it is the last one of its file, which it then owns. */
struct compressor_piece {
    struct compressor_piece *next;
    struct compressor_file *file;
    struct buf text, out;
    struct charge charge; /* for the text */
    size_t len;           /* length of the text */
    char *name;
    uint64_t *bytes;
    struct hash128 *hash;
    enum { PIECE_WAITING, PIECE_RUNNING, PIECE_DONE } state;
    int rc;
};

/* The queue has pieces that are done or running, followed by those that wait, from `todo` on. Only
 * the caller's thread changes it; jobs of the pool advance `todo`. */
struct compressor {
    struct pool *pool;
    struct archive_writer *archive_writer;
    struct compressor_options options;
    /* threads: number of working threads; pieces: maximum length of the queue */
    unsigned threads, pieces;
    struct charge charge; /* for the threads */
    struct compressor_piece *first, **last;
    size_t count, bytes;  /* count: pieces in the queue; bytes: of their texts */
    pthread_mutex_t lock; /* guards the next members, and links and states of pieces */
    pthread_cond_t done;  /* signalled when a piece is done */
    struct compressor_piece *todo;
    size_t todo_bytes;
    unsigned jobs;             /* jobs in the pool */
    unsigned references;       /* one of the caller, and one of each job */
    struct gzip_packer **idle; /* idle compressors, one for each thread */
    unsigned idle_count;
};

struct compressor_file {
    struct compressor *compressor;
    struct archive_writer_file *out;
    struct buf text;
    struct charge charge; /* for the text */
    uint64_t text_bytes;
    struct hasher hasher;
};

/* ---- compressor_file.c
 * ---------------------------------------------------------------------------- */

int compressor_put(struct compressor_file *f, struct text bytes, struct err *err);
int compressor_hand_over(struct compressor_file *f, const char *name, uint64_t *bytes,
                         struct hash128 *hash, struct err *err);
void compressor_file_free(struct compressor_file *f);

/* ---- compressor_line.c
 * ---------------------------------------------------------------------------- */

int compressor_line_init(struct compressor *p);
/* Appends a piece, and takes it; writes pieces that are done. Compresses in the calling thread if
 * too many wait. */
int compressor_line_add(struct compressor *p, struct compressor_piece *piece, struct err *err);
/* Removes the pieces of a file (NULL: all) from the queue. */
void compressor_line_forget(struct compressor *p, const struct compressor_file *f);
/* Releases the caller's reference: the compressor is freed with its last job. */
void compressor_line_leave(struct compressor *p);

#endif
