/* beneath.h - paths below a directory: never up, and never through a symbolic link. What openat2
 * would do with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, on every kernel. */
#ifndef DFTRACERD_REWRITE_BENEATH_H
#define DFTRACERD_REWRITE_BENEATH_H

#include "rewrite/outlet.h"

/* Relative, and no part is empty, `.`, `..` or longer than a name can be; without `own` none begins
 * with OUTLET_PREFIX either: what is still being written. */
bool path_is_plain(struct text path, bool own);
/* The directory `path` below `at`; an empty path: `at` itself. `make`: with those that are not
 * there. Descriptor, *new*, or -errno. The path is a plain one. */
int beneath_dir(int at, struct text path, bool make);
/* The directory that has the last part of a path; *ret_last: that part, borrowed from the
 * path. */
int beneath_parent(int at, const char *path, bool make, const char **ret_last);
/* Bytes of a path up to the last of the directories above its end that is there: all that
 * beneath_parent() would not have to make. */
size_t beneath_there(int at, const char *path);
/* Removes what is above the end of a path beyond `there`, as far as it is empty. */
void beneath_unmake(int at, const char *path, size_t there);
/* A regular file to read, else -ENOENT. */
int beneath_file(int at, const char *path);

#endif
