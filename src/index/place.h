/* place.h - the directory of the index. See place.c. */
#ifndef DFTRACERD_INDEX_PLACE_H
#define DFTRACERD_INDEX_PLACE_H

#include "dftracerd/base.h"

/* Creates the directory (0700) unless read_only; refuses network file systems (ERR_STORE), and
 * directories of other users (-EPERM). */
int place_prepare(const char *path, bool read_only, struct err *err);
/* Returns ERR_STORE_BUSY if another daemon has the lock. The lock lives as long as the
 * descriptor. */
int place_lock(const char *path, struct err *err, int *ret_fd);
int place_clear(const char *path); /* removes data.mdb, lock.mdb and the marks */
/* Test for, and create or remove, the file that marks that the index is being opened. */
bool place_is_opening(const char *path);
void place_set_opening(const char *path, bool opening);
/* Returns the name of a refused file system, or NULL. */
const char *place_refused(unsigned long statfs_type);

#endif
