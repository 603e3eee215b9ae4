/* permission.h - whether a user may read a trace file: what the kernel would say.
 *
 * Owner, group, mode and POSIX access list of the file, and the right to search each directory
 * above it. What else may forbid or allow (NFSv4 lists, SELinux, root squashing) is not seen.
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
/* Judges files one after the other. The directory of the last one stays open, so files are best
 * judged in the order of their names. */
struct judge {
    struct user user;
    char dir[PATH_MAX];
    int fd; /* of `dir`; -1: the user may not search it, or it is not there */
};
void judge_init(struct judge *j, struct user user);
/* May block: it looks at the file and, where that is in another directory than the last one, at all
 * directories above. */
bool judge_may_read(struct judge *j, const struct index_file *f);
void judge_done(struct judge *j);

#endif
