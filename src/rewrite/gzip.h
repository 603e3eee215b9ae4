/* gzip.h - compresses a text as one gzip member, with the best library for the level. */
#ifndef DFTRACERD_REWRITE_GZIP_H
#define DFTRACERD_REWRITE_GZIP_H

#include "dftracerd/rewrite.h"

/* Encodes members at one level. One thread at a time. */
struct gzip_encoder;
struct gzip_encoder *gzip_encoder_new(int level); /* 1-9; *new* or NULL */
/* Appends a member. Returns 0 or -ENOMEM. */
int gzip_encoder_member(struct gzip_encoder *p, struct text text, struct buf *out);
/* Inflates a member with zlib, whatever library compressed it. Returns 0, -ENOMEM, or -EIO if it
 * is not a member, or its text does not have `len` bytes. */
int gunzip_member(struct text member, size_t len, struct buf *out);
void gzip_encoder_free(struct gzip_encoder *p); /* NULL-safe */

#endif
