/* beneath.h - paths below a directory: never upwards, and never through a symbolic link. Like
 * openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, but on every kernel. */
#ifndef DFTRACERD_REWRITE_BENEATH_H
#define DFTRACERD_REWRITE_BENEATH_H

#include "rewrite/archive_writer.h"

/* Returns whether the path is plain: relative, and no part is empty, `.`, `..` or longer than a
 * name can be. Without `own`, no part begins with ARCHIVE_WRITER_PREFIX either, which marks
 * incomplete output. */
bool path_is_safe_below(struct text path, bool own);
/* Opens the directory `path` below `at`; an empty path means `at` itself. `make`: creates missing
 * directories. Returns a *new* descriptor, or -errno. The path must be plain. */
int beneath_dir(int at, struct text path, bool make);
/* Opens the directory that contains the last part of a path; *ret_last: that part, borrowed from
 * the path. */
int beneath_parent(int at, const char *path, bool make, const char **ret_last);
/* Returns the length of the part of the path whose directories exist: beneath_parent() would create
 * the others. If that cannot be found out, returns the length of the path. */
size_t beneath_existing_len(int at, const char *path);
/* Removes the directories of a path beyond the first `existing_len` bytes, as far as they are
 * empty. */
void beneath_remove_empty(int at, const char *path, size_t existing_len);
/* Opens a regular file for reading; returns -ENOENT for others. */
int beneath_file(int at, const char *path);

#endif
