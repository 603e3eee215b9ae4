/* write_all.h - writes a whole text to a descriptor that may accept it in pieces. */
#ifndef DFTRACERD_BASE_WRITE_ALL_H
#define DFTRACERD_BASE_WRITE_ALL_H

#include "dftracerd/base.h"

/* Returns 0 or -errno; on failure, some of the bytes may have been written. */
int write_all(int fd, struct text bytes);

#endif
