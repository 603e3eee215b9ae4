/* checkpoint.h - lists of checkpoints and of corrupt ranges, and the windows of checkpoints. */
#ifndef DFTRACERD_TRACE_GZIP_CHECKPOINT_H
#define DFTRACERD_TRACE_GZIP_CHECKPOINT_H

#include "trace/gzip/inflate.h"
#include "dftracerd/vec.h"

#define CHECKPOINT_LEAD (128u << 10) /* a checkpoint may be this much before its chunk */
#define DAMAGES_MAX 4096             /* further damage is added to the last entry */

/* ---- compressing windows (checkpoint_window.c) ----------------------------------------------- */
struct packer;
/* Returns the compressed length and sets *ret to a *new* buffer, or returns -ENOMEM. *packer is
 * made at the first call. */
int window_pack(struct packer **packer, const uint8_t *window, uint32_t len, uint8_t **ret);
void packer_free(struct packer *p);

/* ---- lists ----------------------------------------------------------------------------------- */
struct checkpoints {
    VEC(struct trace_checkpoint) list;
    size_t dropped; /* the windows of the first `dropped` are freed */
    struct packer *packer;
};
int checkpoints_add(struct checkpoints *c, const struct trace_checkpoint *at, const uint8_t *window,
                    uint32_t len);
void checkpoints_drop(struct checkpoints *c, size_t count);
void checkpoints_done(struct checkpoints *c);
/* Decompresses the window of a checkpoint. Returns its length (0: none), ERR_CORRUPT or -ENOMEM. */
int checkpoint_unpack(const struct trace_checkpoint *at, uint8_t out[INFLATE_WINDOW]);
/* Returns the text offset from which on the next block boundary becomes a checkpoint, after one at
 * `text`. */
uint64_t checkpoint_after(uint64_t text, uint64_t checkpoint_size);

struct damages {
    VEC(struct trace_damage) list;
    bool lost; /* an entry was lost without memory: reading must stop */
};
void damages_add(struct damages *d, const struct trace_damage *one);
void damages_done(struct damages *d);

#endif
