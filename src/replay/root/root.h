/* root.h - the only module that opens, creates and removes files.
 *
 * Every path is opened below the directory of the root with openat2(RESOLVE_BENEATH |
 * RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV): whatever the root contains, no
 * symbolic link is followed, and nothing outside is reached. Without openat2 (before Linux 5.6, or
 * forbidden) root_open refuses. A file that was there before the replay is opened for reading only,
 * and is neither changed, renamed, linked nor removed: it may be a hard link to any file. The same
 * applies to a foreign file that replaces one of the replay's own: its inode or time of birth
 * differs. The files of --map are opened for reading only, below the directory that it names; there
 * symbolic links that stay below it are followed.
 * Threads: any, after root_open. Calls return 0 or a descriptor, or -errno. ROOT_NOT_OURS: the
 *          replay has not created the file, see above.
 */
#ifndef DFTRACERD_REPLAY_ROOT_ROOT_H
#define DFTRACERD_REPLAY_ROOT_ROOT_H

#include "replay/shared/files.h"

#include <sys/stat.h>

enum {
    ROOT_NOT_OURS = -2000,
    ROOT_READ_ONLY = -2001, /* the file belongs to a --map */
    ROOT_NOT_PLAIN = -2002  /* it is a device, pipe or socket */
};

struct root {
    struct shared *shared;
    int fd, maps[REPLAY_MAPS_MAX];
    char *path; /* absolute path of the root */
    bool made;  /* the replay has created the directory itself */
};
int root_open(struct root *r, const struct replay_options *o, struct shared *s, struct err *err);
void root_close(struct root *r); /* *r may be zero-initialised */
/* Removes the files that the replay has created. Returns the number of files that could not be
 * removed. */
size_t root_clean(struct root *r, const struct files *f);
/* Returns the free disk space for this user. */
int root_free_bytes(const struct root *r, uint64_t *ret);

/* Opens a regular file or directory with the `flags` of open(2); with O_CREAT, a missing file is
 * created. Returns a descriptor. */
int root_open_file(struct root *r, struct file *f, int flags);
int root_make_dir(struct root *r, struct file *f);
int root_remove(struct root *r, struct file *f, bool dir);
/* Renames a file. `moved`: the files in it, if it is a directory. */
int root_rename(struct root *r, struct file *from, struct file *to, const struct moved *moved);
int root_link(struct root *r, struct file *from, struct file *to);
int root_symlink(struct root *r, const struct file *target, struct file *to);
int root_stat(const struct root *r, const struct file *f, struct stat *ret);
ssize_t root_readlink(const struct root *r, const struct file *f, char *out, size_t size);
const char *root_error(int code);

#endif
