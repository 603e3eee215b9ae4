/* checkpoint.h - lists of checkpoints and of corrupt ranges, and the windows of checkpoints. */
#ifndef DFTRACERD_TRACE_GZIP_CHECKPOINT_H
#define DFTRACERD_TRACE_GZIP_CHECKPOINT_H

#include "trace/gzip/inflate.h"
#include "dftracerd/vec.h"

#define CHECKPOINT_LEAD (128u << 10) /* a checkpoint may be this much before its chunk */
#define DAMAGES_MAX 4096             /* further damage is added to the last entry */

/* ---- compressing windows (checkpoint_window.c) ----------------------------------------------- */
struct window_compressor;
/* Returns the compressed length and sets *ret to a *new* buffer, or returns -ENOMEM. *compressor is
 * made at the first call. */
int window_compress(struct window_compressor **compressor, const uint8_t *window, uint32_t len,
                    uint8_t **ret);
void window_compressor_free(struct window_compressor *p);

/* ---- lists ----------------------------------------------------------------------------------- */
struct checkpoints {
    VEC(struct trace_checkpoint) list;
    size_t windows_freed; /* number of checkpoints from the first on whose windows are freed */
    struct window_compressor *compressor;
};
int checkpoints_add(struct checkpoints *c, const struct trace_checkpoint *at, const uint8_t *window,
                    uint32_t len);
void checkpoints_free_windows(struct checkpoints *c, size_t count);
void checkpoints_done(struct checkpoints *c);
/* Decompresses the window of a checkpoint. Returns its length (0: none), -ENOMEM, or ERR_CORRUPT,
 * also if the window has been freed. */
int checkpoint_window(const struct trace_checkpoint *at, uint8_t out[INFLATE_WINDOW]);
/* The k-th checkpoint is due CHECKPOINT_LEAD bytes of text before k * checkpoint_size (see
 * trace_reader_checkpoints). Returns the first such position after `text`; UINT64_MAX if
 * checkpoint_size is 0. */
uint64_t checkpoint_after(uint64_t text, uint64_t checkpoint_size);

struct damages {
    VEC(struct trace_damage) list;
    bool lost; /* an entry was lost without memory: reading must stop */
};
/* If the list is full, extends the last entry. Without memory, sets `lost`. */
void damages_add(struct damages *d, const struct trace_damage *one);
void damages_done(struct damages *d);

#endif
