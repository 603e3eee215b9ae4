/* root_parts.h - what the files that implement root.h have in common. */
#ifndef DFTRACERD_REPLAY_ROOT_ROOT_PARTS_H
#define DFTRACERD_REPLAY_ROOT_ROOT_PARTS_H

#include "replay/root/root.h"

/* A descriptor, or -errno. */
int root_open_below(const struct root *r, const char *path, int flags);
/* The directory of a file, and the last part of its path. ROOT_READ_ONLY: it is of a --map. */
int root_open_parent(const struct root *r, const struct file *f, const char **ret_last);
/* What `name` in `dir` is, or `dir` itself where that is "": inode, type and time of birth. A
 * number of an inode alone is used again for another file. 0: nothing. */
uint64_t root_identity(int dir, const char *name);
/* It is what the replay made. With the lock of the file, where others may change it. */
bool root_is_ours(const struct file *f, int dir, const char *name);
/* The replay has made it. With the lock of the file. */
void root_made(struct file *f, int dir, const char *name);

#endif
