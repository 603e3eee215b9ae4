/* gzip.h - one text as one gzip member, by the library that is best for the level. */
#ifndef DFTRACERD_REWRITE_GZIP_H
#define DFTRACERD_REWRITE_GZIP_H

#include "dftracerd/rewrite.h"

/* One thread at a time. */
struct gzip_packer;
struct gzip_packer *gzip_packer_new(int level); /* 1-9; *new* or NULL */
/* appends; -ENOMEM */
int gzip_packer_member(struct gzip_packer *p, struct text text, struct buf *out);
/* By zlib, whatever packed it. -EIO: it is no member, or not of so many bytes. */
int gunzip_member(struct text member, size_t len, struct buf *out);
void gzip_packer_free(struct gzip_packer *p); /* NULL-safe */

#endif
