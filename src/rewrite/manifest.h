/* manifest.h - the file of a rewriting that describes the others. Private to rewrite. */
#ifndef DFTRACERD_REWRITE_MANIFEST_H
#define DFTRACERD_REWRITE_MANIFEST_H

#include "dftracerd/rewrite.h"

/* A struct hash128 in hexadecimal. */
#define MEMBER_HASH(name_, field, ...) \
    MEMBER_WRITTEN(name_, manifest_hash, "{'type':'string'}", .offset = offsetof(OBJECT, field), \
                   ##__VA_ARGS__)
void manifest_hash(struct jw *j, const void *hash);
/* As a file of the outlet: the last one. */
int manifest_put(struct outlet *outlet, const char *name, const struct buf *manifest,
                 struct err *err);

#endif
