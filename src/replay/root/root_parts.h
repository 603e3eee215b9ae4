/* root_parts.h - declarations shared by the files that implement root.h. */
#ifndef DFTRACERD_REPLAY_ROOT_ROOT_PARTS_H
#define DFTRACERD_REPLAY_ROOT_ROOT_PARTS_H

#include "replay/root/root.h"

/* Returns a descriptor, or -errno. */
int root_open_below(const struct root *r, const char *path, int flags);
/* Opens the directory of a file; *ret_last: the last part of its path. Returns ROOT_READ_ONLY if it
 * belongs to a --map. */
int root_open_parent(const struct root *r, const struct file *f, const char **ret_last);
/* Returns a hash of inode, type and time of birth of `name` in `dir`, or of `dir` itself if `name`
 * is "". Inode numbers alone are reused. Returns 0 if there is no such file. */
uint64_t root_identity(int dir, const char *name);
/* Returns whether the replay has created the file at this path. The lock of the file is held, if
 * other threads may change it. */
bool root_is_ours(const struct file *f, int dir, const char *name);
/* Records that the replay has created the file. The lock of the file is held. */
void root_made(struct file *f, int dir, const char *name);

#endif
