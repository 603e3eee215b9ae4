/* press.h - what the parts of the press share. */
#ifndef DFTRACERD_REWRITE_PRESS_H
#define DFTRACERD_REWRITE_PRESS_H

#include "rewrite/gzip.h"

#include <pthread.h>

#define PRESS_MEMBER (1u << 20)  /* of text, and on to the end of the line */
#define PRESS_WAITING (2u << 20) /* of text, for each thread */

/* A member to be; with `name` the last one of its file, which it owns then. */
struct press_piece {
    struct press_piece *next;
    struct press_file *file;
    struct buf text, out;
    struct charge charge; /* for the text */
    size_t len;           /* of the text */
    char *name;
    uint64_t *bytes;
    struct hash128 *hash;
    enum { PIECE_WAITING, PIECE_RUNNING, PIECE_DONE } state;
    int rc;
};

/* The line has pieces that are done or running, then those from `todo` on, which wait. Only the
 * caller's thread changes it; a job of the pool moves `todo` on. */
struct press {
    struct pool *pool;
    struct outlet *outlet;
    struct press_options options;
    unsigned threads, pieces; /* at work at once; in line, at most */
    struct charge charge;     /* for the threads */
    struct press_piece *first, **last;
    size_t count, bytes;  /* in line; of their texts */
    pthread_mutex_t lock; /* of what follows, the links and the states of pieces */
    pthread_cond_t done;  /* a piece */
    struct press_piece *todo;
    size_t todo_bytes;
    unsigned jobs;             /* in the pool */
    unsigned references;       /* the caller's, and one of each job */
    struct gzip_packer **idle; /* room for one a thread */
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
/* Takes the piece; writes what is done, and works itself where too much waits. */
int press_line_add(struct press *p, struct press_piece *piece, struct err *err);
/* Takes the pieces of a file (NULL: all) out of the line. */
void press_line_forget(struct press *p, const struct press_file *f);
/* The press is freed with its last job. */
void press_line_leave(struct press *p);

#endif
