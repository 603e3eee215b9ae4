/* prepare.h - makes the files and directories that the trace expects to be there. */
#ifndef DFT_REPLAY_PREPARE_H
#define DFT_REPLAY_PREPARE_H

#include "root.h"

/* Whether the files of the trace fit: 0, or -ENOSPC with err. */
int prepare_check(struct root *r, const struct files *f, struct err *err);
/* The file as it is needed, and the directories above it. Repeated calls only enlarge it. 0 or -errno. */
int prepare_file(struct root *r, struct files *files, struct file *f);
/* All of them, with a bar on a terminal. Files that fail are counted in *ret_failed; err has the first reason. */
int prepare_all(struct root *r, struct files *files, size_t *ret_failed, struct err *err);

#endif
