/* permission.h - whether a user may read a trace file, as the kernel would decide: by owner, group,
 * mode and POSIX access list of the file, and the right to search each directory above it.
 *
 * Other mechanisms (NFSv4 lists, SELinux, root squashing) are not taken into account.
 * Threads: a judge is used by one thread at a time. */
#ifndef DFTRACERD_HTTP_ACCESS_PERMISSION_H
#define DFTRACERD_HTTP_ACCESS_PERMISSION_H

#include "http/access/access.h"

#include <limits.h>
#include <sys/types.h>

struct user {
    uid_t uid;
    const gid_t *groups;
    size_t group_count;
};
/* Judges one file after another. The directory of the last one stays open, so callers should pass
 * files in the order of their names. */
struct judge {
    struct user user;
    char dir[PATH_MAX];
    int fd; /* of `dir`; -1: the user may not search it, or it does not exist */
    /* 0, or -EMFILE, -ENFILE or -ENOMEM: some files could not be judged, and count as unreadable */
    int error;
};
void judge_init(struct judge *j, struct user user);
/* May block: examines the file, and all directories above it unless the file before was in the same
 * directory. */
bool judge_may_read(struct judge *j, const struct index_file *f);
void judge_done(struct judge *j);

#endif
