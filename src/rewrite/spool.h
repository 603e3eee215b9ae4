/* spool.h - nameless files, and the disk space that they may take. Private to rewrite. */
#ifndef DFTRACERD_REWRITE_SPOOL_H
#define DFTRACERD_REWRITE_SPOOL_H

#include "dftracerd/rewrite.h"

/* Creates a nameless file in `dir`. Returns a *new* descriptor, or -errno. */
int spool_create_file(const char *dir);
/* Returns 0, or -ENOSPC (then nothing is charged); `b` may be NULL. */
int disk_budget_charge(struct disk_budget *b, uint64_t bytes);
void disk_budget_release(struct disk_budget *b, uint64_t bytes);

#endif
