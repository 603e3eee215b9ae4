/* gzip.h - one text as one gzip member, by the library that is best for the level. */
#ifndef DFT_REWRITE_GZIP_H
#define DFT_REWRITE_GZIP_H

#include "dftracerd/rewrite.h"

/* One thread at a time. */
struct packer;
struct packer *gzip_packer_new(int level);                  /* 1-9; *new* or NULL */
int gzip_packer_member(struct packer *p, struct text text, struct buf *out); /* appends; -ENOMEM */
void gzip_packer_free(struct packer *p);                    /* NULL-safe */

#endif
