/* manifest.h - the file that describes the other files of the output. Private to rewrite. */
#ifndef DFTRACERD_REWRITE_MANIFEST_H
#define DFTRACERD_REWRITE_MANIFEST_H

#include "dftracerd/rewrite.h"

/* A member that prints a struct hash128 in hexadecimal. */
#define MEMBER_HASH(name_, field, ...) \
    MEMBER_WRITTEN(name_, manifest_hash, "{'type':'string'}", .offset = offsetof(OBJECT, field), \
                   ##__VA_ARGS__)
void manifest_hash(struct jw *j, const void *hash);
/* Writes the manifest as the last file of the archive_writer. */
int manifest_put(struct archive_writer *archive_writer, const char *name,
                 const struct buf *manifest, struct err *err);

#endif
