/* prepare.h - makes the files and directories that the trace expects to be there. */
#ifndef DFTRACERD_REPLAY_PLAN_PREPARE_H
#define DFTRACERD_REPLAY_PLAN_PREPARE_H

#include "replay/report/report.h"
#include "replay/root/root.h"

/* The file as it is needed, and the directories above it. Repeated calls only enlarge it. 0 or
 * -errno. */
int prepare_file(struct root *r, struct files *files, struct file *f);
/* All of them, with a bar on a terminal. Files that fail are in the report. -ENOSPC with err: they
 * do not fit, none was made. */
int prepare_all(struct root *r, struct files *files, struct report *report, struct err *err);

#endif
