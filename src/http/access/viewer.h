/* viewer.h - as whom a request sees files: with --enforce-file-permissions, only those that its
 * peer could read.
 *
 * How a file is judged: permission.h. A peer whose user is not known (beyond loopback, or the
 * look-up failed) sees what everybody may read.
 * Groups: of the process on a unix socket, of the user's account otherwise; those are looked up
 * once, by the first worker that judges a file, as the name service may take its time. Threads:
 * any. */
#ifndef DFTRACERD_HTTP_ACCESS_VIEWER_H
#define DFTRACERD_HTTP_ACCESS_VIEWER_H

#include "http/access/access.h"

#include <sys/types.h>

/* Of the other end of a connection; never NULL: without memory it is a viewer that is nobody. *new*
 * reference. Never blocks: groups of an account are looked up when they are needed first. */
struct viewer *viewer_of(int fd, const struct access_peer *peer);
struct viewer *viewer_ref(struct viewer *v); /* NULL: NULL */
void viewer_unref(struct viewer *v);
bool viewer_same_user(const struct viewer *a, const struct viewer *b);
struct request;
/* The newest snapshot, as far as the request sees it: *new*, or NULL without memory. With a viewer
 * it may look at every file (verdicts.h). */
struct snapshot *request_snapshot(const struct request *rq);
/* In next(): rq->snapshot becomes the newest one; true when that is another generation. What
 * borrows from the old one must be closed before (a query has a reference of its own). A stream
 * that follows must not keep an old snapshot while it waits: its chunks cannot be deleted. Without
 * memory the old one stays. */
bool request_repin(struct request *rq);

#endif
