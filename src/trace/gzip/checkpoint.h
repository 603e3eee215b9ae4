/* checkpoint.h - lists of checkpoints and damage, and the windows of checkpoints. */
#ifndef DFTRACERD_TRACE_GZIP_CHECKPOINT_H
#define DFTRACERD_TRACE_GZIP_CHECKPOINT_H

#include "trace/gzip/inflate.h"
#include "dftracerd/vec.h"

#define CHECKPOINT_LEAD (128u << 10) /* a checkpoint may be this much before its chunk */
#define DAMAGES_MAX 4096             /* further damage is added to the last entry */

/* ---- compressing windows (checkpoint_window.c) ----------------------------------------------- */
struct packer;
/* The packed length and a *new* text, or -ENOMEM. The packer is made when first needed. */
int window_pack(struct packer **packer, const uint8_t *window, uint32_t len, uint8_t **ret);
void packer_free(struct packer *p);

/* ---- lists ----------------------------------------------------------------------------------- */
struct checkpoints {
    VEC(struct trace_checkpoint) list;
    size_t dropped; /* windows of the first `dropped` are gone */
    struct packer *packer;
};
int checkpoints_add(struct checkpoints *c, const struct trace_checkpoint *at, const uint8_t *window,
                    uint32_t len);
void checkpoints_drop(struct checkpoints *c, size_t count);
void checkpoints_done(struct checkpoints *c);
/* The window of a checkpoint as text: its length (0 when it has none), ERR_CORRUPT, -ENOMEM. */
int checkpoint_unpack(const struct trace_checkpoint *at, uint8_t out[INFLATE_WINDOW]);
/* Text offset from which on a block boundary is the next checkpoint after one at `text`. */
uint64_t checkpoint_after(uint64_t text, uint64_t checkpoint_size);

struct damages {
    VEC(struct trace_damage) list;
    bool lost; /* there was no memory for one: reading must not go on */
};
void damages_add(struct damages *d, const struct trace_damage *one);
void damages_done(struct damages *d);

#endif
