/* press.h - declarations that the parts of the press share. */
#ifndef DFTRACERD_REWRITE_PRESS_H
#define DFTRACERD_REWRITE_PRESS_H

#include "rewrite/gzip.h"

#include <pthread.h>

#define PRESS_MEMBER (1u << 20)  /* bytes of text, continued to the end of the line */
#define PRESS_WAITING (2u << 20) /* bytes of text that wait, for each thread */

/* The text of a future member. With `name` it is the last one of its file, which it then owns. */
struct press_piece {
    struct press_piece *next;
    struct press_file *file;
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
struct press {
    struct pool *pool;
    struct outlet *outlet;
    struct press_options options;
    /* threads: number of working threads; pieces: maximum length of the queue */
    unsigned threads, pieces;
    struct charge charge; /* for the threads */
    struct press_piece *first, **last;
    size_t count, bytes;  /* count: pieces in the queue; bytes: of their texts */
    pthread_mutex_t lock; /* guards the next members, and links and states of pieces */
    pthread_cond_t done;  /* signalled when a piece is done */
    struct press_piece *todo;
    size_t todo_bytes;
    unsigned jobs;             /* jobs in the pool */
    unsigned references;       /* one of the caller, and one of each job */
    struct gzip_packer **idle; /* idle compressors, one for each thread */
    unsigned idle_count;
};

struct press_file {
    struct press *press;
    struct outlet_file *out;
    struct buf text;
    struct charge charge; /* for the text */
    uint64_t text_bytes;
    struct hasher hasher;
};

/* ---- press_file.c ---------------------------------------------------------------------------- */

int press_put(struct press_file *f, struct text bytes, struct err *err);
int press_hand_over(struct press_file *f, const char *name, uint64_t *bytes, struct hash128 *hash,
                    struct err *err);
void press_file_free(struct press_file *f);

/* ---- press_line.c ---------------------------------------------------------------------------- */

int press_line_init(struct press *p);
/* Appends a piece, and takes it; writes pieces that are done. Compresses in the calling thread if
 * too many wait. */
int press_line_add(struct press *p, struct press_piece *piece, struct err *err);
/* Removes the pieces of a file (NULL: all) from the queue. */
void press_line_forget(struct press *p, const struct press_file *f);
/* Releases the caller's reference: the press is freed with its last job. */
void press_line_leave(struct press *p);

#endif
