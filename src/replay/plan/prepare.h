/* prepare.h - creates the files and directories that the trace expects. */
#ifndef DFTRACERD_REPLAY_PLAN_PREPARE_H
#define DFTRACERD_REPLAY_PLAN_PREPARE_H

#include "replay/report/report.h"
#include "replay/root/root.h"

/* Creates what has to exist before the trace uses the file: the directories above it and, if the
 * file was there before the trace, the file with the required size. Repeated calls only enlarge it.
 * Returns 0 or -errno. */
int prepare_file(struct root *r, struct files *files, struct file *f);
/* Creates all files, with a progress bar on a terminal. Files that fail are in the report. Returns
 * -ENOSPC with err if they do not fit; then none was created. */
int prepare_all(struct root *r, struct files *files, struct report *report, struct err *err);

#endif
