/* verdicts.h - which files the users of --enforce-file-permissions may read, kept for a short time.
 *
 * Judging a file takes system calls, and there may be thousands of files: a verdict is valid for
 * VERDICTS_KEPT_NS; new and changed files are judged at once.
 * Threads: any. Memory: a user has two references to snapshots, until verdicts_tidy. */
#ifndef DFTRACERD_HTTP_ACCESS_VERDICTS_H
#define DFTRACERD_HTTP_ACCESS_VERDICTS_H

#include "http/access/permission.h"

#define VERDICTS_KEPT_NS 2000000000ll

struct verdicts;
struct verdicts *verdicts_new(void); /* *new* or NULL */
void verdicts_free(struct verdicts *v);
/* Returns the files of `all` that the user may read: *new*, or NULL without memory or descriptors.
 * May block. */
struct snapshot *verdicts_filter(struct verdicts *v, const struct user *user, struct snapshot *all);
/* Removes expired verdicts, so that old snapshots can be freed. Called with each tick. */
void verdicts_tidy(struct verdicts *v, int64_t now_ns);

#endif
