/* viewer.h - as whom a request sees files: with --enforce-file-permissions, only those that its peer could read.
 *
 * Judged by what the kernel would judge by: owner, group, mode and POSIX access list of the file, and the right to search each
 * directory above it. What else may forbid or allow (NFSv4 lists, SELinux, root squashing) is not seen. A peer whose user is
 * not known (beyond loopback, or the look-up failed) sees what everybody may read.
 * Groups: of the process on a unix socket, of the user otherwise. Threads: any; a viewer does not change. */
#ifndef DFT_HTTP_VIEWER_H
#define DFT_HTTP_VIEWER_H

#include "endpoint.h"

#include <sys/types.h>

#define VIEWER_NOBODY ((uid_t)-1)

/* Of the other end of a connection; never NULL: without memory it is a viewer that is nobody. *new* reference. `tcp_uid`:
 * the owner of a loopback TCP peer, or VIEWER_NOBODY. */
struct viewer *viewer_of(int fd, uid_t tcp_uid);
struct viewer *viewer_ref(struct viewer *v);       /* NULL: NULL */
void viewer_unref(struct viewer *v);
bool viewer_same_user(const struct viewer *a, const struct viewer *b);
/* The newest snapshot as `v` sees it (NULL: all of it); *new*, or NULL without memory. With a viewer it looks at every file. */
struct snapshot *viewer_snapshot(const struct viewer *v, struct index *ix);

#endif
