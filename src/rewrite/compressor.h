/* compressor.h - declarations that the parts of the compressor share. */
#ifndef DFTRACERD_REWRITE_COMPRESSOR_H
#define DFTRACERD_REWRITE_COMPRESSOR_H

#include "rewrite/gzip.h"

#include <pthread.h>

/* bytes of text after which a member ends, at the end of the line */
#define COMPRESSOR_MEMBER_BYTES (1u << 20)
#define COMPRESSOR_WAITING_BYTES (2u << 20) /* bytes of text in the queue, for each thread */

/* The text of a future member. A piece with `name` is the last one of its file: it owns `file`, and
 * piece_free frees both. */
struct compressor_piece {
    struct compressor_piece *next;
    struct compressor_file *file;
    struct buf text, out; /* `text` is freed when `out` is complete */
    struct charge charge; /* for the text */
    size_t text_len;      /* length of the text, also after it was freed */
    char *name;
    uint64_t *ret_bytes;      /* with `name`: set when the file is complete; NULL: not wanted */
    struct hash128 *ret_hash; /* likewise */
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
    pthread_mutex_t lock; /* guards the fields below, and the links and states of pieces */
    pthread_cond_t done;  /* signalled when a piece is done */
    struct compressor_piece *todo;
    size_t todo_bytes;
    unsigned jobs;                       /* jobs in the pool */
    unsigned references;                 /* one of the caller, and one of each job */
    struct gzip_encoder **idle_encoders; /* at most one for each thread */
    unsigned idle_encoder_count;
};

struct compressor_file {
    struct compressor *compressor;
    struct archive_writer_file *out;
    struct buf text;
    struct charge charge; /* for the text */
    uint64_t text_bytes;
    struct hasher hasher;
};

/* ---- compressor_queue.c ---------------------------------------------------------------------- */

/* Appends bytes to the file, and to its hash. In the caller's thread, in the order of the file. */
int compressor_file_write(struct compressor_file *f, struct text bytes, struct err *err);
/* Passes the complete file to the archive writer as `name`, and sets size and hash of the bytes
 * written (may be NULL). `f` is still to be freed. */
int compressor_file_finish(struct compressor_file *f, const char *name, uint64_t *ret_bytes,
                           struct hash128 *ret_hash, struct err *err);
/* Drops the file if it was not passed on. NULL-safe. */
void compressor_file_free(struct compressor_file *f);

/* Makes an empty queue, without jobs. */
int compressor_queue_init(struct compressor *p);
/* Appends a piece, which becomes owned by the queue; writes pieces that are done. Compresses in the
 * calling thread if too many wait. */
int compressor_queue_add(struct compressor *p, struct compressor_piece *piece, struct err *err);
/* Removes the pieces of a file (NULL: all) from the queue. */
void compressor_queue_remove(struct compressor *p, const struct compressor_file *f);
/* Releases the caller's reference: the compressor is freed with its last job. */
void compressor_queue_leave(struct compressor *p);

#endif
