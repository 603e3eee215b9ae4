/* viewer.h - the user as whom a request sees files: with --enforce-file-permissions, only files
 * that its peer could read (permission.h).
 *
 * A peer whose user is unknown (beyond loopback, or the lookup failed) sees files that everybody
 * may read. The groups are those of the process on a Unix socket, otherwise those of the user's
 * account; the latter are looked up once, by the first worker that judges a file, because a name
 * service may be slow. Threads: any. */
#ifndef DFTRACERD_HTTP_ACCESS_VIEWER_H
#define DFTRACERD_HTTP_ACCESS_VIEWER_H

#include "http/access/access.h"

#include <sys/types.h>

/* Returns a *new* reference to the viewer for the other end of a connection; without memory it is a
 * viewer for an unknown user, never NULL. Never blocks: the groups of an account are looked up at
 * their first use. */
struct viewer *viewer_of(int fd, const struct access_peer *peer);
struct viewer *viewer_ref(struct viewer *v); /* NULL: returns NULL */
void viewer_unref(struct viewer *v);
bool viewer_same_user(const struct viewer *a, const struct viewer *b);
struct request;
/* Returns the newest snapshot, restricted to what the request may see: *new*, or NULL without
 * memory or descriptors. With a viewer it may examine every file (verdicts.h). */
struct snapshot *request_snapshot(const struct request *rq);
/* For next(): replaces rq->snapshot by the newest one. Returns true if that is another generation.
 * Close what borrows from the old one before (a query has a reference of its own). A stream with
 * `follow` must not keep an old snapshot while it waits, because the chunks of a snapshot cannot be
 * deleted. If there is no memory, the old one stays. */
bool request_repin(struct request *rq);

#endif
